#include "trace/expression_values.h"

#include <algorithm>

#include "trace/node_value.h"

namespace heddle {

ExprValues::ExprValues(const ExprPool& pool, size_t events)
    : pool_(&pool), values_(pool.size()), states_(pool.size()), reads_(events), read_states_(events) {}

void ExprValues::grow(size_t events) {
  if (states_.size() < pool_->size()) {
    values_.resize(pool_->size());
    states_.resize(pool_->size());
  }
  if (reads_.size() < events) {
    reads_.resize(events);
    read_states_.resize(events);
  }
}

void ExprValues::set_read(uint32_t event, std::span<const uint64_t> words, bool certain) {
  HEDDLE_CHECK(event < reads_.size() && read_states_[event] == kMissing);
  read_states_[event] = certain ? kCertain : kUncertain;
  reads_[event] = words[0];
  if (words.size() > 1) {
    reads_[event] = wide_.size();
    wide_.insert(wide_.end(), words.begin(), words.end());
  }
}

const uint64_t* ExprValues::words(Expr e) const {
  return pool_->width(e) <= 64 ? &values_[e.number] : &wide_[values_[e.number]];
}

bool ExprValues::is_certain(const ExprNode& node) const {
  std::array<bool, 3> certain;
  const std::array<Expr, 3> operands = operands_of(node);
  for (unsigned i = 0; i < 3; ++i) certain[i] = !operands[i] || states_[operands[i].number] == kCertain;
  return is_node_certain(node, certain, values_[operands[0].number] != 0);
}

// requires: its operands are evaluated
void ExprValues::evaluate(Expr e) {
  const ExprNode& node = pool_->node(e);
  uint64_t& value = values_[e.number];
  if (node.op == ExprOp::constant) {
    states_[e.number] = kCertain;
    value = pool_->constant_bits(e);
    if (node.width > 64) {
      value = wide_.size();
      const uint64_t* from = pool_->wide_constant(e);
      wide_.insert(wide_.end(), from, from + words_of(node.width));
    }
    return;
  }
  if (node.op == ExprOp::read) {
    HEDDLE_CHECK(node.a < reads_.size() && read_states_[node.a] != kMissing);
    states_[e.number] = read_states_[node.a];
    value = reads_[node.a];
    return;
  }
  if (node.width > 64) {
    value = wide_.size();
    wide_.resize(wide_.size() + words_of(node.width));
  }
  NodeOperands operands;
  const std::array<Expr, 3> from = operands_of(node);
  for (unsigned i = 0; i < 3; ++i)
    if (from[i]) operands[i] = {.words = words(from[i]), .width = pool_->width(from[i])};
  uint64_t* out = node.width <= 64 ? &value : &wide_[value];
  const MathFunction* function = node.op == ExprOp::call ? pool_->called(node) : nullptr;
  const bool known = evaluate_node(node, operands, function, out);
  states_[e.number] = known && is_certain(node) ? kCertain : kUncertain;
}

ExprValues::Value ExprValues::value(Expr e) {
  if (states_[e.number] == kMissing) stack_.push_back(e.number);
  while (!stack_.empty()) {
    const Expr top{stack_.back()};
    const size_t before = stack_.size();
    if (states_[top.number] == kMissing)
      for (const Expr operand : operands_of(pool_->node(top)))
        if (operand && states_[operand.number] == kMissing) stack_.push_back(operand.number);
    if (stack_.size() != before) continue;
    if (states_[top.number] == kMissing) evaluate(top);
    stack_.pop_back();
  }
  return {.words = std::span(words(e), words_of(pool_->width(e))), .certain = states_[e.number] == kCertain};
}

}  // namespace heddle
