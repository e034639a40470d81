#include "trace/execution.h"

#include <algorithm>

namespace heddle {

TraceExecution::TraceExecution(const Trace& trace, MemoryModel model, ValueWatcher watcher)
    : trace_(&trace), model_(model), watcher_(std::move(watcher)), memory_(trace.initial), sync_(trace) {
  for (const ThreadTrace& thread : trace.threads)
    threads_.push_back({.values = ExprValues(thread.pool, thread.events.size())});
}

Evaluation TraceExecution::verdict(Evaluation::Kind kind, uint32_t thread, uint32_t event,
                                   uint32_t constraint) const {
  return {.kind = kind,
          .item = items_,
          .thread = thread,
          .event = event,
          .constraint = constraint,
          .undecided = undecided_};
}

std::optional<Evaluation> TraceExecution::refusal(const OrderItem& item) const {
  using Kind = Evaluation::Kind;
  const auto refused = [&](Kind kind) { return verdict(kind, item.thread, item.event); };
  if (item.thread >= threads_.size() || (inside_step_ && *inside_step_ != item.thread))
    return refused(Kind::not_order);
  const Thread& thread = threads_[item.thread];
  if (item.flush) {
    if (!thread.buffer.may_flush(item.event, model_)) return refused(Kind::not_order);
    return std::nullopt;
  }
  if (item.event != thread.next || is_at_end(item.thread)) return refused(Kind::not_order);
  const Event& event = trace_->threads[item.thread].events[item.event];
  if ((needs_empty_buffer(event) && !thread.buffer.empty()) || !can_go_on(item.thread))
    return refused(Kind::not_enabled);
  return std::nullopt;
}

bool TraceExecution::can_go_on(uint32_t thread) const {
  return !is_at_end(thread) && sync_.is_there(thread) &&
         sync_.is_enabled(thread, trace_->threads[thread].events[threads_[thread].next]);
}

bool TraceExecution::is_at_end(uint32_t thread) const {
  return threads_[thread].next == trace_->threads[thread].events.size();
}

// ---- accesses

std::optional<uint64_t> TraceExecution::address_of(Thread& thread, const Event& event) {
  if (!event.address_expression) return event.address;
  const ExprValues::Value value = thread.values.value(event.address_expression);
  if (!value.certain) return event.address;
  const uint64_t offset = value.bits() - event.object;
  const bool inside =
      event.object_size == 0 || (event.size <= event.object_size && offset <= event.object_size - event.size);
  return inside ? std::optional(value.bits()) : std::nullopt;
}

void TraceExecution::read(uint32_t index, uint32_t number, uint64_t address) {
  Thread& thread = threads_[index];
  const uint32_t size = trace_->threads[index].events[number].size;
  bool certain = true;
  read_words_.assign(words_of(size * 8), 0);
  for (uint32_t i = 0; i < size; ++i) {
    const MemoryByte* own = thread.buffer.find(address + i);
    const MemoryByte byte = own != nullptr ? *own : memory_.get(address + i);
    read_words_[i / 8] |= static_cast<uint64_t>(byte.value) << i % 8 * 8;
    certain &= byte.certain;
  }
  thread.values.set_read(number, read_words_, certain);
  certain_ &= certain;
}

void TraceExecution::write(uint32_t index, uint32_t number, uint64_t address) {
  Thread& thread = threads_[index];
  const Event& event = trace_->threads[index].events[number];
  const ExprValues::Value value = thread.values.value(event.value);
  written_words_.assign(value.words.begin(), value.words.end());
  certain_ &= value.certain;
  std::vector<MemoryByte> bytes(event.size);
  for (uint32_t i = 0; i < event.size; ++i)
    bytes[i] = {.value = static_cast<uint8_t>(value.words[i / 8] >> i % 8 * 8), .certain = value.certain};
  if (model_ != MemoryModel::sc && !needs_empty_buffer(event)) {
    thread.buffer.add(number, address, bytes, releases(event.order));
    return;
  }
  for (uint32_t i = 0; i < event.size; ++i) memory_.set(address + i, bytes[i]);
}

bool TraceExecution::perform_access(uint32_t thread, uint32_t number) {
  const Event& event = trace_->threads[thread].events[number];
  const std::optional<uint64_t> address = address_of(threads_[thread], event);
  if (!address) return false;
  read_words_.clear();
  written_words_.clear();
  certain_ = true;
  if (reads_value(event.kind)) read(thread, number, *address);
  if (writes_value(event.kind)) write(thread, number, *address);
  return true;
}

// ---- items

std::optional<Evaluation> TraceExecution::check_constraints(uint32_t thread) {
  const std::vector<Constraint>& constraints = trace_->threads[thread].constraints;
  Thread& state = threads_[thread];
  for (; state.next_constraint < constraints.size(); ++state.next_constraint) {
    const Constraint& constraint = constraints[state.next_constraint];
    if (constraint.events > state.next) break;
    const ExprValues::Value value = state.values.value(constraint.condition);
    if (!value.certain)
      ++undecided_;
    else if (value.bits() == 0)
      return verdict(Evaluation::Kind::constraint, thread, state.next > 0 ? state.next - 1 : 0,
                     state.next_constraint);
  }
  return std::nullopt;
}

std::optional<Evaluation> TraceExecution::perform(const OrderItem& item) {
  if (const std::optional<Evaluation> refused = refusal(item)) return refused;
  Thread& thread = threads_[item.thread];
  if (item.flush) {
    thread.buffer.flush(item.event, memory_);
    ++items_;
    return std::nullopt;
  }
  if (std::optional<Evaluation> failed = check_constraints(item.thread))
    return failed;  // those before all events
  const std::vector<Event>& events = trace_->threads[item.thread].events;
  const Event& event = events[item.event];
  if (is_access(event.kind)) {
    if (!perform_access(item.thread, item.event))
      return verdict(Evaluation::Kind::outside, item.thread, item.event);
  } else if (event.kind == EventKind::semaphore_value) {
    read_words_.assign(words_of(event.size * 8), 0);
    read_words_[0] = sync_.semaphore(event.address) & low_bits(event.size * 8);
    written_words_.clear();
    certain_ = true;
    thread.values.set_read(item.event, read_words_, true);
  } else if (event.kind == EventKind::fence) {
    if (releases(event.order)) thread.buffer.release_fence();
  } else {
    sync_.perform(item.thread, event);
  }
  if (watcher_ && (is_access(event.kind) || reads_value(event.kind)))
    watcher_(item.thread, item.event, read_words_, written_words_, certain_);
  ++thread.next;
  inside_step_.reset();
  if (!is_at_end(item.thread) && events[thread.next].step == event.step) inside_step_ = item.thread;
  if (std::optional<Evaluation> failed = check_constraints(item.thread)) return failed;
  ++items_;
  return std::nullopt;
}

// ---- the end

bool TraceExecution::fails() {
  const FailurePredicate& failure = trace_->failure;
  switch (failure.kind) {
    case FailurePredicate::Kind::none:
      return true;
    case FailurePredicate::Kind::reached:
      return is_at_end(failure.thread);
    case FailurePredicate::Kind::condition: {
      if (!is_at_end(failure.thread)) return false;
      const ExprValues::Value value = threads_[failure.thread].values.value(failure.condition);
      undecided_ += !value.certain;
      return !value.certain || value.bits() != 0;
    }
    case FailurePredicate::Kind::freed:
      return is_at_end(failure.thread) && sync_.is_released(failure.address);
    case FailurePredicate::Kind::deadlock:
      return std::ranges::all_of(failure.waiting, [&](const FailurePredicate::Waiting& waiting) {
        return is_at_end(waiting.thread) && !sync_.is_enabled(waiting.thread, waiting.operation);
      });
  }
  HEDDLE_CHECK(false);
  return false;
}

Evaluation TraceExecution::finish() {
  for (uint32_t thread = 0; thread < threads_.size(); ++thread)
    if (std::optional<Evaluation> failed = check_constraints(thread)) return *failed;
  const bool failed = fails();
  return verdict(failed ? Evaluation::Kind::holds : Evaluation::Kind::no_failure, trace_->failure.thread, 0);
}

}  // namespace heddle
