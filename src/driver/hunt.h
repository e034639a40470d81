// heddle hunt: controlled runs under varying strategies until one fails; the failure is confirmed in fresh
// processes, its schedule kept, then shortened.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "driver/confirm.h"
#include "replay/executor.h"

namespace heddle {

using std::chrono::milliseconds;

struct HuntOptions {
  RunRules rules;
  std::optional<Strategy> strategy;  // none: a mix of all
  uint64_t seed = 1;
  uint64_t runs = 100000;
  std::optional<milliseconds> time = std::chrono::seconds(60);
  bool shorten = true;
  milliseconds shorten_time = std::chrono::seconds(20);
  unsigned confirmations = 3;
};

// Which strategy runs when. Without a choice of the user: once without preemptions, then rounds of all
// strategies, one run each in the first round, twice as many in each round that follows (up to 1024): a slow
// program meets all of them soon, a fast one spends no time on changing. Run number n has seed + n, whatever
// the strategy, so hunts can be repeated.
class StrategyMix {
 public:
  struct Batch {
    Strategy strategy;
    uint64_t runs = 1;
  };
  explicit StrategyMix(std::optional<Strategy> only) : only_(only) {}
  Batch next();
  // For who performs runs one by one: the strategy of the next one. Not beside next().
  Strategy of_next_run();

 private:
  std::optional<Strategy> only_;
  uint64_t batch_ = 0;
  Batch begun_{.strategy = {}, .runs = 0};  // what is left of it
};

struct HuntState {
  uint64_t runs = 0;
  uint64_t events = 0;
  uint64_t longest = 0;  // events of the longest run seen at the end of a batch
  uint64_t cut_off = 0;  // runs that reached max_events
  uint64_t dropped = 0;  // failures that fresh processes did not show
  std::array<uint64_t, 256> exit_codes{};
  milliseconds elapsed{};
  std::string strategy;
};

// What hunt tells while it works; by default nothing.
struct HuntEvents {
  std::function<void(const HuntState&)> progress = [](const HuntState&) {};
  // A failure was found; called again with each better schedule: to be written at once.
  std::function<void(const Execution&)> found = [](const Execution&) {};
  std::function<void(const Execution&)> shortening = [](const Execution&) {};
  // Fresh processes did not show a failure that a process reset between runs had.
  std::function<void(const Execution&)> dropped = [](const Execution&) {};
};

struct HuntResult {
  enum class End { failure, all_runs, out_of_time, interrupted, stopped };  // stopped: `last` says why
  End end = End::all_runs;
  HuntState state;
  Execution last;             // failure: what was found first, or its shorter form
  Confirmation confirmation;  // failure
};

// Requires: an executor whose renewal can be made stronger by `distrust` (called when a failure is not
// confirmed; returns whether that changed anything).
Result<HuntResult> hunt(Executor& executor, const HuntOptions& options, const HuntEvents& events,
                        const std::function<bool()>& distrust);

}  // namespace heddle
