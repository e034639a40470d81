#include "solve/window_problem.h"

#include <algorithm>

namespace heddle {
namespace {

// Expressions of a thread made anew, with what is known by now as constants.
class Translation {
 public:
  Translation(const ThreadTrace& from, const LiveValues& values, uint32_t begin, uint32_t prologue,
              ExprPool& to)
      : from_(from.pool), values_(values), begin_(begin), prologue_(prologue), to_(to) {}

  Expr operator()(Expr e) {
    if (!e) return {};
    open_ = {e};
    while (!open_.empty()) {  // operands first
      const Expr next = open_.back();
      if (done_.contains(next.number)) {
        open_.pop_back();
        continue;
      }
      const size_t open = open_.size();
      if (!is_known(next))
        for (const Expr operand : operands_of(from_.node(next)))
          if (operand && !done_.contains(operand.number)) open_.push_back(operand);
      if (open_.size() > open) continue;
      done_.emplace(next.number, translate(next));
      open_.pop_back();
    }
    return done_.at(e.number);
  }

 private:
  bool is_known(Expr e) const { return values_.is_known_before(e, begin_ + 1); }
  Expr done(uint32_t number) const { return number == 0 ? Expr{} : done_.at(number); }

  Expr translate(Expr e) {
    const ExprNode& node = from_.node(e);
    if (is_known(e)) {
      const LiveValue value = values_.value(e);
      if (!value.certain) return to_.unknown(ExprPool::kDecidedByPath, node.width);
      return to_.constant(std::span(value.words, words_of(node.width)), node.width);
    }
    switch (node.op) {
      case ExprOp::read:
        return to_.read(node.a - begin_ + prologue_, node.width);
      case ExprOp::ite:
        return to_.ite(done(node.a), done(node.b), done(node.c));
      case ExprOp::concat:
        return to_.concat(done(node.a), done(node.b));
      case ExprOp::extract:
        return to_.extract(done(node.a), node.b, node.width);
      case ExprOp::sext:
        return to_.sext(done(node.a), node.width);
      case ExprOp::fround:
        return to_.round(node.format, done(node.a), static_cast<FloatRounding>(node.b));
      case ExprOp::call:
        return to_.call(from_.function_name(node.a), node.width, done(node.b), done(node.c));
      default:
        break;
    }
    if (is_arithmetic(node.op) || is_comparison(node.op))
      return to_.binary(node.op, done(node.a), done(node.b));
    if (is_conversion(node.op)) return to_.convert(node.op, node.from, node.format, done(node.a), node.width);
    if (is_float_operation(node.op))
      return to_.floating(node.op, node.format, done(node.a), done(node.b), done(node.c));
    return to_.unary(node.op, done(node.a));
  }

  const ExprPool& from_;
  const LiveValues& values_;
  uint32_t begin_, prologue_;
  ExprPool& to_;
  std::unordered_map<uint32_t, Expr> done_;
  std::vector<Expr> open_;
};

}  // namespace

WindowProblem::WindowProblem(const Problem& whole, const std::vector<OrderFact>& facts,
                             const CarriedState& state, const Ends& ends, bool last)
    : whole_(whole), problem_(whole), prologue_(whole.trace->threads.size()) {
  problem_.trace = &trace_;
  problem_.facts.clear();
  problem_.refuted.clear();
  trace_.sync_order = whole.trace->sync_order;
  trace_.threads.resize(whole.trace->threads.size());
  for (uint32_t t = 0; t < trace_.threads.size(); ++t) {
    begins_.push_back(state.position(t));
    const std::vector<Event>& events = whole.trace->threads[t].events;
    trace_.threads[t].events.assign(events.begin() + begins_[t], events.begin() + ends.may[t]);
    events_ += trace_.threads[t].events.size();
  }
  if (last) trace_.failure = whole.trace->failure;
  add_memory(state);
  add_kept(state);
  add_threads(state, ends);
  if (!last) add_end(state, ends);
  add_facts(facts);
}

void WindowProblem::add_memory(const CarriedState& state) {
  for (const ThreadTrace& thread : trace_.threads)
    for (const Event& event : thread.events) {
      if (!is_access(event.kind)) continue;
      for (uint32_t i = 0; i < event.size; ++i)
        if (const MemoryByte byte = state.byte(event.address + i); byte.certain && byte.value != 0)
          trace_.initial[event.address + i] = byte.value;
    }
}

// What comes first: unknown bytes as writes of something unknown, then what leads to the state of
// synchronisation.
void WindowProblem::add_kept(const CarriedState& state) {
  std::vector<const Event*> used;
  std::map<uint64_t, bool> uncertain;
  for (const ThreadTrace& thread : trace_.threads)
    for (const Event& event : thread.events) {
      used.push_back(&event);
      if (!is_access(event.kind)) continue;
      for (uint32_t i = 0; i < event.size; ++i)
        if (!state.byte(event.address + i).certain) uncertain[event.address + i] = true;
    }
  for (const FailurePredicate::Waiting& waiting : trace_.failure.waiting) used.push_back(&waiting.operation);
  const Event freed{.kind = EventKind::release, .size = 1, .address = trace_.failure.address};
  if (trace_.failure.kind == FailurePredicate::Kind::freed) used.push_back(&freed);

  std::vector<CarriedState::Kept> kept;
  for (const auto& [address, is_unknown] : uncertain) {
    const Expr value = trace_.threads[0].pool.unknown(ExprPool::kDecidedByPath, 8);
    kept.push_back({0, {.kind = EventKind::write, .size = 1, .address = address, .value = value}});
  }
  for (const CarriedState::Kept& each : state.kept_for(used)) kept.push_back(each);
  std::vector<std::vector<Event>> prologues(trace_.threads.size());
  std::optional<EventRef> before;
  for (CarriedState::Kept& each : kept) {
    std::vector<Event>& prologue = prologues[each.thread];
    const EventRef here{each.thread, static_cast<uint32_t>(prologue.size())};
    each.event.step = prologue.size();
    each.event.place = 0;
    each.event.tsc_low = each.event.tsc_high = 0;
    prologue.push_back(each.event);
    if (before && before->thread != here.thread) problem_.facts.push_back({.before = *before, .after = here});
    before = here;
  }
  for (uint32_t t = 0; t < prologues.size(); ++t) {
    std::vector<Event>& events = trace_.threads[t].events;
    prologue_[t] = static_cast<uint32_t>(prologues[t].size());
    for (Event& event : events) event.step += prologue_[t];
    events.insert(events.begin(), prologues[t].begin(), prologues[t].end());
    if (before && before->thread != t && events.size() > prologue_[t])
      problem_.facts.push_back({.before = *before, .after = {t, prologue_[t]}});
  }
}

void WindowProblem::add_threads(const CarriedState& state, const Ends& ends) {
  for (uint32_t t = 0; t < trace_.threads.size(); ++t) {
    const ThreadTrace& from = whole_.trace->threads[t];
    ThreadTrace& to = trace_.threads[t];
    to.name = from.name;
    Translation translated(from, state.values(t), begins_[t], prologue_[t], to.pool);
    for (uint32_t e = prologue_[t]; e < to.events.size(); ++e) {
      Event& event = to.events[e];
      event.place = 0;
      if (writes_value(event.kind)) event.value = translated(event.value);
    }
    const auto behind = [](uint32_t events, const Constraint& constraint) {
      return events < constraint.events;
    };
    auto constraint = std::upper_bound(from.constraints.begin(), from.constraints.end(), begins_[t], behind);
    for (; constraint != from.constraints.end() && constraint->events <= ends.may[t]; ++constraint)
      to.constraints.push_back({.kind = constraint->kind,
                                .condition = translated(constraint->condition),
                                .events = constraint->events - begins_[t] + prologue_[t]});
    if (trace_.failure.condition && trace_.failure.thread == t)
      trace_.failure.condition = translated(trace_.failure.condition);
  }
}

// Whatever else is done: all that must be.
void WindowProblem::add_end(const CarriedState& state, const Ends& ends) {
  const auto waiting = static_cast<uint32_t>(trace_.threads.size());
  for (uint32_t t = 0; t < waiting; ++t)
    if (ends.must[t] > state.position(t))
      problem_.facts.push_back({.before = *inside({t, ends.must[t] - 1}), .after = {waiting, 0}});
  ThreadTrace& thread = trace_.threads.emplace_back();
  thread.name = "end";
  thread.events.push_back({.kind = EventKind::sync});
  trace_.failure = {.kind = FailurePredicate::Kind::reached, .thread = waiting};
}

std::optional<EventRef> WindowProblem::inside(EventRef event) const {
  const uint32_t t = event.thread;
  if (event.event < begins_[t]) return std::nullopt;
  const uint32_t number = event.event - begins_[t] + prologue_[t];
  if (number >= trace_.threads[t].events.size()) return std::nullopt;
  return EventRef{t, number};
}

// Those about what was done hold already. (Where one says that something outside of the window comes first,
// the event is not in the window.)
void WindowProblem::add_facts(const std::vector<OrderFact>& facts) {
  for (uint32_t t = 0; t < begins_.size(); ++t) {
    auto fact = std::ranges::lower_bound(facts, EventRef{t, begins_[t]}, {}, &OrderFact::after);
    for (; fact != facts.end() && fact->after.thread == t; ++fact) {
      const std::optional<EventRef> after = inside(fact->after), before = inside(fact->before);
      if (!after) break;
      if (before) problem_.facts.push_back({.before = *before, .after = *after, .origin = fact->origin});
    }
  }
}

std::vector<EventRef> WindowProblem::events_of(const std::vector<OrderItem>& order) const {
  std::vector<EventRef> out;
  for (const OrderItem& item : order) {
    if (item.flush || item.thread >= begins_.size() || item.event < prologue_[item.thread]) continue;
    out.push_back({item.thread, item.event - prologue_[item.thread] + begins_[item.thread]});
  }
  return out;
}

}  // namespace heddle
