#include "explore/library_spin.h"

#include <algorithm>
#include <vector>

namespace heddle {
namespace {

constexpr size_t kReadsInARow = 13;  // then a yield, and a read and a yield three times

bool reads_at(size_t step) {
  return step < kReadsInARow || step % 2 == 0;
}

bool is_yield(const Operation& operation) {
  return operation.is_sync() && operation.sync() == HEDDLE_SYNC_yield;
}

// In the middle of it, as far as is known.
class Spin {
 public:
  Spin(const Behaviour& behaviour, NodeId at) : behaviour_(behaviour), at_(at) {}

  // The read before `at_`, and what it returned. Not where something else comes next.
  bool find_read() {
    if (operation(at_).kind != HEDDLE_EVENT_read && !is_yield(operation(at_))) return false;
    NodeId behind = at_, last = behaviour_.node(at_).parent;
    if (last != kUnknownNode && is_yield(operation(last))) last = behaviour_.node(behind = last).parent;
    if (last == kUnknownNode || operation(last).kind != HEDDLE_EVENT_read ||
        !behaviour_.is_library(operation(last).site))
      return false;
    read_ = operation(last);
    value_ = step_to(behind).input;
    return true;
  }

  bool reads(NodeId node) const {
    const Operation& other = operation(node);
    return other.kind == HEDDLE_EVENT_read && other.address == read_.address && other.size == read_.size;
  }

  // What comes, until it is something else: whether it reads. Nothing where that is not known.
  std::optional<std::vector<bool>> steps_to_come() const {
    std::vector<bool> out;
    for (NodeId node = at_; out.size() < kStepsOfLibrarySpin;) {
      if (behaviour_.node(node).state != Behaviour::State::goes_on) return std::nullopt;
      if (!reads(node) && !is_yield(operation(node))) break;
      out.push_back(reads(node));
      const Behaviour::Edge* next =
          behaviour_.edge(node, out.back() ? value_ : 0, behaviour_.was_cancelled(at_));
      if (next == nullptr) return std::nullopt;
      node = next->to;
    }
    return out;
  }

  bool came_by(size_t steps) const {
    for (NodeId node = at_; steps-- > 0; node = behaviour_.node(node).parent) {
      const NodeId before = behaviour_.node(node).parent;
      if (before == kUnknownNode) return false;
      const bool same =
          reads_at(steps) ? reads(before) && step_to(node).input == value_ : is_yield(operation(before));
      if (!same) return false;
    }
    return true;
  }

  uint64_t value() const { return value_; }

 private:
  const Operation& operation(NodeId node) const { return behaviour_.node(node).operation; }
  const Behaviour::Edge& step_to(NodeId node) const {
    return *std::ranges::find(behaviour_.node(behaviour_.node(node).parent).edges, node, &Behaviour::Edge::to);
  }

  const Behaviour& behaviour_;
  const NodeId at_;
  Operation read_;
  uint64_t value_ = 0;
};

}  // namespace

std::optional<uint64_t> library_read_again(const Behaviour& behaviour, NodeId at) {
  Spin spin(behaviour, at);
  if (!spin.find_read() || !spin.reads(at) || spin.steps_to_come()) return std::nullopt;
  return spin.value();
}

// From its end, where something else comes, its place among the steps is known.
std::optional<uint64_t> library_spin(const Behaviour& behaviour, NodeId at) {
  Spin spin(behaviour, at);
  if (!spin.find_read()) return std::nullopt;
  const std::optional<std::vector<bool>> steps = spin.steps_to_come();
  if (!steps || steps->empty() || steps->size() == kStepsOfLibrarySpin) return std::nullopt;
  const size_t first = kStepsOfLibrarySpin - steps->size();
  for (size_t i = 0; i < steps->size(); ++i)
    if ((*steps)[i] != reads_at(first + i)) return std::nullopt;
  return spin.came_by(first) ? std::optional(spin.value()) : std::nullopt;
}

}  // namespace heddle
