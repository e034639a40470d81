#include "replay/shorten.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "replay/few_preemptions.h"
#include "schedule/schedule_check.h"

namespace heddle {
namespace {

// A stretch of steps with the runs of one thread that belong together: all steps up to the next run of another
// one.
struct Segment {
  size_t begin = 0, end = 0;
  ThreadIndex thread;
};

std::vector<Segment> segments_of(const Schedule& schedule) {
  std::vector<Segment> segments;
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    const bool other =
        segments.empty() || (step.kind == StepKind::run && step.thread != segments.back().thread);
    if (other && step.kind == StepKind::run) {
      segments.push_back({i, i + 1, step.thread});
    } else if (!segments.empty()) {
      segments.back().end = i + 1;
    } else {
      segments.push_back({i, i + 1, step.thread});
    }
  }
  return segments;
}

Schedule as_prefix(const Schedule& schedule, std::vector<Step> steps) {
  Schedule out{.header = schedule.header, .threads = schedule.threads, .steps = std::move(steps)};
  out.header.prefix = true;
  out.header.failure.clear();
  out.header.events.reset();
  out.header.values.clear();
  return normalised(std::move(out));
}

// The steps of a stretch, thread by thread in the order in which they first appear.
std::vector<Step> gathered(const std::vector<Step>& steps, size_t begin, size_t end) {
  std::vector<ThreadIndex> order;
  std::map<ThreadIndex, std::vector<Step>> by_thread;
  for (size_t i = begin; i < end; ++i) {
    std::vector<Step>& own = by_thread[steps[i].thread];
    if (own.empty()) order.push_back(steps[i].thread);
    own.push_back(steps[i]);
  }
  std::vector<Step> out;
  for (const ThreadIndex thread : order)
    for (Step& step : by_thread[thread]) out.push_back(std::move(step));
  return out;
}

class Shortener {
 public:
  Shortener(Execution failing, Executor& executor, const ShortenOptions& options)
      : best_(std::move(failing)), identity_(best_.failure->identity), executor_(executor), options_(options) {}

  Result<ShortenResult> run() {
    bool improved = true;
    while (improved && !stopped()) {
      improved = false;
      for (const auto way : {&Shortener::cut, &Shortener::gather, &Shortener::run_on, &Shortener::look_anew})
        if (HEDDLE_TRY((this->*way)())) improved = true;
      if (!improved) improved = HEDDLE_TRY(look_everywhere());
    }
    return ShortenResult{.best = std::move(best_), .tries = tries_, .finished = !stopped()};
  }

 private:
  bool stopped() const { return std::chrono::steady_clock::now() >= options_.deadline || options_.give_up(); }
  const std::vector<Step>& steps() const { return best_.schedule.steps; }

  enum class Verdict { better, fails, other };  // fails: the same failure, but no shorter way to it

  Result<Verdict> attempt(std::vector<Step> candidate) {
    if (stopped()) return Verdict::other;
    const Schedule schedule = as_prefix(best_.schedule, std::move(candidate));
    // What cannot be followed by any program need not be tried.
    if (!check_schedule(schedule)) return Verdict::other;
    ++tries_;
    Execution execution = HEDDLE_TRY(executor_.execute({.strategy = Strategy::nonpreemptive(),
                                                        .schedule = &schedule,
                                                        .rules = options_.rules,
                                                        .deadline = options_.deadline}));
    if (!execution.failed_as(identity_) || !execution.schedule_complete) return Verdict::other;
    if (!is_shorter(execution.schedule, best_.schedule)) return Verdict::fails;
    best_ = std::move(execution);
    return Verdict::better;
  }

  // The least number of first steps that lead to the failure. Found by halving: more steps need not be better,
  // but mostly are.
  Result<bool> cut() {
    bool improved = false;
    size_t low = 0, high = steps().size();  // `high` steps are enough; fewer than `low` were not
    while (low < high && !stopped()) {
      const size_t middle = low + (high - low) / 2;
      const std::vector<Step> first(steps().begin(), steps().begin() + static_cast<ptrdiff_t>(middle));
      const Verdict verdict = HEDDLE_TRY(attempt(first));
      if (verdict == Verdict::better) {
        // The new schedule has the same first steps (made one where they met).
        improved = true;
        high = std::min(middle, steps().size());
        low = std::min(low, high);
      } else if (verdict == Verdict::fails) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return improved;
  }

  Result<bool> gather() {
    bool improved = false;
    size_t length = segments_of(best_.schedule).size();
    for (; length >= 3 && !stopped(); length = length / 2 + (length > 3 ? 1 : 0)) {
      for (size_t at = 0; !stopped();) {
        const std::vector<Segment> segments = segments_of(best_.schedule);
        if (at + 2 >= segments.size()) break;
        const size_t last = std::min(at + length, segments.size()) - 1;
        if (HEDDLE_TRY(gather_stretch(segments[at].begin, segments[last].end)))
          improved = true;  // and the same place again: there may be more
        else
          at += std::max<size_t>(1, length / 2);
      }
      if (length == 3) break;
    }
    return improved;
  }

  Result<bool> gather_stretch(size_t begin, size_t end) {
    const std::vector<Step> all = steps();
    const std::vector<Step> stretch = gathered(all, begin, end);
    if (std::equal(stretch.begin(), stretch.end(), all.begin() + static_cast<ptrdiff_t>(begin))) return false;
    std::vector<Step> candidate(all.begin(), all.begin() + static_cast<ptrdiff_t>(begin));
    candidate.insert(candidate.end(), stretch.begin(), stretch.end());
    const std::vector<Step> without_rest = candidate;
    candidate.insert(candidate.end(), all.begin() + static_cast<ptrdiff_t>(end), all.end());
    if (HEDDLE_TRY(attempt(std::move(candidate))) == Verdict::better) return true;
    return HEDDLE_TRY(attempt(without_rest)) == Verdict::better;
  }

  // For each preemption: the thread's next segment comes at once, or the interrupted one as late as that.
  Result<bool> run_on() {
    bool improved = false;
    for (size_t at = 0; !stopped(); ++at) {
      const std::vector<Segment> segments = segments_of(best_.schedule);
      if (at + 1 >= segments.size()) break;
      if (HEDDLE_TRY(give_up_preemption(segments, at))) {
        improved = true;
        at = at == 0 ? static_cast<size_t>(-1) : at - 1;  // what is there now, and before it
      }
    }
    return improved;
  }

  Result<bool> give_up_preemption(const std::vector<Segment>& segments, size_t at) {
    const std::vector<Step> all = steps();
    const auto part = [&](std::vector<Step>& out, size_t begin, size_t end) {
      out.insert(out.end(), all.begin() + static_cast<ptrdiff_t>(begin),
                 all.begin() + static_cast<ptrdiff_t>(end));
    };
    const Segment& segment = segments[at];
    std::vector<Step> candidate;
    part(candidate, 0, segment.end);
    if (HEDDLE_TRY(attempt(candidate)) == Verdict::better) return true;  // nothing but it from here on
    if (HEDDLE_TRY(preempt_earlier(segment, segments[at + 1].thread))) return true;
    size_t next = at + 1;
    while (next < segments.size() && segments[next].thread != segment.thread) ++next;
    if (next == segments.size()) return false;
    candidate.clear();
    part(candidate, 0, segment.end);
    part(candidate, segments[next].begin, segments[next].end);
    part(candidate, segment.end, segments[next].begin);
    part(candidate, segments[next].end, all.size());
    if (HEDDLE_TRY(attempt(std::move(candidate))) == Verdict::better) return true;
    candidate.clear();
    part(candidate, 0, segment.begin);
    part(candidate, segment.end, segments[next].begin);
    part(candidate, segment.begin, segment.end);
    part(candidate, segments[next].begin, all.size());
    return HEDDLE_TRY(attempt(std::move(candidate))) == Verdict::better;
  }

  // The one that preempts comes earlier, and then runs on.
  Result<bool> preempt_earlier(const Segment& segment, ThreadIndex next) {
    const std::vector<Step> all = steps();
    const uint64_t count = all[segment.begin].count;
    std::vector<Step> candidate(all.begin(), all.begin() + static_cast<ptrdiff_t>(segment.begin));
    if (all[segment.begin].kind != StepKind::run || count < 2) return false;
    candidate.push_back(all[segment.begin]);
    candidate.push_back(Step::run(next, 1));
    for (const uint64_t fewer : std::set{count - 1, count / 2, uint64_t{1}}) {
      candidate[segment.begin].count = fewer;
      if (HEDDLE_TRY(attempt(candidate)) == Verdict::better) return true;
    }
    return false;
  }

  // PCT of depth d preempts d - 1 times at most. Once for each depth: the same runs would come again.
  Result<bool> look_anew() {
    const uint64_t preemptions = measure(best_.schedule).preemptions;
    for (uint32_t depth = 1; depth <= std::min<uint64_t>(preemptions, kDeepest); ++depth) {
      if (!std::exchange(looked_[depth - 1], true) && HEDDLE_TRY(look_at_depth(depth))) return true;
    }
    return false;
  }

  Result<bool> look_at_depth(uint32_t depth) {
    bool improved = false;
    // A slow program has better use for the time.
    const auto now = std::chrono::steady_clock::now();
    const auto deadline = now + (options_.deadline - now) / 8;
    for (uint64_t done = 0; done < kRunsPerDepth && !stopped();) {
      Execution execution = HEDDLE_TRY(executor_.execute({.strategy = Strategy::pct(depth),
                                                          .seed = 1 + done,
                                                          .runs = kRunsPerDepth - done,
                                                          .rules = options_.rules,
                                                          .deadline = deadline}));
      tries_ += execution.runs;
      if (execution.outcome == Outcome::out_of_time || std::chrono::steady_clock::now() >= deadline) break;
      done += std::max<uint64_t>(execution.runs, 1);
      if (!execution.failed_as(identity_) || !execution.schedule_complete) continue;
      if (!is_shorter(execution.schedule, best_.schedule)) continue;
      best_ = std::move(execution);
      improved = true;
    }
    return improved;
  }

  // Below what the others have come to, when they are done. One preemption is good enough not to spend much on.
  Result<bool> look_everywhere() {
    const uint64_t preemptions = measure(best_.schedule).preemptions;
    if (preemptions == 0 || preemptions >= looked_below_ || stopped()) return false;
    looked_below_ = preemptions;
    const auto now = std::chrono::steady_clock::now();
    FewPreemptionsResult result =
        HEDDLE_TRY(look_with_few_preemptions(identity_, best_.schedule.header, executor_,
                                             {.bound = std::min<uint64_t>(preemptions - 1, kMostEverywhere),
                                              .runs = preemptions == 1 ? kRunsPerDepth : kRunsEverywhere,
                                              .deadline = now + (options_.deadline - now) / 8,
                                              .rules = options_.rules,
                                              .stop = options_.give_up}));
    tries_ += result.runs;
    if (!result.found || !is_shorter(result.found->schedule, best_.schedule)) return false;
    best_ = *std::move(result.found);
    return true;
  }

  static constexpr uint32_t kDeepest = 4;
  static constexpr uint64_t kMostEverywhere = 2;  // with more there are too many
  static constexpr uint64_t kRunsEverywhere = 100000;
  static constexpr uint64_t kRunsPerDepth = 1000;

  Execution best_;
  std::array<bool, kDeepest> looked_{};
  uint64_t looked_below_ = UINT64_MAX;
  const std::string identity_;
  Executor& executor_;
  const ShortenOptions& options_;
  uint64_t tries_ = 0;
};

}  // namespace

bool is_shorter(const Schedule& left, const Schedule& right) {
  const auto sizes = [](const Schedule& schedule) {
    const ScheduleMeasures m = measure(schedule);
    const auto flushes = std::ranges::count(schedule.steps, StepKind::flush, &Step::kind);
    return std::array<uint64_t, 5>{m.preemptions, m.switches, m.wakes + m.timeouts,
                                   static_cast<uint64_t>(flushes), m.events};
  };
  return sizes(left) < sizes(right);
}

Result<ShortenResult> shorten(Execution failing, Executor& executor, const ShortenOptions& options) {
  HEDDLE_CHECK(failing.outcome == Outcome::failed && failing.schedule_complete);
  return Shortener(std::move(failing), executor, options).run();
}

}  // namespace heddle
