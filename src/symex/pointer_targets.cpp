#include "symex/pointer_targets.h"

#include <algorithm>

namespace heddle {

std::map<uint64_t, uint64_t> PointerTargets::find() {
  for (uint32_t t = 0; t < threads_.size(); ++t)
    for (const Event& event : threads_[t]->events)
      if (event.address_expression && event.object_size == 0)
        pending_.emplace_back(t, event.address_expression);
  if (pending_.empty()) return {};
  // What is written through such a pointer may be read through another one.
  for (uint32_t t = 0; t < threads_.size(); ++t)
    for (const Event& event : threads_[t]->events) {
      if (!event.value) continue;
      if (event.address_expression) {
        pending_.emplace_back(t, event.value);
      } else {
        writes_.push_back({event.address, event.size, t, event.value});
        largest_write_ = std::max(largest_write_, event.size);
      }
    }
  std::ranges::sort(writes_, {}, &Write::address);
  while (!pending_.empty()) {
    const auto [thread, e] = pending_.back();
    pending_.pop_back();
    if (seen_.insert({thread, e.number}).second) follow(thread, e);
  }
  return std::move(found_);
}

void PointerTargets::follow(uint32_t thread, Expr e) {
  const ExprPool& pool = threads_[thread]->pool;
  const ExprNode& node = pool.node(e);
  if (node.op == ExprOp::constant) {
    if (node.width >= 64)  // several pointers in a vector, too
      for (const uint64_t word : pool.constant_words(e)) follow_address(word);
    return;
  }
  if (node.op == ExprOp::read) {
    const Event& event = threads_[thread]->events[node.a];
    if (!is_access(event.kind)) return;
    if (!event.address_expression) return follow_memory(event.address, event.size);
    if (event.object_size != 0) return follow_memory(event.object, event.object_size);
    return;  // its objects are followed as they are found
  }
  if (node.op == ExprOp::unknown && node.a != ExprPool::kDecidedByPath && !around_.is_garbage(node.a))
    complete_ = false;
  for (const Expr operand : operands_of(node))
    if (operand) pending_.emplace_back(thread, operand);
}

void PointerTargets::follow_address(uint64_t address) {
  const std::vector<TargetObject> objects = around_.objects_at(address);
  if (objects.empty() && around_.is_elsewhere(address)) elsewhere_.insert(address);
  for (const TargetObject& object : objects) {
    uint64_t& size = found_[object.begin];
    if (size >= object.size) continue;
    size = object.size;
    follow_memory(object.begin, object.size);
  }
}

// All that may be read there.
void PointerTargets::follow_memory(uint64_t begin, uint64_t size) {
  constexpr uint64_t kWord = 8, kMost = 1 << 16;
  if (!memory_.emplace(begin, size).second) return;
  for (uint64_t at = begin; size - (at - begin) >= kWord && at - begin < kMost; at += kWord)
    follow_address(around_.initial_word(at));
  const uint64_t lowest = begin - std::min<uint64_t>(begin, largest_write_);
  for (auto write = std::ranges::lower_bound(writes_, lowest, {}, &Write::address);
       write != writes_.end() && write->address < begin + size; ++write)
    if (begin < write->address + write->size) pending_.emplace_back(write->thread, write->value);
}

}  // namespace heddle
