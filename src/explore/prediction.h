// Failures that follow from a run in which they did not happen: data races, null dereferences, uses after free,
// and assertions that would fail if a read returned what another write of the run has written. For programs
// that are too large to be explored, and explorations that met a limit.
//
// For each candidate a part of the run is looked for (run_needs.h) behind which it happens: both accesses of a
// race are next; the read returns the other value. That takes time linear in the run. The program is then
// executed that way. What an execution has shown is confirmed; what it has refuted is forgotten. What no part
// was found for is told as not confirmed, unless it cannot be (RunNeeds::may_be) or nothing says that it would
// fail: of an assertion, its condition has to be false for that value.
//
// A read and a value have several ways: the least before it; as much as possible (others stand before the write
// that it is not to see, so that what they have read is out of date: a lost update); the same with the thread's
// own locks taken only behind the write, where the run had it the other way round.
#pragma once

#include <functional>
#include <set>

#include "explore/races.h"
#include "explore/run_needs.h"
#include "program/assertions.h"

namespace heddle {

struct Prediction {
  enum class Kind : uint8_t { race, null_dereference, use_after_free, assertion };
  Kind kind = Kind::race;
  bool confirmed = false;
  RaceSide first, second;  // race: both; else the read (access), and the write (free) that it would meet
  uint32_t failing = HEDDLE_NO_SITE;  // not confirmed: the assertion; where the pointer is used
  uint64_t address = 0, value = 0;    // what would be read
  uint64_t load_base = 0;
  std::string failure;  // confirmed: its identity
};
std::string_view text_of(Prediction::Kind kind);

class Predictor {
 public:
  struct Means {
    std::function<Result<Execution>(const Schedule&)> execute;  // and what comes of it: failures, races
    std::function<bool(uint32_t site, uint32_t other)> has_race;
    std::function<bool()> is_over;  // out of time
    const Assertions* assertions = nullptr;
  };
  // `run` has events and schedule. All must outlive it.
  Predictor(const Execution& run, MemoryModel model, const Means& means, std::vector<Prediction>& out);

  Result<void> predict();

 private:
  using Part = RunNeeds::Part;
  struct Target {  // of a value
    Prediction::Kind kind;
    uint32_t failing = HEDDLE_NO_SITE;
    uint32_t assertion = UINT32_MAX;
  };

  Result<void> races();
  Result<void> frees();
  Result<void> values();
  Result<void> value(uint32_t event, const Target& target);
  enum class Shown : uint8_t { yes, no, not_tried };  // no: it was executed so, and nothing happened
  // `write`: that the read is to return, nothing: what was there before all of them; `next`: the write behind
  // it.
  Result<Shown> try_value(const Prediction& candidate, uint32_t action, const RunNeeds::Write* write,
                          const RunNeeds::Write* next);
  Result<Shown> show(Prediction candidate, const Schedule& schedule);
  bool would_fail(const Target& target, uint32_t event, uint64_t value) const;
  std::optional<uint32_t> use_of_pointer(uint32_t event) const;
  void note_relevant_reads();
  void note(Prediction prediction);
  RaceSide side(uint32_t event) const;
  uint32_t runs_between(uint32_t from, uint32_t to) const;

  const Execution& run_;
  const Means& means_;
  std::vector<Prediction>& out_;
  RunNeeds needs_;
  RaceFinder might_{RaceFinder::What::might};
  std::vector<std::vector<uint32_t>> of_thread_;  // events
  std::vector<uint32_t> place_;                   // of an event in that list
  std::set<uint32_t> relevant_;                   // events: reads that assertions depend on
  std::set<size_t> tried_;                        // schedules
  std::map<std::tuple<uint32_t, uint32_t, uint64_t>, unsigned> attempts_;
  std::map<std::pair<uint32_t, Prediction::Kind>, unsigned> reads_of_;  // by place
};

}  // namespace heddle
