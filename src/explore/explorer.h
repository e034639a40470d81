// Explores all interleavings of a program: every state that the threads' inputs (values of reads, results of
// synchronisation) can be in, hence every branch, assertion and failure.
//
// The equivalence is that of MCR (huang-dissertation chapter 3): executions in which all reads return the same
// values are one. Where MCR asks a solver, per trace, for interleavings in which a read returns something else,
// this searches the operational machine (machine.h) over what is known of the threads (behaviour.h), and
// executes the program only where nothing is known. So an execution is never repeated for the sake of an
// interleaving that brings nothing new to any thread, and there are usually far fewer executions than states.
//
//   - States are visited once: a fingerprint has where each thread stands in its tree, the memory that is read
//     later, buffers and synchronisation objects.
//   - At each state a persistent set of threads and buffers goes on (persistent_set.h). What threads will do is
//   taken
//     from their trees, which know only what was seen. Whatever is learned later may make an earlier choice too
//     small: therefore the search is repeated until a whole pass learns nothing. Then every choice was right:
//     the first conflict that had been overlooked would be reached, in a different order, behind the choice
//     itself, and would be in the tree.
//   - What ends the process (a failure, main's return) cuts the others short: where it is next, everybody goes
//   on.
//   - Every failure is shown by an execution. A state in which nobody can go on is executed to see whether the
//     program stands still there too.
//   - A thread that goes round a loop, reads the same each time and changes nothing, is run on alone; if it has
//     not left the loop after many rounds (behaviour.h), it is taken to wait for a change. That is an
//     assumption (the loop might count further), and is told.
//   - Every execution is carried out by the machine as well; where they differ, the result is undecided.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "explore/leaving.h"
#include "explore/machine.h"
#include "explore/prediction.h"
#include "explore/races.h"
#include "replay/executor.h"

namespace heddle {

// Which algorithm: docs/check.md.
enum class Algorithm : uint8_t {
  trees,       // of heddle's own: above
  mcr,         // maximal causality: seed_search.cpp
  mcr_s,       // the same, with values fixed only where something depends on them
  mcr_s_plus,  // the same, but fixed for all reads before the one that is to read something else
  se_mcr,      // without what is equivalent to what was explored
  icb,         // iterative context bounding
  dpor,        // dynamic partial-order reduction with sleep sets: dpor_search.cpp
};

struct ExploreOptions {
  Algorithm algorithm = Algorithm::trees;
  SeedEngine engine = SeedEngine::saturation;  // mcr, mcr-s, mcr-s+, se-mcr
  RunRules rules;
  bool find_all = false;                       // goes on behind the first failure
  std::unordered_set<uint32_t> output_sites;   // machine.h
  std::unordered_set<uint32_t> library_sites;  // code of the C++ library's headers
  std::unordered_set<uint32_t> retry_sites;    // that which tries locks again: behaviour.h, set_retries
  std::unordered_set<uint32_t> format_sites;   // that which sets the format of a stream: set_formats
  std::unordered_set<uint32_t>
      undefined_sites;                     // that which reads what was never written, and makes no use of it
  std::unordered_set<uint32_t> own_sites;  // reads whose results follow from the thread's history
  uint64_t executions = UINT64_MAX, states = UINT64_MAX;  // at most
  uint64_t preemptions = UINT64_MAX, depth = UINT64_MAX;  // of a schedule; events of one. Not trees, dpor
  std::optional<std::chrono::milliseconds> time;
  bool keep_outcomes = false;  // ExploreResult::outcomes
  // Trees: outcomes are counted while a pass has fewer states than that (merged_histories.h).
  uint64_t counted_states = 300'000;
  unsigned walks = 200;  // trees: at random before the first pass, until so many in a row have learned nothing
  bool races = true;     // look for them
  // What follows from single runs (prediction.h): not at all, where the exploration met a limit, instead of it.
  enum class Predict : uint8_t { never, at_limits, only } predict = Predict::never;
  const Assertions* assertions = nullptr;  // of the program
  // Not dpor: worker processes, each with an executor of its own; a journal (journal.h), begun or gone on with,
  // and its first line. Trees: how many states are a unit of work then.
  unsigned jobs = 1;
  std::function<std::unique_ptr<Executor>()> make_executor;
  std::string journal, resume, journal_head;
  uint64_t states_of_unit = 4096;
};

struct ExploreProgress {
  uint64_t executions = 0;
  uint64_t states = 0;  // of the machine, in this pass
  uint64_t ends = 0;    // different inputs at the end of the program, in this pass
  uint64_t passes = 0;
  uint64_t samples = 0;   // outcomes that were executed from beginning to end only to see that they are so
  uint64_t frontier = 0;  // seeds that are to be explored
  // As far as can be foreseen (branch_sizes.h), states of this pass, or executions where there are no passes;
  // 0: nothing can be said yet.
  uint64_t expected = 0;
  uint64_t redundant = 0;  // executions that ended like an earlier one, or were not needed to the end
  double solving = 0;      // seconds spent on finding seeds
  // Of runs that seeds were looked for in: how many needed no search; reads and sources that the engine was
  // asked about, and those that it ruled out.
  uint64_t expanded = 0, decided = 0, asked = 0, refuted = 0;
  uint64_t replaced = 0;         // workers that died
  bool merged = false;           // not all outcomes are told apart: merged_histories.h
  bool awaits = false;           // loops were taken to wait for others: behaviour.h, kRoundsOfWaiting
  bool library_retries = false;  // it gives locks back and tries again: behaviour.h, set_retries
  bool library_spins = false;    // the C++ library spun before it waited: library_spin.h
  bool stream_formats = false;   // threads set the format of the same stream: behaviour.h, set_formats
  std::chrono::milliseconds elapsed{};
};

struct ExploreResult {
  enum class End : uint8_t {
    all,      // everything was explored
    failure,  // the first one ended it
    limit,    // why: which
    interrupted,
    not_covered,  // why: what the machine does not have
    stopped,      // `last` says why
    predicted,    // nothing but what follows from single runs
  };
  End end = End::all;
  std::string why;
  uint32_t site = HEDDLE_NO_SITE;  // not_covered: where
  ExploreProgress progress;
  std::vector<Execution> failures;  // one for each identity
  Execution last;
  std::vector<Race> races;  // one for each pair of places
  std::vector<Prediction> predictions;
  uint64_t tried = 0;              // executions that were to show something predicted
  std::set<std::string> outcomes;  // what all reads returned in runs that ended well
};

Result<ExploreResult> explore(Executor& executor, const ExploreOptions& options,
                              const std::function<void(const ExploreProgress&)>& progress);

}  // namespace heddle
