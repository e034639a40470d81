#include "driver/hunt.h"

#include <algorithm>

#include "replay/interrupt.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kLongestBatch = 1024;
constexpr milliseconds kProgressInterval{250};

class Hunter {
 public:
  Hunter(Executor& executor, const HuntOptions& options, const HuntEvents& events,
         const std::function<bool()>& distrust)
      : executor_(executor), options_(options), events_(events), distrust_(distrust), start_(Clock::now()) {}

  Result<HuntResult> run() {
    StrategyMix mix(options_.strategy);
    std::optional<Clock::time_point> deadline;
    if (options_.time) deadline = start_ + *options_.time;
    while (result_.state.runs < options_.runs) {
      StrategyMix::Batch batch = mix.next();
      batch.runs = std::min(batch.runs, options_.runs - result_.state.runs);
      if (HEDDLE_TRY(run_batch(batch, deadline))) return std::move(result_);
    }
    result_.end = HuntResult::End::all_runs;
    return std::move(result_);
  }

 private:
  // Whether the hunt is over.
  Result<bool> run_batch(StrategyMix::Batch batch, std::optional<Clock::time_point> deadline) {
    while (batch.runs > 0) {
      Execution execution = HEDDLE_TRY(executor_.execute({.strategy = batch.strategy,
                                                          .seed = options_.seed + result_.state.runs,
                                                          .runs = std::min(batch.runs, runs_between_looks()),
                                                          .rules = options_.rules,
                                                          .deadline = deadline}));
      note(execution, batch.strategy);
      batch.runs -= std::min(batch.runs, execution.runs);
      switch (execution.outcome) {
        case Outcome::passed:
          break;
        case Outcome::limit:
          ++result_.state.cut_off;
          break;
        case Outcome::failed:
          if (HEDDLE_TRY(found(std::move(execution)))) return true;
          break;
        case Outcome::interrupted:
          return over(HuntResult::End::interrupted, std::move(execution));
        case Outcome::out_of_time:
          return over(HuntResult::End::out_of_time, std::move(execution));
        case Outcome::diverged:
        case Outcome::uncontrolled:
        case Outcome::unsupported:
        case Outcome::died:
          return over(HuntResult::End::stopped, std::move(execution));
      }
      if (interrupted()) return over(HuntResult::End::interrupted, {});
      if (deadline && Clock::now() >= *deadline) return over(HuntResult::End::out_of_time, {});
    }
    return false;
  }

  // A batch is cut so that progress shows a few times per second; seeds follow the number of the run, so this
  // changes nothing else.
  uint64_t runs_between_looks() const {
    const HuntState& state = result_.state;
    const auto elapsed = static_cast<uint64_t>(std::max<int64_t>(state.elapsed.count(), 1));
    return std::max<uint64_t>(1, state.runs * kProgressInterval.count() / elapsed);
  }

  bool over(HuntResult::End end, Execution last) {
    result_.end = end;
    result_.last = std::move(last);
    return true;
  }

  void note(const Execution& execution, const Strategy& strategy) {
    HuntState& state = result_.state;
    state.runs += execution.runs;
    state.events += execution.total_events;
    state.longest = std::max(state.longest, execution.events);
    state.strategy = strategy.text();
    state.elapsed = std::chrono::duration_cast<milliseconds>(Clock::now() - start_);
    for (size_t i = 0; i < state.exit_codes.size(); ++i) state.exit_codes[i] += execution.exit_codes[i];
    events_.progress(state);
  }

  // Whether the failure is worth ending the hunt: it is, unless a stronger way of renewing processes exists
  // that does not show it.
  Result<bool> found(Execution execution) {
    Confirmation& confirmation = result_.confirmation;
    confirmation = HEDDLE_TRY(confirm(std::move(execution), executor_, options_.rules, options_.confirmations));
    if (confirmation.best.schedule_complete && confirmation.confirmed == 0 && !interrupted() && distrust_()) {
      ++result_.state.dropped;
      events_.dropped(confirmation.best);
      return false;
    }
    result_.end = HuntResult::End::failure;
    events_.found(confirmation.best);
    if (options_.shorten && confirmation.confirmed == options_.confirmations && !interrupted()) {
      events_.shortening(confirmation.best);
      HEDDLE_TRY(shorten(confirmation, executor_, options_.rules, options_.shorten_time));
      events_.found(confirmation.best);
    }
    result_.last = confirmation.best;
    return true;
  }

  Executor& executor_;
  const HuntOptions& options_;
  const HuntEvents& events_;
  const std::function<bool()>& distrust_;
  const Clock::time_point start_;
  HuntResult result_;
};

}  // namespace

StrategyMix::Batch StrategyMix::next() {
  const auto doubled = [](uint64_t times) { return times < 10 ? uint64_t{1} << times : kLongestBatch; };
  static const std::vector<Strategy> kRound = {Strategy::random(), Strategy::pct(2), Strategy::pos(),
                                               Strategy::pct(3),   Strategy::pct(4), Strategy::pct(5),
                                               Strategy::hold(),   Strategy::hold()};
  const uint64_t batch = batch_++;
  if (only_) return {*only_, doubled(batch)};
  if (batch == 0) return {Strategy::nonpreemptive(), 1};
  return {kRound[(batch - 1) % kRound.size()], doubled((batch - 1) / kRound.size())};
}

Strategy StrategyMix::of_next_run() {
  if (begun_.runs == 0) begun_ = next();
  --begun_.runs;
  return begun_.strategy;
}

Result<HuntResult> hunt(Executor& executor, const HuntOptions& options, const HuntEvents& events,
                        const std::function<bool()>& distrust) {
  return Hunter(executor, options, events, distrust).run();
}

}  // namespace heddle
