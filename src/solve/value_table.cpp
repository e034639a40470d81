#include "solve/value_table.h"

#include <algorithm>

#include "trace/node_value.h"

namespace heddle {

ValueTable::ValueTable() : begins_{0, 0} {}

ValueNumber ValueTable::number(std::span<const uint64_t> all) {
  while (!all.empty() && all.back() == 0) all = all.first(all.size() - 1);
  uint64_t hash = all.size();
  for (const uint64_t word : all) hash = (hash ^ word) * 0x9e3779b97f4a7c15 + (hash >> 29);
  const auto [from, behind] = by_hash_.equal_range(hash);
  for (auto it = from; it != behind; ++it)
    if (std::ranges::equal(words(it->second), all)) return it->second;
  const auto number = static_cast<ValueNumber>(begins_.size() - 1);
  words_.insert(words_.end(), all.begin(), all.end());
  begins_.push_back(words_.size());
  by_hash_.emplace(hash, number);
  return number;
}

template <class Visit>
void PoolEvaluator::visit(Expr e, const Visit& visit) {
  ++stamp_;
  stack_.push_back(e.number);
  while (!stack_.empty()) {
    const Expr top{stack_.back()};
    const size_t before = stack_.size();
    if (stamps_[top.number] != stamp_)
      for (const Expr operand : operands_of(pool_->node(top)))
        if (operand && stamps_[operand.number] != stamp_) stack_.push_back(operand.number);
    if (stack_.size() != before) continue;
    stack_.pop_back();
    if (stamps_[top.number] == stamp_) continue;
    stamps_[top.number] = stamp_;
    visit(top);
  }
}

std::vector<uint32_t> PoolEvaluator::reads_in(Expr e) {
  std::vector<uint32_t> events;
  visit(e, [&](Expr node) {
    if (pool_->node(node).op == ExprOp::read) events.push_back(pool_->node(node).a);
  });
  std::ranges::sort(events);
  return events;
}

const uint64_t* PoolEvaluator::words(Expr e) const {
  return pool_->width(e) <= 64 ? &values_[e.number] : &wide_[values_[e.number]];
}

uint64_t* PoolEvaluator::place_for(Expr e) {
  const unsigned width = pool_->width(e);
  if (width <= 64) return &values_[e.number];
  values_[e.number] = wide_.size();
  wide_.resize(wide_.size() + words_of(width));
  return &wide_[values_[e.number]];
}

void PoolEvaluator::evaluate(Expr e, const ValueTable& table, const ReadValue& read) {
  const ExprNode& node = pool_->node(e);
  uint64_t* out = place_for(e);
  const unsigned count = words_of(node.width);
  certain_[e.number] = true;
  if (node.op == ExprOp::constant) {
    if (node.width <= 64)
      *out = pool_->constant_bits(e);
    else
      std::copy_n(pool_->wide_constant(e), count, out);
    return;
  }
  if (node.op == ExprOp::read) {
    const ValueNumber value = read(node.a);
    certain_[e.number] = value != kUncertainValue;
    for (unsigned i = 0; i < count; ++i) out[i] = table.word(value, i);
    return;
  }
  NodeOperands operands;
  const std::array<Expr, 3> from = operands_of(node);
  bool certain = true;
  for (unsigned i = 0; i < 3; ++i) {
    if (!from[i]) continue;
    operands[i] = {.words = words(from[i]), .width = pool_->width(from[i])};
    certain &= certain_[from[i].number];
  }
  if (node.op == ExprOp::ite && certain_[node.a])
    certain = certain_[*words(Expr{node.a}) != 0 ? node.b : node.c];
  const MathFunction* function = node.op == ExprOp::call ? pool_->called(node) : nullptr;
  const bool known = evaluate_node(node, operands, function, out);
  certain_[e.number] = known && certain;
}

ValueNumber PoolEvaluator::value(Expr e, ValueTable& table, const ReadValue& read) {
  wide_.clear();
  visit(e, [&](Expr node) { evaluate(node, table, read); });
  if (!certain_[e.number]) return kUncertainValue;
  return table.number(std::span(words(e), words_of(pool_->width(e))));
}

}  // namespace heddle
