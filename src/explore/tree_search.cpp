// The algorithm of heddle's own: explorer.h.
#include <algorithm>

#include "explore/exploration.h"
#include "explore/persistent_set.h"

namespace heddle {
namespace {

constexpr uint64_t kStatesBetweenLooks = 4096;

struct Frame {
  MachineState state;
  std::vector<Action> actions;
  size_t next = 0;
};

class TreeSearch : public Exploration {
 public:
  TreeSearch(Executor& executor, const ExploreOptions& options,
             const std::function<void(const ExploreProgress&)>& progress)
      : Exploration(executor, options, progress), choice_(behaviour(), machine()) {}

 private:
  Result<void> search() override {
    HEDDLE_TRY(execute({}));
    while (!over()) {
      const uint64_t changes = behaviour().changes();
      ++progress().passes;
      shared_ = behaviour().shared();
      late_waits_ = false;
      HEDDLE_TRY(pass());
      if (behaviour().changes() == changes && !late_waits_) break;
    }
    return {};
  }

  std::vector<Action> path() const {
    std::vector<Action> out;
    for (const Frame& frame : stack_) {
      if (frame.next == 0) break;  // entered just now
      out.push_back(frame.actions[frame.next - 1]);
    }
    return out;
  }

  Result<void> pass() {
    visited_.clear();
    forget_ends();
    stack_.clear();
    progress().states = 0;
    HEDDLE_TRY(enter(machine().begin()));
    // States do not have the contents of memory that was private when they were made.
    while (!stack_.empty() && !over() && behaviour().shared() == shared_) {
      Frame& frame = stack_.back();
      if (frame.next == frame.actions.size()) {
        stack_.pop_back();
        continue;
      }
      const Action action = frame.actions[frame.next++];
      MachineState state = frame.state;
      if (machine().perform(state, action) == OperationalMachine::Step::unknown) {
        HEDDLE_TRY(execute(path()));  // it ends with the action
        if (over() || behaviour().shared() != shared_) break;
        late_waits_ |= machine().waits_in_loop(state, action.thread);  // it should not have been chosen
        if (machine().perform(state, action) == OperationalMachine::Step::unknown) {
          if (last().failed) continue;  // it ends here
          end(ExploreResult::End::not_covered, "an execution left the order that it was to follow",
              behaviour().node(state.threads[action.thread].node).operation.site);
          break;
        }
      }
      if (!visited_.insert(machine().hash(state)).second) continue;
      HEDDLE_TRY(enter(std::move(state)));
    }
    return {};
  }

  Result<void> enter(MachineState state) {
    if (++progress().states % kStatesBetweenLooks == 0) look();
    stack_.push_back({.state = std::move(state)});
    const auto is_unknown = [&](const ThreadState& thread) {
      return thread.there && !thread.over && behaviour().node(thread.node).state == Behaviour::State::unknown;
    };
    const MachineState& here = stack_.back().state;
    if (!here.exited && std::ranges::any_of(here.threads, is_unknown)) {
      HEDDLE_TRY(execute(path()));
      if (over() || behaviour().shared() != shared_) return {};
      if (std::ranges::any_of(here.threads, is_unknown)) {
        end(ExploreResult::End::not_covered, "what a thread does next could not be found out");
        return {};
      }
    }
    if (has_open_loop(here)) HEDDLE_TRY(look_at_loops(here, path()));
    if (over() || behaviour().shared() != shared_) return {};
    if (const std::optional<Action> next = next_round_of_library(here)) {
      progress().library_spins = true;
      stack_.back().actions = {*next};
      return {};
    }
    if (options().races) HEDDLE_TRY(look_for_races(here));
    if (over() || behaviour().shared() != shared_) return {};
    stack_.back().actions = choice_.find(here, progress().awaits);
    if (!stack_.back().actions.empty()) return {};
    note_end(here);
    const auto waits = [&](const ThreadState& thread) { return thread.there && !thread.over; };
    if (here.exited || std::ranges::none_of(here.threads, waits)) return {};
    HEDDLE_TRY(execute(path()));
    if (!over() && !last().failed && behaviour().shared() == shared_)
      end(ExploreResult::End::not_covered, "the program goes on where every thread seemed to wait");
    return {};
  }

  // Two threads that are about to touch the same memory: that is a race, which an execution has to show.
  Result<void> look_for_races(const MachineState& state) {
    for (uint32_t t = 0; t < state.threads.size() && !state.exited; ++t) {
      const Operation* one = next_access(state, t);
      if (one == nullptr) continue;
      for (uint32_t u = t + 1; u < state.threads.size(); ++u) {
        const Operation* other = next_access(state, u);
        if (other == nullptr || !may_race(*one, *other) || has_race(one->site, other->site)) continue;
        if (!tried_.insert(std::minmax(one->site, other->site)).second) continue;
        std::vector<Action> both = path();
        both.push_back({.thread = t});
        both.push_back({.thread = u});
        HEDDLE_TRY(execute(both));
        if (over() || behaviour().shared() != shared_) return {};
        one = next_access(state, t);  // nodes have moved
      }
    }
    return {};
  }

  const Operation* next_access(const MachineState& state, uint32_t thread) const {
    const ThreadState& self = state.threads[thread];
    if (!self.there || self.over || !machine().is_enabled(state, thread)) return nullptr;
    const Operation& operation = behaviour().node(self.node).operation;
    return operation.kind <= HEDDLE_EVENT_update && operation.size != 0 ? &operation : nullptr;
  }

  static bool may_race(const Operation& one, const Operation& other) {
    const auto is_plain = [](const Operation& each) { return each.order == HEDDLE_ORDER_plain; };
    return (one.kind != HEDDLE_EVENT_read || other.kind != HEDDLE_EVENT_read) &&
           (is_plain(one) || is_plain(other)) && one.address < other.address + other.size &&
           other.address < one.address + one.size;
  }

  // A loop of the C++ library that spins before it waits, and has gone round often enough: it goes on alone.
  std::optional<Action> next_round_of_library(const MachineState& state) const {
    for (uint32_t t = 0; t < state.threads.size() && !state.exited; ++t) {
      const ThreadState& thread = state.threads[t];
      if (!thread.there || thread.over) continue;
      const Behaviour::Node& node = behaviour().node(thread.node);
      if (node.waiting != Behaviour::Node::Waiting::no || !machine().is_enabled(state, t)) continue;
      if (node.state == Behaviour::State::goes_on && !node.edges.empty() && node.rounds >= kRoundsOfSpinning &&
          options().library_sites.contains(node.operation.site) && machine().repeats(state, t))
        return Action{.thread = t};
    }
    return std::nullopt;
  }

  PersistentSet choice_;
  std::vector<Frame> stack_;
  std::unordered_set<Hash128> visited_;
  std::set<std::pair<uint32_t, uint32_t>> tried_;  // places that may be in a race: an execution has shown or not
  bool late_waits_ = false;  // a thread went on of which was learned then that it waits
  uint64_t shared_ = 0;      // words of memory, when the pass began
};

}  // namespace

std::unique_ptr<Exploration> tree_search(Executor& executor, const ExploreOptions& options,
                                         const std::function<void(const ExploreProgress&)>& progress) {
  return std::make_unique<TreeSearch>(executor, options, progress);
}

}  // namespace heddle
