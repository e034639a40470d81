#include "driver/reproduce.h"

#include <fmt/core.h>

#include "driver/hunt.h"
#include "driver/order_guide.h"
#include "driver/other_explanations.h"
#include "driver/own_places.h"
#include "replay/interrupt.h"
#include "solve/doubted_clocks.h"
#include "solve/reads_from.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr unsigned kOrdersOfOthers = 2;          // that are tried of each other explanation
constexpr std::chrono::seconds kShortestRun{2};  // a run that follows an order gets so much in any case
constexpr std::chrono::seconds kShortestShortening{1};

class Reproducer {
 public:
  Reproducer(const Trace& trace, const RecordedFailure& failure, Engine& engine, Executor& executor,
             const ReproduceOptions& options, const ReproduceEvents& events)
      : trace_(trace),
        failure_(failure),
        engine_(engine),
        executor_(executor),
        options_(options),
        rules_(options.rules),
        events_(events) {
    if (options.time) deadline_ = Clock::now() + *options.time;
  }

  Result<ReproduceResult> run() {
    for (const MemoryModel model : options_.models) {
      rules_.memory_model = model;
      if (options_.clocks && HEDDLE_TRY(attempt_with_clocks())) return finished();
      if (HEDDLE_TRY(attempt({}, options_.orders))) return finished();
      if (result_.end != ReproduceResult::End::impossible) break;
    }
    if (result_.end != ReproduceResult::End::impossible || !trace_.exact) HEDDLE_TRY(explain_otherwise());
    // Of a memory model that was chosen the proof counts. Else it happened, whatever the trace says.
    if (result_.end != ReproduceResult::End::reproduced && !interrupted() &&
        (result_.end != ReproduceResult::End::impossible || !trace_.exact || options_.models.size() > 1))
      HEDDLE_TRY(search());
    return finished();
  }

 private:
  Result<ReproduceResult> finished() {
    if (result_.end == ReproduceResult::End::impossible && !trace_.exact)
      result_.end = ReproduceResult::End::undecided;
    if (result_.end == ReproduceResult::End::reproduced) {
      HEDDLE_TRY(finish());
      HEDDLE_TRY(tell());
    }
    return std::move(result_);
  }

  // With all of them; if that is impossible, with all but those that contradict each other. Whether that was
  // the end.
  Result<bool> attempt_with_clocks() {
    ClockUse use = all_clocks(trace_);
    if (HEDDLE_TRY(attempt(use, options_.orders))) return true;
    if (result_.attempts.back().answer.verdict != SolveVerdict::impossible) return false;
    events_.progress("looking for stamps that contradict each other");
    Problem problem{.trace = &trace_, .model = rules_.memory_model};
    problem.use(use);
    SolveLimits limits{.deadline = deadline_, .stop = &interrupt_flag(), .jobs = options_.jobs};
    if (deadline_) limits.deadline = Clock::now() + (*deadline_ - Clock::now()) / 4;
    const DoubtedClocks doubted = find_doubted_clocks(problem, limits);
    if (interrupted()) return true;
    if (doubted.end != DoubtedClocks::End::some) return false;
    use.doubted = doubted.bounds;
    return attempt(use, options_.orders);
  }

  // What is tried here says nothing about the recording if it is no result.
  Result<void> explain_otherwise() {
    const ReproduceResult::End end = result_.end;
    OtherExplanations others(trace_, failure_);
    while (const std::optional<Explanation> other = others.next()) {
      if (interrupted() || (deadline_ && Clock::now() >= *deadline_)) return {};
      events_.progress("trying whether " + other->text);
      now_ = &*other;
      ClockUse use;
      if (options_.clocks) use = all_clocks(trace_);
      const bool ended =
          HEDDLE_TRY(attempt(use, kOrdersOfOthers)) || (use.clocks && HEDDLE_TRY(attempt({}, kOrdersOfOthers)));
      now_ = nullptr;
      if (ended) return {};
      result_.end = end;
    }
    return {};
  }

  Result<void> search() {
    const Clock::time_point end = Clock::now() + options_.search;
    StrategyMix mix({});
    while (!interrupted() && Clock::now() < end) {
      events_.progress(fmt::format("no order led there: looking for the failure, run {}", ++result_.searched));
      Execution run = HEDDLE_TRY(executor_.execute({.strategy = mix.of_next_run(),
                                                    .seed = result_.searched,
                                                    .rules = rules_,
                                                    .fresh = true,
                                                    .keep_schedule = true,
                                                    .deadline = end}));
      if (run.outcome != Outcome::failed) continue;
      const FailureMatch matched = match(failure_, *run.failure);
      if (matched == FailureMatch::none) continue;
      result_.matched = matched;
      result_.end = ReproduceResult::End::reproduced;
      result_.found_by_search = true;
      result_.confirmation.best = std::move(run);
      return {};
    }
    return {};
  }

  const Trace& trace() const { return now_ != nullptr ? now_->trace : trace_; }

  // Whether that was the end.
  Result<bool> attempt(const ClockUse& use, unsigned orders) {
    Problem problem{.trace = &trace(), .model = rules_.memory_model};
    problem.use(use);
    const Clock::time_point begin = Clock::now();
    SolveLimits limits{.deadline = deadline_, .stop = &interrupt_flag(), .jobs = options_.jobs};
    // What the clocks leave is little: if that takes long, they are wrong.
    if (use.clocks && deadline_) limits.deadline = begin + (*deadline_ - begin) / 2;
    limits.improve = options_.improve;
    limits.progress = events_.progress;
    for (unsigned order = 0; order < orders; ++order) {
      ReproduceAttempt attempt{.model = problem.model, .clocks = use};
      if (now_ != nullptr) attempt.explanation = now_->text;
      const Clock::time_point from = Clock::now();
      attempt.answer = engine_.solve(problem, limits);
      attempt.solving = std::chrono::duration_cast<milliseconds>(Clock::now() - from);
      const SolveVerdict verdict = attempt.answer.verdict;
      if (order != 0 && verdict == SolveVerdict::impossible) return interrupted();  // the orders before decide
      result_.attempts.push_back(std::move(attempt));
      if (verdict == SolveVerdict::found) {
        if (HEDDLE_TRY(follow(problem, result_.attempts.back()))) return true;
        if (result_.attempts.back().endless) return interrupted();  // the next would take as long
        continue;
      }
      const bool proved = verdict == SolveVerdict::impossible && !use.clocks;
      result_.end = proved ? ReproduceResult::End::impossible : ReproduceResult::End::undecided;
      return interrupted();
    }
    return interrupted();
  }

  // Whether that was the end; else the order is refuted.
  Result<bool> follow(Problem& problem, ReproduceAttempt& attempt) {
    OrderGuide order = HEDDLE_TRY(guide_of(trace(), attempt.answer.order));
    if (now_ != nullptr && now_->last) {
      order.guide.steps.push_back({.thread = *now_->last, .target = HEDDLE_TARGET_end});
      order.items.push_back(attempt.answer.order.empty() ? 0 : attempt.answer.order.size() - 1);
    }
    events_.progress("replaying");
    // Code outside the program may wait for another thread without saying so, and never come back.
    std::optional<Clock::time_point> until = deadline_;
    if (deadline_)
      until = Clock::now() + std::max<Clock::duration>((*deadline_ - Clock::now()) / 4, kShortestRun);
    Execution run = HEDDLE_TRY(executor_.execute(
        {.guide = &order.guide, .rules = rules_, .fresh = true, .keep_schedule = true, .deadline = until}));
    attempt.endless = run.outcome == Outcome::out_of_time;
    if (run.failure) result_.matched = match(failure_, *run.failure);
    if (run.outcome == Outcome::failed && result_.matched != FailureMatch::none) {
      result_.end = ReproduceResult::End::reproduced;
      result_.confirmation.best = std::move(run);
      return true;
    }
    attempt.replay = what_happened(run);
    result_.end = interrupted() ? ReproduceResult::End::undecided : ReproduceResult::End::not_reproduced;
    refute(problem, attempt.answer.order, order, run);
    return interrupted();
  }

  // By what led to the event that the run could not come to, as far as that is known.
  static void refute(Problem& problem, const std::vector<OrderItem>& items, const OrderGuide& order,
                     const Execution& run) {
    const std::optional<ReadsFrom> all = reads_from(problem, items);
    if (!all) return;
    ReadsFrom sources;
    if (run.outcome == Outcome::diverged && run.step != 0 && run.step <= order.items.size()) {
      const OrderItem& item = items[order.items[run.step - 1]];
      sources = sources_before(*all, {item.thread, item.event});
    }
    problem.refuted.push_back(sources.empty() ? *all : std::move(sources));
  }

  Result<void> finish() {
    events_.found(result_.confirmation.best);
    result_.confirmation =
        HEDDLE_TRY(confirm(std::move(result_.confirmation.best), executor_, rules_, options_.confirmations));
    events_.found(result_.confirmation.best);
    if (!options_.shorten || result_.confirmation.confirmed < options_.confirmations || interrupted())
      return {};
    events_.progress("looking for fewer switches");
    HEDDLE_TRY(shorten(result_.confirmation, executor_, rules_, time_for_shortening()));
    events_.found(result_.confirmation.best);
    return {};
  }

  // What is left of the time.
  milliseconds time_for_shortening() const {
    if (!deadline_) return options_.shorten_time;
    const auto left = std::chrono::duration_cast<milliseconds>(*deadline_ - Clock::now());
    return std::min(options_.shorten_time, std::max<milliseconds>(left, kShortestShortening));
  }

  // With what the threads did to shared memory, for people.
  Result<void> tell() {
    const Execution& best = result_.confirmation.best;
    if (!best.schedule_complete || interrupted()) return {};
    Execution run = HEDDLE_TRY(executor_.execute({.schedule = &best.schedule,
                                                  .rules = rules_,
                                                  .fresh = true,
                                                  .keep_schedule = true,
                                                  .keep_events = true}));
    if (!run.failed_as(best.failure->identity)) return {};
    // Where the block was released is told by a line of the program's own.
    const std::optional<size_t> released = release_event(run);
    if (released && !is_own(best.failure->other_place)) {
      const OwnPlaces own = HEDDLE_TRY(own_places(run, std::span(&*released, 1), executor_, rules_));
      if (!own.empty()) result_.confirmation.best.failure->other_place = own.begin()->second;
    }
    result_.told = std::move(run);
    return {};
  }

  const Trace& trace_;
  const RecordedFailure& failure_;
  Engine& engine_;
  Executor& executor_;
  const ReproduceOptions& options_;
  RunRules rules_;                    // with the memory model that is tried
  const Explanation* now_ = nullptr;  // that is tried; null: what the trace says
  const ReproduceEvents& events_;
  std::optional<Clock::time_point> deadline_;
  ReproduceResult result_;
};

}  // namespace

std::string what_happened(const Execution& run) {
  switch (run.outcome) {
    case Outcome::passed:
      return "the run that followed it passed";
    case Outcome::failed:
      return fmt::format("the run that followed it failed otherwise: {}", run.failure->identity);
    case Outcome::diverged:
      return fmt::format("no run can follow it: thread {} at {}: {}", run.thread.text(), place_text(run.place),
                         run.text);
    default:
      return fmt::format("the run that followed it did not come to an end{}{}", run.text.empty() ? "" : ": ",
                         run.text);
  }
}

Result<ReproduceResult> reproduce(const Trace& trace, const RecordedFailure& failure, Engine& engine,
                                  Executor& executor, const ReproduceOptions& options,
                                  const ReproduceEvents& events) {
  HEDDLE_CHECK(trace.failure.kind != FailurePredicate::Kind::none);
  return Reproducer(trace, failure, engine, executor, options, events).run();
}

}  // namespace heddle
