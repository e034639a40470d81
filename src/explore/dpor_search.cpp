// The baseline: dynamic partial-order reduction (Flanagan and Godefroid, POPL 2005) with sleep sets
// (Godefroid). One execution for each trace of Mazurkiewicz: interleavings that differ in the order of
// independent steps only are one.
//
// Processes are threads, and store buffers: of each thread one under TSO, one for each address under PSO. An
// operation that empties the buffer has to wait until the steps of the buffer have done so; hence every step
// has one effect on memory.
//
// Where this departs from the text, because more is possible here than there:
//   - The text looks at the last step that is in conflict with what a process does next. Which one could have
//   been
//     overtaken is not easily said (locks, conditions, buffers), so all steps are looked at, by all processes
//     at all states, whether they can go on or not. Sleep sets keep that from costing executions.
//   - With sleep sets it is not enough that the process itself goes on there: it may be asleep, and what it
//   waits to
//     be woken by may be a step that was made since (Abdulla et al., POPL 2014, source sets). So all that may
//     begin are wanted.
//   - What ends the process, or keeps everybody else from going on, is in conflict with everything.
//   - A process may have two ways to go on (a choice, a wait that runs out of time): both are explored.
//   - A loop that waits (behaviour.h) depends on all that it reads in a round.
//   - Steps are carried out by the machine as far as the threads are known. The program is executed where they
//   are
//     not, and along each trace once.
#include <algorithm>

#include "explore/branch_sizes.h"
#include "explore/dependence.h"
#include "explore/exploration.h"

namespace heddle {
namespace {

constexpr uint64_t kStatesBetweenLooks = 1024;

class DporSearch : public Exploration {
 public:
  DporSearch(Executor& executor, const ExploreOptions& options,
             const std::function<void(const ExploreProgress&)>& progress)
      : Exploration(executor, options, progress) {}

 private:
  using Path = std::vector<Action>;
  using Steps = std::vector<bool>;  // a set of steps of the path

  struct Frame {
    MachineState state;
    std::vector<Action> possible;
    std::vector<Action> asleep;  // explored from here, or from an earlier state, and nothing has changed since
    std::vector<Action> wanted;  // of those that are possible: to be explored
    std::vector<PathStep> next;  // of all processes, possible or not
    std::optional<Action> chosen;  // the step to the next frame
    PathStep step;
    Steps before;         // steps of the path that have to come before it
    size_t tried = 0;     // actions
    uint64_t states = 0;  // when the last one was begun with
  };

  Result<void> search() override {
    HEDDLE_TRY(execute({}));
    while (!over()) {
      ++progress().passes;
      shared_ = behaviour().shared();
      late_waits_ = false;
      HEDDLE_TRY(pass());
      // States do not have the contents of memory that was private when they were made.
      if (behaviour().shared() == shared_ && !late_waits_) break;
    }
    return {};
  }

  bool is_stale() const { return over() || behaviour().shared() != shared_; }

  Result<void> pass() {
    stack_.clear();
    if (progress().passes == 1)
      remember_run();
    else
      follows_run_ = false;
    forget_ends();
    progress().states = 0;
    HEDDLE_TRY(enter(machine().begin(), {}));
    while (!stack_.empty() && !is_stale()) {
      Frame& frame = stack_.back();
      if (frame.tried > 1) sizes_.note(stack_.size(), progress().states - frame.states);
      fall_asleep(frame);
      const std::optional<Action> action = next_action(frame);
      if (!action) {
        stack_.pop_back();
        follows_run_ = false;
        continue;
      }
      frame.chosen = action;
      ++frame.tried;
      frame.states = progress().states;
      MachineState state = frame.state;
      follow_run(frame);
      if (machine().perform(state, *action) == OperationalMachine::Step::unknown) {
        HEDDLE_TRY(execute(path()));
        remember_run();
        if (is_stale()) break;
        late_waits_ |= machine().waits_in_loop(state, action->thread);
        if (machine().perform(state, *action) == OperationalMachine::Step::unknown) {
          if (last().failed) {  // it ends here, and others might have gone on before
            frame.wanted = frame.possible;
            continue;
          }
          end(ExploreResult::End::not_covered, "an execution left the order that it was to follow",
              behaviour().node(state.threads[action->thread].node).operation.site);
          break;
        }
      }
      note_step(frame);
      std::vector<Action> asleep;
      for (const Action& each : frame.asleep)
        if (!are_dependent(machine(), step_of(frame.state, each), frame.step)) asleep.push_back(each);
      HEDDLE_TRY(enter(std::move(state), std::move(asleep)));
    }
    return {};
  }

  uint64_t expected() const override {
    if (sizes_.knows_nothing()) return 0;
    double remaining = 0;
    for (size_t i = 0; i < stack_.size(); ++i)
      remaining +=
          static_cast<double>(stack_[i].wanted.size() - stack_[i].chosen.has_value()) * sizes_.expected(i + 1);
    return progress().states + static_cast<uint64_t>(remaining);
  }

  Path path() const {
    Path out;
    for (const Frame& frame : stack_)
      if (frame.chosen) out.push_back(*frame.chosen);
    return out;
  }

  // What was chosen last has been explored; its process sleeps when all its ways were.
  static void fall_asleep(Frame& frame) {
    if (!frame.chosen) return;
    std::erase(frame.wanted, *frame.chosen);
    frame.asleep.push_back(*frame.chosen);
    frame.chosen.reset();
  }

  static bool has(const std::vector<Action>& actions, const Action& action) {
    return std::ranges::find(actions, action) != actions.end();
  }

  std::optional<Action> next_action(Frame& frame) const {
    std::erase_if(frame.wanted, [&](const Action& each) { return has(frame.asleep, each); });
    if (frame.wanted.empty()) return std::nullopt;
    return frame.wanted.front();
  }

  // ---- states

  Result<void> enter(MachineState state, std::vector<Action> asleep) {
    if (++progress().states % kStatesBetweenLooks == 0) look();
    stack_.push_back({.state = std::move(state), .asleep = std::move(asleep)});
    const auto is_unknown = [&](const ThreadState& thread) {
      return thread.there && !thread.over && behaviour().node(thread.node).state == Behaviour::State::unknown;
    };
    const MachineState& here = stack_.back().state;
    if (!here.exited && std::ranges::any_of(here.threads, is_unknown)) {
      HEDDLE_TRY(execute(path()));
      remember_run();
      if (is_stale()) return {};
      if (std::ranges::any_of(here.threads, is_unknown)) {
        end(ExploreResult::End::not_covered, "what a thread does next could not be found out");
        return {};
      }
    }
    if (has_open_loop(here)) HEDDLE_TRY(look_at_loops(here, path()));
    if (is_stale()) return {};
    Frame& frame = stack_.back();
    frame.possible = possible_actions(frame.state);
    frame.next = next_steps(frame.state);
    look_for_conflicts(frame);
    if (frame.possible.empty()) return reach_end();
    const std::optional<Action> first = first_choice(frame);
    if (first) want(frame, *first);
    return {};
  }

  // The path is a whole trace: the program is to have shown it.
  Result<void> reach_end() {
    const MachineState here = stack_.back().state;
    if (!is_as_last_run()) {
      HEDDLE_TRY(execute(path()));
      remember_run();
      if (is_stale()) return {};
    }
    if (!note_end(here)) ++progress().redundant;
    const auto waits = [](const ThreadState& thread) { return thread.there && !thread.over; };
    if (here.exited || run_failed_ || std::ranges::none_of(here.threads, waits)) return {};
    end(ExploreResult::End::not_covered, "the program goes on where every thread seemed to wait");
    return {};
  }

  std::vector<Action> possible_actions(const MachineState& state) {
    std::vector<Action> out = all_actions(state);
    std::erase_if(out, [&](const Action& action) { return !action.flush && waits_for_buffer(state, action); });
    return out;
  }

  // The operation empties the thread's buffer, and there is something in it that others can see.
  bool waits_for_buffer(const MachineState& state, const Action& action) const {
    if (machine().flushes(state, action.thread).empty()) return false;
    const ThreadState& self = state.threads[action.thread];
    const Operation& operation = behaviour().node(self.node).operation;
    const Behaviour::Edge* edge = action.timeout ? nullptr : machine().next_edge(state, action.thread);
    if (edge != nullptr && behaviour().node(edge->to).operation.drained) return true;
    if (machine().buffers(operation)) return machine().buffer_is_full(state, action.thread);
    if (operation.kind == HEDDLE_EVENT_read) return false;
    if (operation.kind == HEDDLE_EVENT_fence) return operation.order == HEDDLE_ORDER_seq_cst;
    if (operation.kind != HEDDLE_EVENT_call || operation.order != HEDDLE_CALL_reads) return true;
    return edge != nullptr && std::ranges::any_of(edge->read, [&](const Piece& piece) {
             return std::ranges::any_of(
                 self.buffer, [&](const Store& store) { return store.address / 8 == piece.address / 8; });
           });
  }

  PathStep step_of(const MachineState& state, const Action& action) const {
    PathStep step = step_at(behaviour(), machine(), state, action);
    if (action.flush) return step;
    const NodeId at = state.threads[action.thread].node;
    const Behaviour::Node& node = behaviour().node(at);
    if (node.state != Behaviour::State::goes_on) return step;
    const Behaviour::Edge* edge = action.timeout ? nullptr : machine().next_edge(state, action.thread);
    if (step.buffers && edge != nullptr && behaviour().node(edge->to).operation.drained) {
      behaviour().uses(node, step.uses);
      step.buffers = false;
    }
    for (const Behaviour::Round& round : {behaviour().known_wait(at), behaviour().last_round(at)})
      for (const auto& [operation, input] : round) behaviour().uses({.operation = operation}, step.uses);
    std::ranges::sort(step.uses);
    return step;
  }

  std::vector<PathStep> next_steps(const MachineState& state) const {
    std::vector<PathStep> out;
    for (uint32_t t = 0; t < state.threads.size(); ++t) {
      const ThreadState& thread = state.threads[t];
      if (!thread.there) continue;
      if (!thread.over && behaviour().node(thread.node).state == Behaviour::State::goes_on)
        out.push_back(step_of(state, {.thread = t}));
      for (const Store& store : thread.buffer) {
        const Action flush{.thread = t, .flush = store.address};
        const auto same = [&](const PathStep& each) { return each.action == flush; };
        if (!behaviour().is_private(store.address) && std::ranges::none_of(out, same))
          out.push_back(step_of(state, flush));
      }
    }
    return out;
  }

  // As the last run went on, if that may be; the thread's buffer first, if that is to be empty.
  std::optional<Action> first_choice(const Frame& frame) const {
    const auto is_awake = [&](const Action& action) {
      return has(frame.possible, action) && !has(frame.asleep, action);
    };
    if (follows_run_ && run_done_ < run_.size()) {
      const Action& next = run_[run_done_];
      if (is_awake(next)) return next;
      for (const Action& flush : machine().flushes(frame.state, next.thread))
        if (!next.flush && waits_for_buffer(frame.state, next) && is_awake(flush)) return flush;
    }
    const auto found = std::ranges::find_if(frame.possible, is_awake);
    return found == frame.possible.end() ? std::nullopt : std::optional(*found);
  }

  // ---- the last run of the program, which the path follows as long as it can

  void remember_run() {
    run_ = last().actions;
    run_failed_ = last().failed;
    run_done_ = path().size();
    follows_run_ = run_done_ <= run_.size();
  }

  bool is_as_last_run() const { return follows_run_ && run_done_ == run_.size(); }

  // The path goes on by a step that the run made, alone or together with its next one.
  void follow_run(const Frame& frame) {
    if (!follows_run_) return;
    follows_run_ = run_done_ < run_.size();
    if (!follows_run_) return;
    const Action& next = run_[run_done_];
    if (next == *frame.chosen)
      ++run_done_;
    else
      follows_run_ = frame.chosen->flush && !next.flush && frame.chosen->thread == next.thread &&
                     waits_for_buffer(frame.state, next);
  }

  // ---- conflicts

  // Of one process: its steps are in order.
  bool is_same_process(const Action& left, const Action& right) const {
    if (left.thread != right.thread || left.flush.has_value() != right.flush.has_value()) return false;
    return !left.flush || options().rules.memory_model == MemoryModel::tso || left.flush == right.flush;
  }

  // Steps of the path that come before what a process does next; `own`: those only that have to, whatever the
  // others do.
  Steps steps_before(const PathStep& next, size_t steps, bool own) const {
    Steps out(steps);
    for (size_t i = 0; i < steps; ++i) {
      const Frame& frame = stack_[i];
      const bool is_own = frame.step.action.thread == next.action.thread;
      if (!(is_own || !own ? are_dependent(machine(), frame.step, next) : creates(frame, next.action.thread)))
        continue;
      out[i] = true;
      for (size_t k = 0; k < frame.before.size(); ++k) out[k] = out[k] || frame.before[k];
    }
    return out;
  }

  bool creates(const Frame& frame, uint32_t thread) const {
    if (frame.step.action.flush || frame.step.action.timeout) return false;
    const Operation& operation = behaviour().node(frame.state.threads[frame.step.action.thread].node).operation;
    return operation.is_sync() && operation.sync() == HEDDLE_SYNC_thread_create && operation.second == thread;
  }

  void note_step(Frame& frame) {
    frame.step = step_of(frame.state, *frame.chosen);
    look_for_conflicts(frame.step, stack_.size() - 1, 0);  // it may have become known just now
    frame.before = steps_before(frame.step, stack_.size() - 1, false);
  }

  // What was next before, and is as it was: only the last step is new to it.
  void look_for_conflicts(const Frame& frame) {
    const size_t steps = stack_.size() - 1;
    for (const PathStep& next : frame.next) {
      const bool is_known = steps > 0 && std::ranges::any_of(stack_[steps - 1].next, [&](const PathStep& each) {
                              return each.action == next.action && each.uses == next.uses &&
                                     each.ends_all == next.ends_all && each.entered == next.entered;
                            });
      look_for_conflicts(next, steps, is_known ? steps - 1 : 0);
    }
  }

  void look_for_conflicts(const PathStep& next, size_t steps, size_t from) {
    std::optional<Steps> own, all;
    for (size_t i = steps; i-- > from;) {
      const PathStep& step = stack_[i].step;
      if (step.action.thread == next.action.thread || !are_dependent(machine(), step, next)) continue;
      if (!own) own = steps_before(next, steps, true);
      if ((*own)[i]) continue;
      if (!all) all = steps_before(next, steps, false);
      // Who may begin there so that `next` comes before the step: itself, and whoever has done something since
      // that comes before `next` and does not need the step.
      Frame& frame = stack_[i];
      bool any = false;
      for (const Action& action : frame.possible) {
        bool leads = is_same_process(action, next.action);
        for (size_t j = i + 1; j < steps && !leads; ++j)
          leads = (*all)[j] && !stack_[j].before[i] && is_same_process(action, stack_[j].step.action);
        if (!leads) continue;
        any = true;
        want(frame, action);
      }
      if (!any)
        for (const Action& action : frame.possible) want(frame, action);
    }
  }

  // With all ways of its process.
  void want(Frame& frame, const Action& action) const {
    for (const Action& each : frame.possible)
      if (is_same_process(each, action) && !has(frame.wanted, each) && !has(frame.asleep, each) &&
          frame.chosen != each)
        frame.wanted.push_back(each);
  }

  std::vector<Frame> stack_;
  BranchSizes sizes_;  // of what is behind the actions of frames
  Path run_;
  size_t run_done_ = 0;  // steps of it that the path has made
  bool follows_run_ = false, run_failed_ = false;
  bool late_waits_ = false;  // a thread went on of which was learned then that it waits
  uint64_t shared_ = 0;      // words of memory, when the pass began
};

}  // namespace

std::unique_ptr<Exploration> dpor_search(Executor& executor, const ExploreOptions& options,
                                         const std::function<void(const ExploreProgress&)>& progress) {
  return std::make_unique<DporSearch>(executor, options, progress);
}

}  // namespace heddle
