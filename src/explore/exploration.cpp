#include "explore/exploration.h"

#include <algorithm>
#include <tuple>

#include "replay/interrupt.h"

namespace heddle {

using Clock = std::chrono::steady_clock;

Exploration::Exploration(Executor& executor, const ExploreOptions& options,
                         const std::function<void(const ExploreProgress&)>& progress)
    : executor_(&executor),
      options_(options),
      tell_(progress),
      machine_(behaviour_, options.rules.memory_model, options.output_sites, options.undefined_sites),
      start_(Clock::now()) {
  behaviour_.set_library(&options.library_sites);
  behaviour_.set_retries(&options.retry_sites);
  behaviour_.set_formats(&options.format_sites);
}

Result<ExploreResult> Exploration::run() {
  using Predict = ExploreOptions::Predict;
  if (options_.predict != Predict::only) HEDDLE_TRY(search());
  look();
  if (!over_ && !result_.failures.empty()) result_.end = ExploreResult::End::failure;
  const bool was_cut =
      result_.end == ExploreResult::End::limit || result_.end == ExploreResult::End::not_covered;
  if (options_.predict == Predict::only || (options_.predict == Predict::at_limits && was_cut))
    HEDDLE_TRY(predict());
  result_.races = races_.found();
  // Of many races in long runs the first ones have stacks.
  constexpr auto kTimeForStacks = std::chrono::seconds(10);
  const Clock::time_point enough =
      Clock::now() + std::max<Clock::duration>(kTimeForStacks, Clock::now() - start_);
  for (Race& race : result_.races)
    if (!interrupted() && Clock::now() < enough)
      HEDDLE_TRY(find_stacks(race.schedule, race.first, race.second));
  result_.progress.library_retries = behaviour_.has_retries();
  result_.progress.stream_formats = behaviour_.has_formats();
  return std::move(result_);
}

// ---- what follows from single runs

// At a limit it takes a fifth of what the exploration has taken, and its executions do not count with the
// others.
Result<void> Exploration::predict() {
  constexpr uint64_t kRuns = 4;  // one without preemptions, others as they come
  constexpr auto kLeast = std::chrono::milliseconds(1000), kMost = std::chrono::milliseconds(30000);
  const bool only = options_.predict == ExploreOptions::Predict::only;
  const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_);
  const Clock::time_point end = Clock::now() + (only ? options_.time.value_or(std::chrono::seconds(60))
                                                     : std::clamp(spent / 5, kLeast, kMost));
  if (only) result_.end = ExploreResult::End::predicted;
  const auto is_over = [&] {
    return interrupted() || Clock::now() >= end || result_.end == ExploreResult::End::failure;
  };
  ExecutionPlan plan{.full_flushes = true,
                     .rules = options_.rules,
                     .keep_schedule = true,
                     .keep_events = true,
                     .deadline = end};
  const auto execute = [&](const ExecutionPlan& given) -> Result<Execution> {
    Execution run = HEDDLE_TRY(executor_->execute(given));
    if (only) ++result_.progress.executions;
    if (options_.races && !run.schedule.steps.empty()) races_.look_at(run);
    if (run.outcome == Outcome::failed) note_failure(run);
    return run;
  };
  const Predictor::Means means{
      .execute = [&](const Schedule& schedule) -> Result<Execution> {
        ++result_.tried;
        ExecutionPlan along = plan;
        along.schedule = &schedule;
        return execute(along);
      },
      .has_race = [&](uint32_t site, uint32_t other) { return !options_.races || races_.has(site, other); },
      .is_over = is_over,
      .assertions = options_.assertions};
  for (uint64_t i = 0; i < kRuns && !is_over(); ++i) {
    plan.strategy = i == 0 ? Strategy::nonpreemptive() : Strategy::random();
    plan.seed = i + 1;
    const Execution run = HEDDLE_TRY(execute(plan));
    if (run.outcome != Outcome::passed && run.outcome != Outcome::failed) {
      if (only && i == 0) {
        this->end(ExploreResult::End::stopped, run.text);
        result_.last = run;
      }
      return {};
    }
    plan.strategy = Strategy::nonpreemptive();
    const size_t known = result_.predictions.size();
    if (!is_over())
      HEDDLE_TRY(Predictor(run, options_.rules.memory_model, means, result_.predictions).predict());
    // Of what is not confirmed the stacks are those of this run.
    for (size_t k = known; k < result_.predictions.size(); ++k) {
      Prediction& each = result_.predictions[k];
      if (each.confirmed || interrupted()) continue;
      HEDDLE_TRY(find_stacks(run.schedule, each.first, each.second));
    }
  }
  if (only)
    result_.progress.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_);
  if (only && interrupted()) this->end(ExploreResult::End::interrupted, "");
  return {};
}

// Where the run stood at two of its events.
Result<void> Exploration::find_stacks(const Schedule& schedule, RaceSide& first, RaceSide& second) {
  const Execution run = HEDDLE_TRY(executor_->execute({.schedule = &schedule,
                                                       .rules = options_.rules,
                                                       .keep_schedule = true,
                                                       .keep_events = true,
                                                       .marked = {first.event + 1, second.event + 1}}));
  first.stack = run.marked_stacks[0];
  second.stack = run.marked_stacks[1];
  return {};
}

// ---- executions

Schedule Exploration::schedule_of(std::span<const Action> path, std::optional<Step> more) const {
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
  for (const Action& action : path) {
    const ThreadIndex thread = index_of(action.thread);
    Step step = Step::run(thread, 1);
    if (action.flush) step = Step::flush(thread, Location::address(*action.flush), 1);
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

uint32_t Exploration::number_of(const ThreadName& name) const {
  for (uint32_t t = 0; t < behaviour_.thread_count(); ++t)
    if (behaviour_.name(t) == name) return t;
  return 0;
}

Result<void> Exploration::execute(std::span<const Action> path, std::optional<Step> more) {
  last_ = {};
  if (result_.progress.executions >= options_.executions) {
    end(ExploreResult::End::limit, "executions");
    return {};
  }
  const Schedule prefix = schedule_of(path, more);
  Execution run = HEDDLE_TRY(executor_->execute({.schedule = prefix.steps.empty() ? nullptr : &prefix,
                                                 .full_flushes = true,
                                                 .rules = options_.rules,
                                                 .keep_schedule = true,
                                                 .keep_events = true}));
  ++result_.progress.executions;
  last_.failed = run.outcome == Outcome::failed;
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
      if (!more)
        end(ExploreResult::End::not_covered,
            "the program did something else in the same order, so it depends on more than that");
      return {};
    default:
      end(ExploreResult::End::stopped, run.text);
      result_.last = std::move(run);
      return {};
  }
  if (header_.identity.empty()) header_ = run.schedule.header;
  const auto knowledge = [&] {
    return std::tuple(behaviour_.size(), behaviour_.changes(), behaviour_.shared(), races_.found().size(),
                      result_.failures.size());
  };
  const auto before = knowledge();
  if (options_.races) races_.look_at(run);
  if (std::string why = learn(run); !why.empty()) {
    if (run.outcome != Outcome::failed) end(ExploreResult::End::not_covered, std::move(why), learning_);
  }
  if (run.outcome == Outcome::failed) note_failure(std::move(run));
  if (keeps_lessons_ && !more && knowledge() != before)
    lessons_.push_back({.path = {path.begin(), path.end()}});
  return {};
}

Result<void> Exploration::learn_again(const std::vector<Lesson>& lessons) {
  for (const Lesson& lesson : lessons) {
    if (over_) break;
    const uint64_t executions = result_.progress.executions;
    const std::optional<MachineState> state = lesson.loops ? state_after(lesson.path) : std::nullopt;
    if (state && has_open_loop(*state)) HEDDLE_TRY(look_at_loops(*state, lesson.path));
    if (!lesson.loops) HEDDLE_TRY(execute(lesson.path));
    result_.progress.executions = executions;  // whoever learned it first has counted them
  }
  return {};
}

constexpr size_t kEventsBetweenLooks = 256;      // at limits, while a run is learned
constexpr uint64_t kLargestFuture = 60'000'000;  // uses of 16 bytes

// By event: the one that its thread performed, or was about to perform, after it.
static std::vector<const heddle_event*> next_events(const Execution& run) {
  std::vector<const heddle_event*> out(run.kept_events.size());
  std::vector<const heddle_event*> of_thread(run.schedule.threads.size());
  for (const heddle_event& each : run.pending_events)
    if (each.thread < of_thread.size()) of_thread[each.thread] = &each;
  for (size_t i = out.size(); i-- > 0;) {
    const heddle_event& event = run.kept_events[i];
    if (event.thread >= of_thread.size()) continue;
    out[i] = of_thread[event.thread];
    of_thread[event.thread] = &event;
  }
  return out;
}

std::string Exploration::learn(const Execution& run) {
  if (!run.schedule_complete) return "a run of more steps than can be kept";
  std::vector<uint32_t> numbers;
  for (const ScheduleThread& thread : run.schedule.threads) numbers.push_back(behaviour_.thread(thread.name));
  for (const heddle_event& each : run.kept_events)
    if (each.kind == HEDDLE_EVENT_read && options_.own_sites.contains(each.site))
      behaviour_.note_own(each.address);
  for (const std::vector<heddle_event>* events : {&run.kept_events, &run.event_data})
    for (const heddle_event& each : *events)
      if (each.kind < HEDDLE_EVENT_sync && each.size != 0 && each.size <= kLargestAccess &&
          !(each.kind == HEDDLE_EVENT_call && each.order == HEDDLE_CALL_object))
        behaviour_.note_use(numbers[each.thread], each.address, each.size, each.site);
  if (behaviour_.has_mixed_formats()) return "the format of a stream in memory that is used otherwise, too";
  const std::vector<const heddle_event*> next = next_events(run);
  MachineState& state = last_.end = machine_.begin();
  size_t event = 0, data = 0;
  for (size_t i = 0; i < run.schedule.steps.size(); ++i) {
    const Step& step = run.schedule.steps[i];
    const uint32_t thread = numbers[step.thread.index()];
    for (uint64_t k = 0; k < step.count; ++k) {
      switch (step.kind) {
        case StepKind::run: {
          if (event == run.kept_events.size()) return "";  // the last one failed on its way
          if (!over_ && event % kEventsBetweenLooks == 0) {
            look();
            if (over_) return "";
          }
          const heddle_event& performed = run.kept_events[event];
          learning_ = performed.site;
          const size_t first = data;
          while (data < run.event_data.size() && run.event_data[data].after == event) ++data;
          ++event;
          if (numbers[performed.thread] != thread) return "events and steps of a run do not agree";
          if (performed.kind == int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_thread_cancel)  // does the other one wait?
            if (std::string why = learn_next(state, run, event, performed.second, numbers); !why.empty())
              return why;
          if (std::string why = machine_.follow(
                  state, performed, std::span(run.event_data).subspan(first, data - first), numbers);
              !why.empty())
            return why;
          if (next[event - 1] != nullptr && next[event - 1]->drained) machine_.drain(state, thread);
          last_.actions.push_back({.thread = thread});
          break;
        }
        case StepKind::flush: {
          const std::vector<Store>& buffer = state.threads[thread].buffer;
          const uint64_t address = run.step_addresses[i];
          const bool is_there = std::ranges::find(buffer, address, &Store::address) != buffer.end();
          // Of stores to private memory the machine need not know: those to a frame that ended are forgotten,
          // those to lent memory are early.
          if (!is_there && !behaviour_.is_private(address))
            return "a store became visible that is not in the buffer";
          if (is_there) machine_.flush(state, thread, address);
          if (behaviour_.is_private(address)) break;
          last_.actions.push_back({.thread = thread, .flush = address});
          break;
        }
        case StepKind::timeout:
          if (std::string why = learn_next(state, run, event, step.thread.index(), numbers); !why.empty())
            return why;
          if (!machine_.may_time_out(state, thread)) return "a wait ran out of time that could have gone on";
          machine_.time_out(state, thread);
          last_.actions.push_back({.thread = thread, .timeout = true});
          break;
        case StepKind::wake:
          return "a wait that ends for no reason";
      }
    }
  }
  for (const heddle_event& pending : run.pending_events) {
    learning_ = pending.site;
    if (std::string why = machine_.pending(state, pending, numbers); !why.empty()) return why;
  }
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
  last_.complete = true;
  return "";
}

// What a thread does next is known from its next event only.
std::string Exploration::learn_next(const MachineState& state, const Execution& run, size_t from, size_t thread,
                                    const std::vector<uint32_t>& numbers) {
  for (size_t i = from; i < run.kept_events.size(); ++i)
    if (run.kept_events[i].thread == thread) return machine_.pending(state, run.kept_events[i], numbers);
  for (const heddle_event& pending : run.pending_events)
    if (pending.thread == thread) return machine_.pending(state, pending, numbers);
  return "";
}

void Exploration::note_failure(Execution run) {
  const auto same = [&](const Execution& other) { return run.failed_as(other.failure->identity); };
  if (std::ranges::none_of(result_.failures, same)) result_.failures.push_back(std::move(run));
  if (!options_.find_all) end(ExploreResult::End::failure, "");
}

// ---- states

std::optional<uint32_t> Exploration::open_loop(const MachineState& state) const {
  for (uint32_t t = 0; t < state.threads.size() && !state.exited; ++t) {
    const ThreadState& thread = state.threads[t];
    if (!thread.there || thread.over) continue;
    const Behaviour::Node& node = behaviour_.node(thread.node);
    if (node.waiting == Behaviour::Node::Waiting::unknown && node.rounds >= kRoundsOfSpinning &&
        machine_.goes_round(state, t))
      return t;
  }
  return std::nullopt;
}

Result<void> Exploration::look_at_loops(const MachineState& state, std::span<const Action> path) {
  const uint64_t shared = behaviour_.shared();
  if (keeps_lessons_) lessons_.push_back({.loops = true, .path = {path.begin(), path.end()}});
  for (uint32_t t = 0; t < state.threads.size() && !state.exited; ++t) {
    const ThreadState& thread = state.threads[t];
    if (!thread.there || thread.over) continue;
    const Behaviour::Node& node = behaviour_.node(thread.node);
    if (node.waiting != Behaviour::Node::Waiting::unknown || !machine_.goes_round(state, t)) continue;
    if (Behaviour::has_times(behaviour_.last_round(thread.node))) {
      behaviour_.note_waits(thread.node);
      continue;
    }
    const bool is_known = behaviour_.knows_whether_waits(thread.node);
    if (!is_known)
      HEDDLE_TRY(execute(path, Step::run(ThreadIndex(t), uint64_t{kRoundsOfWaiting} * node.round)));
    if (over_ || behaviour_.shared() != shared) return {};
    behaviour_.note_waiting(thread.node);  // nothing was learned if the thread left the loop to wait otherwise
    if (!is_known && last_.complete && behaviour_.node(thread.node).waiting == Behaviour::Node::Waiting::no)
      note_run();
  }
  return {};
}

std::vector<Action> Exploration::all_actions(const MachineState& state) {
  std::vector<Action> out;
  if (state.exited) return out;
  for (uint32_t t = 0; t < state.threads.size(); ++t) {
    if (!state.threads[t].there) continue;
    if (!state.threads[t].over) {
      const bool waits = machine_.waits_in_loop(state, t);
      result_.progress.awaits |= waits;
      if (machine_.is_enabled(state, t) && !waits) out.push_back({.thread = t});
      if (machine_.may_time_out(state, t) && !waits) out.push_back({.thread = t, .timeout = true});
    }
    for (const Action& flush : machine_.flushes(state, t)) out.push_back(flush);
  }
  return out;
}

std::optional<MachineState> Exploration::state_after(std::span<const Action> path) const {
  MachineState state = machine_.begin();
  for (const Action& action : path)
    if (machine_.perform(state, action) == OperationalMachine::Step::unknown) return std::nullopt;
  return state;
}

bool Exploration::note_end(const Hash128& inputs) {
  const bool fresh = ends_.insert(inputs).second;
  result_.progress.ends += fresh;
  return fresh;
}

bool Exploration::note_end(const MachineState& state) {
  if (!note_end(machine_.inputs_hash(state))) return false;
  keep_outcome(state);
  return true;
}

void Exploration::keep_outcome(const MachineState& state) {
  const auto exits = [&](const ThreadState& thread) {
    return thread.there && behaviour_.node(thread.node).state == Behaviour::State::exits;
  };
  if (options_.keep_outcomes && std::ranges::any_of(state.threads, exits))
    result_.outcomes.insert(machine_.inputs_text(state));
}

void Exploration::forget_ends() {
  ends_.clear();
  result_.outcomes.clear();
  result_.progress.ends = 0;
}

// ---- limits

void Exploration::end(ExploreResult::End how, std::string why, uint32_t site) {
  over_ = true;
  result_.end = how;
  result_.why = std::move(why);
  result_.site = site;
}

void Exploration::look() {
  result_.progress.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_);
  result_.progress.expected = expected();
  if (!is_worker_) tell_(result_.progress);
  if (over_) return;
  if (interrupted()) end(ExploreResult::End::interrupted, "");
  if (options_.time && result_.progress.elapsed >= *options_.time) end(ExploreResult::End::limit, "time");
  if (result_.progress.states >= options_.states) end(ExploreResult::End::limit, "states");
  if (behaviour_.future_size() >= kLargestFuture) end(ExploreResult::End::limit, "memory");
}

Result<ExploreResult> explore(Executor& executor, const ExploreOptions& options,
                              const std::function<void(const ExploreProgress&)>& progress) {
  switch (options.algorithm) {
    case Algorithm::trees:
      return tree_search(executor, options, progress)->run();
    case Algorithm::dpor:
      return dpor_search(executor, options, progress)->run();
    default:
      return seed_search(executor, options, progress)->run();
  }
}

}  // namespace heddle
