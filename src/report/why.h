// Why a run failed: the pairs of events whose order decided it, and the pattern that they form.
//
// From the failing run, one ordered pair of conflicting events at a time is put the other way round (flip.h)
// and the program is run in that order. A pair is decisive when the failure goes away and no smaller flip (one
// that moves a part of the same events) makes it go away. So every claim is backed by runs, which are counted.
// The idea is that of Zeller's delta debugging of schedules (Choi and Zeller, ISSTA 2002), with pairs of
// conflicting events in the place of thread switches; the patterns are those of Lu et al. (ASPLOS 2008).
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "report/conflicts.h"
#include "report/flip.h"

namespace heddle {

enum class Pattern : uint8_t { unknown, atomicity, order, deadlock, lost_wakeup, store_buffer, race };
std::string_view text_of(Pattern pattern);  // "atomicity", "lost-wakeup"

struct DecisivePair {
  size_t first = 0, second = 0;  // events of the run; the first came before the second
  bool visibility = false;       // the second is a store: what counts is when it became visible
  ConflictPair flip;
  uint64_t flipped_passed = 0, flipped_runs = 0;  // with the order the other way round
  uint64_t kept_failed = 0, kept_runs = 0;        // with this order, then at random
};

struct Why {
  Pattern pattern = Pattern::unknown;
  std::vector<DecisivePair> decisive;  // those that the pattern is made of first
  // atomicity, race: the two events of one thread that should have been one; kNoEvent: there are none
  size_t local_first = kNoEvent, local_second = kNoEvent;
  bool unprotected = false;  // the decisive accesses are plain and have no lock in common: a data race
  uint64_t pairs = 0;        // that could have mattered
  uint64_t flips = 0;        // of them tried
  uint64_t impossible = 0;   // the program enforces the order
  uint64_t runs = 0;         // of the program, all in all
  bool finished = true;      // false: time or Ctrl-C ended it
};

struct WhyOptions {
  RunRules rules;
  std::chrono::milliseconds time = std::chrono::seconds(10);
  uint64_t confirmations = 8;  // runs for each decisive pair, each way
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

// Requires: a failed run whose events were kept. What its threads would have done next
// (Execution::pending_events) is completed from a passing run; the answer's events are numbered as in a
// RunOrder of the run after that.
Result<Why> explain(Execution& run, Executor& executor, const CodeNames& names, const WhyOptions& options);

}  // namespace heddle
