#include "explore/explorer.h"

#include <algorithm>
#include <unordered_set>

#include "explore/persistent_set.h"
#include "replay/interrupt.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kStatesBetweenLooks = 4096;

struct Frame {
  MachineState state;
  std::vector<Action> actions;
  size_t next = 0;
};

class Explorer {
 public:
  Explorer(Executor& executor, const ExploreOptions& options,
           const std::function<void(const ExploreProgress&)>& progress)
      : executor_(executor),
        options_(options),
        tell_(progress),
        machine_(behaviour_, options.rules.memory_model, options.output_sites),
        choice_(behaviour_, machine_),
        start_(Clock::now()) {}

  Result<ExploreResult> run() {
    HEDDLE_TRY(execute());
    while (!over_) {
      const uint64_t changes = behaviour_.changes();
      ++result_.progress.passes;
      shared_ = behaviour_.shared();
      HEDDLE_TRY(pass());
      if (behaviour_.changes() == changes) break;
    }
    look();
    if (!over_ && !result_.failures.empty()) result_.end = ExploreResult::End::failure;
    return std::move(result_);
  }

 private:
  // ---- search

  Result<void> pass() {
    visited_.clear();
    ends_.clear();
    stack_.clear();
    result_.progress.states = result_.progress.ends = 0;
    HEDDLE_TRY(enter(machine_.begin()));
    // States do not have the contents of memory that was private when they were made.
    while (!stack_.empty() && !over_ && behaviour_.shared() == shared_) {
      Frame& frame = stack_.back();
      if (frame.next == frame.actions.size()) {
        stack_.pop_back();
        continue;
      }
      const Action action = frame.actions[frame.next++];
      MachineState state = frame.state;
      if (machine_.perform(state, action) == Machine::Step::unknown) {
        HEDDLE_TRY(execute());  // the path ends with the action
        if (over_ || behaviour_.shared() != shared_) break;
        if (machine_.perform(state, action) == Machine::Step::unknown) {
          if (failed_) continue;  // it ends here
          end(ExploreResult::End::not_covered, "an execution left the order that it was to follow");
          break;
        }
      }
      if (!visited_.insert(machine_.hash(state)).second) continue;
      HEDDLE_TRY(enter(std::move(state)));
    }
    return {};
  }

  Result<void> enter(MachineState state) {
    if (++result_.progress.states % kStatesBetweenLooks == 0) look();
    stack_.push_back({.state = std::move(state)});
    const auto is_unknown = [&](const ThreadState& thread) {
      return thread.there && !thread.over && behaviour_.node(thread.node).state == Behaviour::State::unknown;
    };
    const MachineState& here = stack_.back().state;
    if (!here.exited && std::ranges::any_of(here.threads, is_unknown)) {
      HEDDLE_TRY(execute());
      if (over_ || behaviour_.shared() != shared_) return {};
      if (std::ranges::any_of(here.threads, is_unknown)) {
        end(ExploreResult::End::not_covered, "what a thread does next could not be found out");
        return {};
      }
    }
    for (uint32_t t = 0; t < here.threads.size() && !here.exited; ++t) {
      const ThreadState& thread = here.threads[t];
      if (!thread.there || thread.over || !goes_round(here, t)) continue;
      const Behaviour::Node& node = behaviour_.node(thread.node);
      if (Behaviour::has_times(behaviour_.last_round(thread.node))) {
        behaviour_.note_waits(thread.node);
        continue;
      }
      HEDDLE_TRY(execute(Step::run(ThreadIndex(t), uint64_t{kRoundsOfWaiting} * node.round)));
      if (over_ || behaviour_.shared() != shared_) return {};
      behaviour_.note_waiting(thread.node);  // it was not learned if the thread left the loop to wait otherwise
    }
    if (const std::optional<Action> next = next_round_of_library(here)) {
      result_.progress.library_spins = true;
      stack_.back().actions = {*next};
      return {};
    }
    stack_.back().actions = choice_.find(here, result_.progress.awaits);
    if (!stack_.back().actions.empty()) return {};
    if (ends_.insert(Machine::inputs_hash(here)).second) ++result_.progress.ends;
    const auto waits = [&](const ThreadState& thread) { return thread.there && !thread.over; };
    if (here.exited || std::ranges::none_of(here.threads, waits)) return {};
    HEDDLE_TRY(execute());
    if (!over_ && !failed_ && behaviour_.shared() == shared_)
      end(ExploreResult::End::not_covered, "the program goes on where every thread seemed to wait");
    return {};
  }

  // A loop of the C++ library that spins before it waits, and has gone round often enough: it goes on alone.
  std::optional<Action> next_round_of_library(const MachineState& state) const {
    for (uint32_t t = 0; t < state.threads.size() && !state.exited; ++t) {
      const ThreadState& thread = state.threads[t];
      if (!thread.there || thread.over) continue;
      const Behaviour::Node& node = behaviour_.node(thread.node);
      if (node.waiting != Behaviour::Node::Waiting::no || !machine_.is_enabled(state, t)) continue;
      if (node.state == Behaviour::State::goes_on && !node.edges.empty() && node.rounds >= kRoundsOfSpinning &&
          options_.library_sites.contains(node.operation.site) && machine_.repeats(state, t))
        return Action{.thread = t};
    }
    return std::nullopt;
  }

  // For a reason that is not known yet.
  bool goes_round(const MachineState& state, uint32_t thread) const {
    return behaviour_.node(state.threads[thread].node).waiting == Behaviour::Node::Waiting::unknown &&
           machine_.goes_round(state, thread);
  }

  // ---- executions

  Schedule path(std::optional<Step> more) const {
    Schedule schedule{.header = header_};
    schedule.header.prefix = true;
    schedule.header.failure.clear();
    schedule.header.events.reset();
    schedule.header.values.clear();
    std::vector<uint32_t> index(behaviour_.thread_count(), UINT32_MAX);
    const std::function<ThreadIndex(uint32_t)> index_of = [&](uint32_t thread) {
      if (index[thread] == UINT32_MAX) {
        const ThreadName& name = behaviour_.name(thread);
        if (!name.is_main()) index_of(number_of(name.parent()));
        index[thread] = static_cast<uint32_t>(schedule.threads.size());
        schedule.threads.push_back({.name = name});
      }
      return ThreadIndex(index[thread]);
    };
    index_of(0);
    for (const Frame& frame : stack_) {
      if (frame.next == 0) break;  // entered just now
      const Action& action = frame.actions[frame.next - 1];
      const ThreadIndex thread = index_of(action.thread);
      Step step = Step::run(thread, 1);
      if (action.flush)
        step = options_.rules.memory_model == MemoryModel::pso
                   ? Step::flush(thread, Location::address(*action.flush), 1)
                   : Step::flush(thread, 1);
      if (action.timeout) step = Step::timeout(thread);
      if (!action.timeout && !schedule.steps.empty() && same_target(schedule.steps.back(), step))
        ++schedule.steps.back().count;
      else
        schedule.steps.push_back(step);
    }
    if (more) {
      more->thread = index_of(static_cast<uint32_t>(more->thread.index()));
      schedule.steps.push_back(*more);
    }
    return schedule;
  }

  uint32_t number_of(const ThreadName& name) const {
    for (uint32_t t = 0; t < behaviour_.thread_count(); ++t)
      if (behaviour_.name(t) == name) return t;
    return 0;
  }

  // Along the path of the search, with another step behind it if one is given (of a thread by its number
  // here), then on without preemptions.
  Result<void> execute(std::optional<Step> more = std::nullopt) {
    if (result_.progress.executions >= options_.executions) {
      end(ExploreResult::End::limit, "executions");
      return {};
    }
    const Schedule prefix = path(more);
    Execution run = HEDDLE_TRY(executor_.execute({.schedule = prefix.steps.empty() ? nullptr : &prefix,
                                                  .rules = options_.rules,
                                                  .keep_schedule = true,
                                                  .keep_events = true}));
    ++result_.progress.executions;
    failed_ = run.outcome == Outcome::failed;
    look();
    switch (run.outcome) {
      case Outcome::passed:
      case Outcome::failed:
        break;
      case Outcome::interrupted:
        end(ExploreResult::End::interrupted, "");
        return {};
      case Outcome::limit:
        end(ExploreResult::End::limit, "events of one execution");
        return {};
      case Outcome::diverged:
        if (more) return {};
        [[fallthrough]];
      default:
        end(ExploreResult::End::stopped, run.text);
        result_.last = std::move(run);
        return {};
    }
    if (header_.identity.empty()) header_ = run.schedule.header;
    if (std::string why = learn(run); !why.empty()) {
      if (run.outcome != Outcome::failed) end(ExploreResult::End::not_covered, std::move(why));
    }
    if (run.outcome == Outcome::failed) note_failure(std::move(run));
    return {};
  }

  std::string learn(const Execution& run) {
    if (!run.schedule_complete) return "a run of more steps than can be kept";
    std::vector<uint32_t> numbers;
    for (const ScheduleThread& thread : run.schedule.threads) numbers.push_back(behaviour_.thread(thread.name));
    for (const std::vector<heddle_event>* events : {&run.kept_events, &run.event_data})
      for (const heddle_event& each : *events)
        if (each.kind < HEDDLE_EVENT_sync && each.size != 0 && each.size <= kLargestAccess &&
            !(each.kind == HEDDLE_EVENT_call && each.order == HEDDLE_CALL_object))
          behaviour_.note_use(numbers[each.thread], each.address, each.size);
    MachineState state = machine_.begin();
    size_t event = 0, data = 0;
    for (size_t i = 0; i < run.schedule.steps.size(); ++i) {
      const Step& step = run.schedule.steps[i];
      const uint32_t thread = numbers[step.thread.index()];
      for (uint64_t k = 0; k < step.count; ++k) {
        switch (step.kind) {
          case StepKind::run: {
            if (event == run.kept_events.size()) return "";  // the last one failed on its way
            const heddle_event& performed = run.kept_events[event];
            const size_t first = data;
            while (data < run.event_data.size() && run.event_data[data].after == event) ++data;
            ++event;
            if (numbers[performed.thread] != thread) return "events and steps of a run do not agree";
            if (std::string why = machine_.follow(
                    state, performed, std::span(run.event_data).subspan(first, data - first), numbers);
                !why.empty())
              return why;
            break;
          }
          case StepKind::flush: {
            const std::vector<Store>& buffer = state.threads[thread].buffer;
            const uint64_t address = options_.rules.memory_model == MemoryModel::pso || buffer.empty()
                                         ? run.step_addresses[i]
                                         : buffer.front().address;
            if (std::ranges::find(buffer, address, &Store::address) == buffer.end())
              return "a store became visible that is not in the buffer";
            machine_.flush(state, thread, address);
            break;
          }
          case StepKind::timeout:
            if (std::string why = learn_next(state, run, event, step.thread.index(), numbers); !why.empty())
              return why;
            if (!machine_.may_time_out(state, thread)) return "a wait ran out of time that could have gone on";
            machine_.time_out(state, thread);
            break;
          case StepKind::wake:
            return "a wait that ends for no reason";
        }
      }
    }
    for (const heddle_event& pending : run.pending_events)
      if (std::string why = machine_.pending(state, pending, numbers); !why.empty()) return why;
    const auto end_at = [&](uint32_t thread, Behaviour::State how) {
      if (numbers[thread] < state.threads.size() && state.threads[numbers[thread]].there)
        behaviour_.add_state(state.threads[numbers[thread]].node, how);
    };
    if (run.outcome == Outcome::passed) {
      for (const heddle_event& each : run.kept_events)
        if (each.kind == int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_process_exit)
          end_at(each.thread, Behaviour::State::exits);
    } else if (run.failure->kind != "deadlock" && run.failure->kind != "lost-wakeup") {
      for (uint32_t t = 0; t < numbers.size(); ++t)
        if (run.schedule.threads[t].name == run.thread) end_at(t, Behaviour::State::failed);
    }
    return "";
  }

  // What a thread does next is known from its next event only.
  std::string learn_next(const MachineState& state, const Execution& run, size_t from, size_t thread,
                         const std::vector<uint32_t>& numbers) {
    for (size_t i = from; i < run.kept_events.size(); ++i)
      if (run.kept_events[i].thread == thread) return machine_.pending(state, run.kept_events[i], numbers);
    for (const heddle_event& pending : run.pending_events)
      if (pending.thread == thread) return machine_.pending(state, pending, numbers);
    return "";
  }

  void note_failure(Execution run) {
    const auto same = [&](const Execution& other) { return run.failed_as(other.failure->identity); };
    if (std::ranges::none_of(result_.failures, same)) result_.failures.push_back(std::move(run));
    if (!options_.find_all) end(ExploreResult::End::failure, "");
  }

  // ---- limits

  void end(ExploreResult::End how, std::string why) {
    over_ = true;
    result_.end = how;
    result_.why = std::move(why);
  }

  void look() {
    result_.progress.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_);
    tell_(result_.progress);
    if (over_) return;
    if (interrupted()) end(ExploreResult::End::interrupted, "");
    if (options_.time && result_.progress.elapsed >= *options_.time) end(ExploreResult::End::limit, "time");
    if (result_.progress.states >= options_.states) end(ExploreResult::End::limit, "states");
  }

  Executor& executor_;
  const ExploreOptions& options_;
  const std::function<void(const ExploreProgress&)>& tell_;
  Behaviour behaviour_;
  Machine machine_;
  PersistentSet choice_;
  const Clock::time_point start_;
  ScheduleHeader header_;
  std::vector<Frame> stack_;
  std::unordered_set<Hash128> visited_, ends_;
  ExploreResult result_;
  uint64_t shared_ = 0;  // words of memory, when the pass began
  bool failed_ = false;  // the last execution
  bool over_ = false;
};

}  // namespace

Result<ExploreResult> explore(Executor& executor, const ExploreOptions& options,
                              const std::function<void(const ExploreProgress&)>& progress) {
  return Explorer(executor, options, progress).run();
}

}  // namespace heddle
