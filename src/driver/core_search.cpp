#include "driver/core_search.h"

#include <algorithm>
#include <memory>
#include <queue>

#include "driver/core_candidates.h"
#include "replay/interrupt.h"
#include "schedule/schedule_check.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

// What an event of a thread is called in all runs: the how-manieth of its kind at its place.
struct EventName {
  uint32_t thread, site;
  uint8_t kind;
  uint64_t occurrence;
};

// A run whose events can be cut at, by preempting a thread.
struct BaseRun {
  Schedule schedule;
  std::vector<heddle_event> events;
  std::vector<ThreadName> threads;
};
using Base = std::shared_ptr<const BaseRun>;

class Search {
 public:
  Search(const CoreCase& core, const PassingRun& passing, Executor& executor, const CoreSearchOptions& options,
         const std::function<void(const CoreSearchResult&)>& progress)
      : core_(core),
        passing_(passing),
        executor_(executor),
        options_(options),
        progress_(progress),
        first_(std::make_shared<BaseRun>(base_of(passing.execution))) {
    if (options.time) deadline_ = start_ + *options.time;
  }

  Result<CoreSearchResult> run() {
    if (check(passing_.execution)) {
      result_.last = passing_.execution;
      return finish(CoreSearchResult::End::found);
    }
    if (options_.order != CoreOrder::chess) HEDDLE_TRY(search(false));
    // What the core told was not enough, or was not asked for.
    if (!ended_) HEDDLE_TRY(search(true));
    return finish(ended_.value_or(CoreSearchResult::End::exhausted));
  }

 private:
  void collect(bool in_order) {
    in_order_ = in_order;
    points_ = preemption_points(passing_, in_order);
    singles_.clear();
    order_.clear();
    // Without a critical access there is nothing to disturb (line 23 of the algorithm).
    for (size_t i = 0; i < points_.points.size(); ++i)
      if (in_order || !points_.points[i].critical.empty()) order_.push_back(i);
    result_.candidates += order_.size();
    if (in_order) return;
    // The lightest first; of equal ones the later in the run.
    std::ranges::sort(order_, [&](size_t a, size_t b) {
      return std::pair(weight(a), points_.points[b].event) < std::pair(weight(b), points_.points[a].event);
    });
  }

  Result<void> search(bool in_order) {
    collect(in_order);
    // Singles and pairs by the sum of their weights: position i of the order, alone or with position j behind
    // it.
    using Entry = std::tuple<uint64_t, size_t, size_t>;  // weight, i, j + 1; 0: alone
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
    const auto add = [&](size_t i, size_t j) {
      if (i >= order_.size() || j > order_.size()) return;
      // The baseline tries all single preemptions before the first pair.
      const uint64_t sum = in_order_ ? (j == 0 ? i : order_.size() + i * order_.size() + j)
                                     : weight(order_[i]) + (j == 0 ? 0 : weight(order_[j - 1]));
      open.emplace(sum, i, j);
    };
    add(0, 0);
    while (!open.empty() && !ended_) {
      const auto [sum, i, j] = open.top();
      open.pop();
      if (j == 0) {
        add(i + 1, 0);
        if (options_.preemptions >= 2) add(i, i + 2);
        HEDDLE_TRY(try_single(order_[i]));
      } else {
        add(i, j + 1);
        HEDDLE_TRY(try_pair(order_[i], order_[j - 1]));
      }
    }
    return {};
  }

  uint64_t weight(size_t point) const { return points_.points[point].weight; }

  Result<CoreSearchResult> finish(CoreSearchResult::End end) {
    result_.end = end;
    result_.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_);
    return std::move(result_);
  }

  static BaseRun base_of(const Execution& execution) {
    BaseRun base{.schedule = execution.schedule,
                 .events = execution.kept_events,
                 .threads = thread_names(execution.created)};
    base.schedule.header.prefix = true;
    base.schedule.header.failure.clear();
    base.schedule.header.events.reset();
    base.schedule.header.values.clear();
    return base;
  }

  bool check(const Execution& execution) {
    if (execution.outcome != Outcome::failed || !execution.failure) return false;
    result_.matched = match(core_.failure, *execution.failure);
    return result_.matched != FailureMatch::none;
  }

  // Threads that may go on at a point instead, those that meet its critical accesses first.
  std::vector<uint32_t> others(const BaseRun& base, const PreemptionPoint& point, size_t event) const {
    std::vector<uint32_t> out;
    for (uint32_t thread = 0; thread < base.threads.size(); ++thread) {
      if (thread == point.thread) continue;
      const bool meets = in_order_ || point.critical.empty() || thread >= points_.accesses.size() ||
                         points_.accesses_later(thread, base.events.data() == first_->events.data() ? event : 0,
                                                point.critical);
      if (meets) out.push_back(thread);
    }
    return out;
  }

  // The steps of a run up to an event, then another thread.
  static std::optional<Schedule> cut(const BaseRun& base, size_t event, const ThreadName& next) {
    Schedule out{.header = base.schedule.header, .threads = base.schedule.threads, .steps = {}};
    uint64_t left = event;
    for (const Step& step : base.schedule.steps) {
      if (left == 0) break;
      out.steps.push_back(step);
      if (step.kind != StepKind::run) continue;
      if (step.count > left) {
        out.steps.back().count = left;
        out.steps.back().end = SegmentEnd::preempted;
      }
      left -= std::min(left, step.count);
    }
    std::optional<ThreadIndex> thread = out.find(next);
    if (!thread) {
      out.threads.push_back({.name = next, .start = {}, .created = {}});
      thread = ThreadIndex(out.threads.size() - 1);
    }
    out.steps.push_back(Step::run(*thread, 1));
    if (!check_schedule(out)) return std::nullopt;  // a thread that cannot exist yet, most of all
    return out;
  }

  // The run; null when nothing came of it.
  Result<Base> perform(const BaseRun& base, size_t event, uint32_t next) {
    const std::optional<Schedule> prefix = cut(base, event, base.threads[next]);
    if (!prefix) return Base();
    Execution execution = HEDDLE_TRY(executor_.execute({.strategy = Strategy::nonpreemptive(),
                                                        .schedule = &*prefix,
                                                        .rules = options_.rules,
                                                        .keep_schedule = true,
                                                        .keep_events = true,
                                                        .deadline = deadline_}));
    if (execution.outcome == Outcome::diverged) return Base();  // the other thread could not go on there
    ++result_.tries;
    result_.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_);
    progress_(result_);
    if (check(execution)) {
      result_.last = std::move(execution);
      ended_ = CoreSearchResult::End::found;
      return Base();
    }
    if (execution.outcome == Outcome::interrupted || interrupted())
      ended_ = CoreSearchResult::End::interrupted;
    else if (result_.tries >= options_.tries || execution.outcome == Outcome::out_of_time ||
             (deadline_ && Clock::now() >= *deadline_))
      ended_ = CoreSearchResult::End::limit;
    if (execution.outcome != Outcome::passed && execution.outcome != Outcome::failed) return Base();
    if (!execution.schedule_complete) return Base();
    return std::make_shared<const BaseRun>(base_of(execution));
  }

  Result<void> try_single(size_t number) {
    const PreemptionPoint& point = points_.points[number];
    for (const uint32_t next : others(*first_, point, point.event)) {
      if (ended_) break;
      HEDDLE_TRY(single(number, next));
    }
    return {};
  }

  Result<Base> single(size_t number, uint32_t next) {
    const auto [found, fresh] = singles_.try_emplace({number, next});
    if (fresh) {
      Base run = HEDDLE_TRY(perform(*first_, points_.points[number].event, next));
      if (run != nullptr && (kept_ += run->events.size()) < kMostKept) found->second = std::move(run);
    }
    return found->second;
  }

  EventName name_of(const PreemptionPoint& point) const {
    const heddle_event& event = first_->events[point.event];
    EventName name{event.thread, event.site, event.kind, 0};
    for (size_t i = 0; i <= point.event; ++i) name.occurrence += is_named(first_->events[i], name) ? 1 : 0;
    return name;
  }

  static bool is_named(const heddle_event& event, const EventName& name) {
    return event.thread == name.thread && event.site == name.site && event.kind == name.kind;
  }

  // Threads are numbered by their creation, which a preemption may change: those of the passing run and of the
  // other by their names.
  Result<void> try_pair(size_t one, size_t other) {
    if (points_.points[one].event > points_.points[other].event) std::swap(one, other);
    const PreemptionPoint &first = points_.points[one], &second = points_.points[other];
    for (const uint32_t next : others(*first_, first, first.event)) {
      if (ended_) return {};
      const Base base = HEDDLE_TRY(single(one, next));
      if (base == nullptr) continue;
      const EventName name = name_of(second);
      const auto thread = std::ranges::find(base->threads, first_->threads[name.thread]);
      if (thread == base->threads.end()) continue;
      EventName here = name;
      here.thread = static_cast<uint32_t>(thread - base->threads.begin());
      uint64_t seen = 0;
      size_t event = 0;
      while (event < base->events.size() && (!is_named(base->events[event], here) || ++seen < name.occurrence))
        ++event;
      if (event >= base->events.size() || event <= first.event) continue;
      PreemptionPoint point = second;
      point.thread = here.thread;
      for (const uint32_t then : others(*base, point, event)) {
        if (ended_) return {};
        HEDDLE_TRY(perform(*base, event, then));
      }
    }
    return {};
  }

  static constexpr size_t kMostKept = 50'000'000;  // events of runs that stay in memory

  const CoreCase& core_;
  const PassingRun& passing_;
  Executor& executor_;
  const CoreSearchOptions& options_;
  const std::function<void(const CoreSearchResult&)>& progress_;
  bool in_order_ = false;  // the present phase: in the order of the run, or by weight
  PreemptionPoints points_;
  const Clock::time_point start_ = Clock::now();
  std::optional<Clock::time_point> deadline_;
  Base first_;
  std::vector<size_t> order_;
  std::map<std::pair<size_t, uint32_t>, Base> singles_;
  size_t kept_ = 0;
  std::optional<CoreSearchResult::End> ended_;
  CoreSearchResult result_;
};

}  // namespace

Result<CoreSearchResult> search_core(const CoreCase& core, const PassingRun& passing, Executor& executor,
                                     const CoreSearchOptions& options,
                                     const std::function<void(const CoreSearchResult&)>& progress) {
  return Search(core, passing, executor, options, progress).run();
}

}  // namespace heddle
