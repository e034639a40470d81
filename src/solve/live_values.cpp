#include "solve/live_values.h"

#include <algorithm>
#include <map>

#include "trace/node_value.h"

namespace heddle {

LivePlan::LivePlan(const ThreadTrace& thread, uint32_t number, Expr failure)
    : thread_(&thread), number_(number) {
  const ExprPool& pool = thread.pool;
  known_.assign(pool.size(), 0);
  last_use_.assign(pool.size(), 0);
  slots_.assign(pool.size(), kNoSlot);
  for (uint32_t i = 1; i < pool.size(); ++i) {
    const ExprNode& node = pool.node(Expr{i});
    if (node.op == ExprOp::read) known_[i] = node.a + 1;
    for (const Expr operand : operands_of(node)) known_[i] = std::max(known_[i], known_[operand.number]);
  }
  find_uses(failure);
  give_slots();
}

void LivePlan::use(Expr e, uint32_t position) {
  if (e) last_use_[e.number] = std::max(last_use_[e.number], position);
}

// An event's own expressions are looked at while it is carried out, which is on the way to the next position;
// the failure's behind the last.
void LivePlan::find_uses(Expr failure) {
  for (uint32_t i = 0; i < thread_->events.size(); ++i) {
    use(thread_->events[i].value, i + 1);
    use(thread_->events[i].address_expression, i + 1);
  }
  // At least 1, since 0 is "never": constraints before all events are looked at when the thread is at 0.
  for (const Constraint& constraint : thread_->constraints)
    use(constraint.condition, std::max<uint32_t>(constraint.events, 1));
  use(failure, static_cast<uint32_t>(thread_->events.size()) + 1);
  const ExprPool& pool = thread_->pool;
  for (uint32_t i = pool.size() - 1; i > 0; --i) {
    if (last_use_[i] == 0) continue;
    for (const Expr operand : operands_of(pool.node(Expr{i}))) use(operand, std::max<uint32_t>(known_[i], 1));
  }
}

void LivePlan::give_slots() {
  const ExprPool& pool = thread_->pool;
  const size_t positions = thread_->events.size() + 1;
  computed_.resize(positions);
  dropped_.resize(positions);
  for (uint32_t i = 1; i < pool.size(); ++i) {
    if (last_use_[i] == 0) continue;
    if (pool.is_constant(Expr{i})) {
      slots_[i] = static_cast<uint32_t>(constants_.size());
      if (pool.width(Expr{i}) <= 64) constants_.push_back(pool.constant_bits(Expr{i}));
      continue;
    }
    computed_[known_[i]].push_back(i);
    if (last_use_[i] > known_[i] && last_use_[i] < positions) dropped_[last_use_[i]].push_back(i);
  }
  std::map<unsigned, std::vector<uint32_t>> free;  // by words
  for (size_t position = 0; position < positions; ++position) {
    for (const uint32_t i : dropped_[position]) free[words_of(pool.width(Expr{i}))].push_back(slots_[i]);
    for (const uint32_t i : computed_[position]) {
      if (last_use_[i] <= position) continue;
      const unsigned words = words_of(pool.width(Expr{i}));
      std::vector<uint32_t>& slots = free[words];
      if (slots.empty()) {
        slots.push_back(static_cast<uint32_t>(frame_words_));
        frame_words_ += 1 + words;
      }
      slots_[i] = slots.back();
      slots.pop_back();
    }
  }
}

// ---- carrying it out

LiveValues::LiveValues(const LivePlan& plan)
    : plan_(&plan), frame_(plan.frame_words()), fresh_places_(plan.known_.size()) {}

void LiveValues::set(uint32_t word, uint64_t value, Changes& changes) {
  if (frame_[word] == value) return;
  changes.push_back({.word = word, .old = frame_[word]});
  frame_[word] = value;
}

Hash128 LiveValues::hash_of_slot(Expr e) const {
  Hasher128 hasher;
  hasher.add(uint64_t{plan_->number_} << 32 | e.number);
  const uint64_t* slot = &frame_[plan_->slots_[e.number]];
  for (unsigned i = 0; i <= words_of(plan_->thread().pool.width(e)); ++i) hasher.add(slot[i]);
  return hasher.hash();
}

LiveValue LiveValues::value(Expr e) const {
  const ExprPool& pool = plan_->thread().pool;
  const uint32_t slot = plan_->slots_[e.number];
  if (pool.is_constant(e))
    return {.words = pool.width(e) > 64 ? pool.wide_constant(e) : &plan_->constants_[slot]};
  const bool fresh = to_ && plan_->known_[e.number] == *to_;
  const uint64_t* at = fresh ? &fresh_[fresh_places_[e.number]] : &frame_[slot];
  return {.words = at + 1, .certain = *at != 0};
}

void LiveValues::compute(Expr e, LiveValue read) {
  const ExprPool& pool = plan_->thread().pool;
  const ExprNode& node = pool.node(e);
  const unsigned words = words_of(node.width);
  fresh_places_[e.number] = static_cast<uint32_t>(fresh_.size());
  const size_t place = fresh_.size();
  fresh_.resize(place + 1 + words);
  uint64_t* out = &fresh_[place];
  if (node.op == ExprOp::read) {
    out[0] = read.certain;
    std::copy_n(read.words, words, out + 1);
    return;
  }
  NodeOperands operands;
  std::array<bool, 3> certain = {true, true, true};
  const std::array<Expr, 3> from = operands_of(node);
  for (unsigned i = 0; i < 3; ++i) {
    if (!from[i]) continue;
    const LiveValue operand = value(from[i]);
    operands[i] = {.words = operand.words, .width = pool.width(from[i])};
    certain[i] = operand.certain;
  }
  const MathFunction* function = node.op == ExprOp::call ? pool.called(node) : nullptr;
  const bool known = evaluate_node(node, operands, function, out + 1);
  out[0] = known && is_node_certain(node, certain, from[0] && operands[0].words[0] != 0);
}

void LiveValues::keep(Expr e, Changes& changes) {
  const uint32_t slot = plan_->slots_[e.number];
  const uint64_t* value = &fresh_[fresh_places_[e.number]];
  for (unsigned i = 0; i <= words_of(plan_->thread().pool.width(e)); ++i) set(slot + i, value[i], changes);
  hash ^= hash_of_slot(e);
}

void LiveValues::go_on(uint32_t to, LiveValue read) {
  to_ = to;
  fresh_.clear();
  for (const uint32_t i : plan_->computed_[to]) compute(Expr{i}, read);
}

void LiveValues::arrive(Changes& changes) {
  for (const uint32_t i : plan_->dropped_[*to_]) hash ^= hash_of_slot(Expr{i});
  for (const uint32_t i : plan_->computed_[*to_])
    if (plan_->slots_[i] != LivePlan::kNoSlot) keep(Expr{i}, changes);
  to_.reset();
}

}  // namespace heddle
