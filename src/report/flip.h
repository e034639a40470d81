// One order of a failing run the other way round: a controlled run that does as the failing one did, but for
// two events.
#pragma once

#include <chrono>

#include "report/conflicts.h"
#include "report/run_order.h"

namespace heddle {

// What came of a run in which two events were put the other way round.
enum class FlipVerdict : uint8_t {
  passes,      // no failure
  fails,       // in the same way
  other,       // in another way
  impossible,  // the program does not let them come in this order
};
std::string_view text_of(FlipVerdict verdict);

class Flipper {
 public:
  // `identity`: of the failure. All must outlive it.
  Flipper(const RunOrder& order, Executor& executor, const RunRules& rules);

  // The thread of `first` stands still at `from` until the other thread has performed `second`; then it catches
  // up, and all goes on as it did.
  Result<FlipVerdict> flip(const ConflictPair& pair);
  // The same, and then the strategy decides: `seed` 0 is without preemptions, others are random.
  Result<FlipVerdict> flip_and_run_on(const ConflictPair& pair, uint64_t seed);
  // As it was up to and including `event`, then random.
  Result<FlipVerdict> keep_and_run_on(size_t event, uint64_t seed);

  // As it was up to the last event of the thread; then up to `events` of each other thread.
  Result<FlipVerdict> run_others_on(uint32_t thread, size_t events);

  // The store becomes visible as soon as it is performed (and so do those that must before it).
  Result<FlipVerdict> show_at_once(size_t store);
  // All stores do: the same order without store buffers.
  Result<FlipVerdict> without_buffers();

  // The last run.
  const Execution& last() const { return last_; }
  uint64_t runs() const { return runs_; }
  void stop_at(std::chrono::steady_clock::time_point deadline) { deadline_ = deadline; }
  bool over() const;

 private:
  std::vector<Moment> flipped(const ConflictPair& pair, size_t& reached) const;
  Result<FlipVerdict> run(const std::vector<Moment>& moments, Strategy strategy, uint64_t seed);
  bool is_flipped(const ConflictPair& pair) const;

  const RunOrder& order_;
  Executor& executor_;
  RunRules rules_;
  std::string identity_;
  Execution last_;
  uint64_t runs_ = 0;
  std::chrono::steady_clock::time_point deadline_ = std::chrono::steady_clock::time_point::max();
};

}  // namespace heddle
