#include "solve/search_state.h"

#include <algorithm>

namespace heddle {
namespace {

Hash128 hash_of_position(uint32_t thread, uint32_t position) {
  return hash_of({'p', thread, position});
}

}  // namespace

SearchState::SearchState(const SearchPlan& plan)
    : plan_(&plan), memory_(plan.problem->trace->initial), sync_(*plan.problem->trace) {
  const size_t threads = plan.values.size(), resources = plan.resources.size();
  positions_.resize(threads);
  for (const LivePlan& values : plan.values) threads_.push_back({.values = LiveValues(values)});
  memory_hashes_.resize(resources);
  for (uint32_t i = 0; i < resources; ++i) readers_left_.push_back(plan.resources.readers(i));
  buffered_.resize(threads * resources);
  all_buffered_.resize(resources);
}

SearchState::Outcome SearchState::begin() {
  for (uint32_t t = 0; t < threads_.size(); ++t) {
    threads_[t].values.go_on(0, {});
    if (!constraints_hold(t, 0)) return Outcome::refused;
    threads_[t].values.arrive(values_log_);
    hash_ ^= threads_[t].values.hash;
  }
  return fails() ? Outcome::failure : Outcome::done;
}

// ---- back

void SearchState::begin_operation(OrderItem item) {
  const Thread& thread = threads_[item.thread];
  operations_.push_back({.item = item,
                         .hash = hash_,
                         .values_hash = thread.values.hash,
                         .values_log = values_log_.size(),
                         .bytes_log = bytes_log_.size(),
                         .buffers_log = buffers_log_.size(),
                         .sync_log = sync_log_.size(),
                         .barrier = thread.barrier,
                         .next_constraint = thread.next_constraint,
                         .sleeping = sleeping_,
                         .running = running_,
                         .last_flush = last_flush_});
}

void SearchState::take_back() {
  const Operation& operation = operations_.back();
  const uint32_t t = operation.item.thread;
  Thread& thread = threads_[t];
  if (!operation.item.flush && positions_[t] > operation.item.event) {
    positions_[t] = operation.item.event;
    for (const uint32_t memory : plan_->resources.last_read_by({t, operation.item.event}))
      ++readers_left_[memory];
  }
  for (; values_log_.size() > operation.values_log; values_log_.pop_back())
    thread.values.take_back(values_log_.back());
  thread.values.give_up();
  thread.values.hash = operation.values_hash;
  take_back_memory(operation);
  for (; sync_log_.size() > operation.sync_log; sync_log_.pop_back()) sync_.restore(sync_log_.back());
  thread.barrier = operation.barrier;
  thread.next_constraint = operation.next_constraint;
  sleeping_ = operation.sleeping;
  running_ = operation.running;
  last_flush_ = operation.last_flush;
  hash_ = operation.hash;
  operations_.pop_back();
}

void SearchState::back_to(Mark mark) {
  while (operations_.size() > mark) take_back();
}

SearchedOrder SearchState::order() const {
  SearchedOrder out;
  for (size_t i = 0; i < operations_.size(); ++i) {
    const OrderItem& item = operations_[i].item;
    out.items.push_back(item);
    const size_t buffers_log =
        i + 1 < operations_.size() ? operations_[i + 1].buffers_log : buffers_log_.size();
    const bool entered_buffer = buffers_log > operations_[i].buffers_log;
    if (!item.flush && event(item.thread, item.event).kind == EventKind::write && !entered_buffer)
      out.unseen.push_back({item.thread, item.event});
  }
  return out;
}

// ---- events

bool SearchState::constraints_hold(uint32_t thread, uint32_t position) {
  const std::vector<Constraint>& constraints = plan_->problem->trace->threads[thread].constraints;
  uint32_t& next = threads_[thread].next_constraint;
  for (; next < constraints.size() && constraints[next].events <= position; ++next) {
    const LiveValue value = threads_[thread].values.value(constraints[next].condition);
    if (value.certain && value.words[0] == 0) return false;
  }
  return true;
}

// The event's effect on memory, and on what the thread knows. Whether its address is in its object.
bool SearchState::access(uint32_t thread, uint32_t number) {
  const Event& accessed = event(thread, number);
  const std::optional<uint64_t> address = address_of(thread, accessed);
  if (!address) return false;
  if (reads_value(accessed.kind)) read(thread, accessed, *address);
  LiveValues& values = threads_[thread].values;
  values.go_on(number + 1, {.words = read_words_.data(), .certain = read_certain_});
  if (writes_value(accessed.kind)) write(thread, number, *address, values.value(accessed.value));
  return true;
}

bool SearchState::perform(uint32_t thread) {
  const uint32_t number = positions_[thread];
  if (!facts_allow(thread, number) || !can_go_on(thread)) return false;
  const Event& performed = event(thread, number);
  begin_operation({.thread = thread, .event = number});
  leave_for(thread);
  Thread& state = threads_[thread];
  if (buffers() && needs_empty_buffer(performed))
    while (!state.buffer.empty()) flush_store(thread, 0);
  if (reads_value(performed.kind)) read_words_.assign(words_of(performed.size * 8), 0);
  read_certain_ = true;
  if (is_access(performed.kind)) {
    if (!access(thread, number)) return false;
  } else {
    if (performed.kind == EventKind::semaphore_value) {
      read_words_[0] = sync_.semaphore(performed.address) & low_bits(performed.size * 8);
    } else if (performed.kind == EventKind::fence) {
      const bool pso = plan_->problem->model == MemoryModel::pso;
      if (pso && releases(performed.order) && !state.buffer.empty())
        set_barrier(thread, state.buffer.back().event + 1);
    } else {
      sync_log_.push_back(sync_.part(thread, performed));
      hash_ ^= sync_.hash(thread, performed);
      sync_.perform(thread, performed);
      hash_ ^= sync_.hash(thread, performed);
    }
    state.values.go_on(number + 1, {.words = read_words_.data()});
  }
  if (!constraints_hold(thread, number + 1)) return false;
  hash_ ^= state.values.hash;
  state.values.arrive(values_log_);
  hash_ ^= state.values.hash;
  hash_ ^= hash_of_position(thread, number) ^ hash_of_position(thread, number + 1);
  ++positions_[thread];
  for (const uint32_t memory : plan_->resources.last_read_by({thread, number}))
    if (--readers_left_[memory] == 0) hash_ ^= memory_hashes_[memory];
  for (const ResourceUse& use : plan_->resources.of({thread, number})) wake(use, thread);
  return true;
}

SearchState::Outcome SearchState::perform_step(uint32_t thread) {
  const uint32_t end = plan_->step_end[thread][positions_[thread]];
  while (positions_[thread] < end) {
    if (!perform(thread)) return Outcome::refused;
    if (fails()) return Outcome::failure;
  }
  return Outcome::done;
}

SearchState::Outcome SearchState::move(uint32_t thread) {
  Outcome outcome = perform_step(thread);
  if (outcome != Outcome::done) return outcome;
  while (!is_at_end(thread) && can_go_on(thread) && !can_be_told(thread)) {
    const Mark before = mark();
    outcome = perform_step(thread);
    if (outcome == Outcome::failure) return outcome;
    if (outcome == Outcome::done) continue;
    // It will never get over this, since nobody else changes it: it stays where it is.
    back_to(before);
    if (plan_->needed[thread] > positions_[thread]) return Outcome::refused;
    break;
  }
  // It waits: who sleeps may have been left for that.
  if (!is_at_end(thread) && !can_go_on(thread))
    for (const ResourceUse& use : plan_->resources.of({thread, positions_[thread]})) wake(use, thread);
  return Outcome::done;
}

bool SearchState::fails() const {
  const FailurePredicate& failure = plan_->problem->trace->failure;
  switch (failure.kind) {
    case FailurePredicate::Kind::none:
      return true;
    case FailurePredicate::Kind::reached:
      return is_at_end(failure.thread);
    case FailurePredicate::Kind::condition: {
      if (!is_at_end(failure.thread)) return false;
      const LiveValue value = threads_[failure.thread].values.value(failure.condition);
      return !value.certain || value.words[0] != 0;
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

}  // namespace heddle
