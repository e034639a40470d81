#include "replay/few_preemptions.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "schedule/measures.h"
#include "schedule/schedule_check.h"

namespace heddle {
namespace {

using Run = std::shared_ptr<const Schedule>;

// The first steps of a run that was performed, the last of them perhaps not to its end, then another thread.
struct Variation {
  Run from;  // null: nothing is given
  size_t step = 0;
  uint64_t count = 0;
  ThreadIndex next;
};

class Search {
 public:
  Search(const std::string& identity, const ScheduleHeader& header, Executor& executor,
         const FewPreemptionsOptions& options)
      : identity_(identity),
        header_(header),
        executor_(executor),
        options_(options),
        waiting_(options.bound + 1) {
    header_.prefix = true;
    header_.failure.clear();
    header_.events.reset();
    header_.values.clear();
  }

  Result<FewPreemptionsResult> run() {
    for (uint64_t preemptions = 0; preemptions <= options_.bound && !result_.found; ++preemptions) {
      share_time(options_.bound + 1 - preemptions);
      if (preemptions == 0) HEDDLE_TRY(delay_each());
      while (!waiting_[preemptions].empty() && !result_.found && !over()) {
        const Variation variation = std::move(waiting_[preemptions].front());
        waiting_[preemptions].pop_front();
        HEDDLE_TRY(perform(variation, preemptions));
      }
    }
    return std::move(result_);
  }

 private:
  bool over() const {
    return result_.runs >= runs_ || std::chrono::steady_clock::now() >= deadline_ || options_.stop();
  }

  // Without preemptions there can be more schedules than time already.
  void share_time(uint64_t among) {
    const auto now = std::chrono::steady_clock::now();
    deadline_ = now + (options_.deadline - now) / static_cast<int64_t>(among);
    runs_ = result_.runs + (options_.runs - std::min(options_.runs, result_.runs)) / among;
  }

  // One thread never goes on while another can: far from the run without preemptions when there are many places
  // to vary, but often what a failure needs.
  Result<void> delay_each() {
    const Run first = HEDDLE_TRY(perform({}, 0));
    if (first == nullptr) return {};
    for (size_t i = 0; i < first->threads.size() && !result_.found && !over(); ++i)
      HEDDLE_TRY(delay(first->threads[i].name, first));
    return {};
  }

  Result<void> delay(const ThreadName& name, Run run) {
    for (size_t i = 0; i + 1 < run->steps.size() && !result_.found && !over(); ++i) {
      const Step& next = run->steps[i + 1];
      if (!is_forced(run->steps[i]) || next.kind != StepKind::run || next.thread != run->find(name)) continue;
      if (const Run other = HEDDLE_TRY(replaced(run, i)); other != nullptr) run = other;
    }
    return {};
  }

  // Some other thread than the one behind this step; null: none can go on.
  Result<Run> replaced(const Run& run, size_t step) {
    Run other;
    for (size_t next = 0; next < run->threads.size() && other == nullptr && !result_.found && !over(); ++next)
      if (ThreadIndex(next) != run->steps[step + 1].thread && ThreadIndex(next) != run->steps[step].thread)
        other = HEDDLE_TRY(perform({run, step, run->steps[step].count, ThreadIndex(next)}, 0));
    return other;
  }

  static bool is_forced(const Step& step) {
    return step.kind == StepKind::run && step.end != SegmentEnd::preempted;
  }

  Schedule prefix_of(const Variation& variation) const {
    const auto& steps = variation.from->steps;
    Schedule out{.header = header_, .threads = variation.from->threads};
    out.steps.assign(steps.begin(), steps.begin() + static_cast<ptrdiff_t>(variation.step + 1));
    out.steps.back().count = variation.count;
    if (variation.count != steps[variation.step].count) out.steps.back().end = SegmentEnd::preempted;
    out.steps.push_back(Step::run(variation.next, 1));
    return normalised(std::move(out));
  }

  // The run; null when there was none, or when the failure was found.
  Result<Run> perform(const Variation& variation, uint64_t preemptions) {
    ExecutionPlan plan{.strategy = Strategy::nonpreemptive(),
                       .rules = options_.rules,
                       .keep_schedule = true,
                       .deadline = deadline_};
    std::optional<Schedule> prefix;
    if (variation.from != nullptr) {
      prefix = prefix_of(variation);
      if (!check_schedule(*prefix)) return Run();  // a thread that cannot exist yet, most of all
      plan.schedule = &*prefix;
    }
    Execution execution = HEDDLE_TRY(executor_.execute(plan));
    ++result_.runs;
    if (execution.outcome != Outcome::passed && execution.outcome != Outcome::failed) return Run();
    if (!execution.schedule_complete || execution.schedule.steps.empty()) return Run();
    if (execution.failed_as(identity_) && measure(execution.schedule).preemptions <= options_.bound) {
      result_.found = std::move(execution);
      return Run();
    }
    const size_t begin = variation.from == nullptr ? 0 : variation.step + 1;
    Run run = std::make_shared<const Schedule>(std::move(execution.schedule));
    vary(run, begin, preemptions);
    return run;
  }

  // Places before `begin` have been varied with the run that this one comes from.
  void vary(const Run& run, size_t begin, uint64_t preemptions) {
    kept_steps_ += run->steps.size();
    if (kept_steps_ > kMostSteps) return;
    std::vector<bool> ended(run->threads.size());
    for (size_t i = 0; i < run->steps.size(); ++i) {
      const Step& step = run->steps[i];
      if (step.kind != StepKind::run) continue;
      const bool last = i + 1 == run->steps.size();
      for (size_t next = 0; i >= begin && next < ended.size(); ++next) {
        if (ended[next] || next == step.thread.index()) continue;
        if (preemptions < options_.bound)
          for (uint64_t count = 1; count < step.count && room(); ++count)
            waiting_[preemptions + 1].push_back({run, i, count, ThreadIndex(next)});
        if (is_forced(step) && !last && run->steps[i + 1].thread.index() != next && room())
          waiting_[preemptions].push_back({run, i, step.count, ThreadIndex(next)});
      }
      if (step.end == SegmentEnd::exited) ended[step.thread.index()] = true;
    }
  }

  // What will never be performed need not be kept.
  bool room() const {
    size_t all = 0;
    for (const auto& queue : waiting_) all += queue.size();
    return result_.runs + all < 4 * options_.runs;
  }

  static constexpr size_t kMostSteps = 1000000;  // of all runs that are varied: they stay in memory

  const std::string identity_;
  ScheduleHeader header_;
  Executor& executor_;
  const FewPreemptionsOptions& options_;
  std::vector<std::deque<Variation>> waiting_;  // by number of preemptions
  FewPreemptionsResult result_;
  std::chrono::steady_clock::time_point deadline_;  // of those with so many preemptions
  uint64_t runs_ = 0;
  size_t kept_steps_ = 0;
};

}  // namespace

Result<FewPreemptionsResult> look_with_few_preemptions(const std::string& identity,
                                                       const ScheduleHeader& header, Executor& executor,
                                                       const FewPreemptionsOptions& options) {
  return Search(identity, header, executor, options).run();
}

}  // namespace heddle
