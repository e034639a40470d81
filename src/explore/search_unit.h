// Units of work (decision D11): a path to go on from, by itself enough in any process. What carrying one out
// has brought: more units, what all reads returned at the ends that were reached.
//
// As text, for journals and between processes. A path: "0*3,0:1*2,0:1!4f00,0:2~" are three steps of thread 0,
// two of 0:1, its store to 0x4f00 becomes visible, the wait of 0:2 runs out of time.
#pragma once

#include <string>
#include <vector>

#include "explore/machine.h"

namespace heddle {

struct SearchUnit {
  uint64_t id = 0, parent = 0;
  uint64_t cost = 0;  // preemptions, where they are counted
  Hash128 key;        // of the state it leads to: the same one found elsewhere
  std::vector<Action> path;
};

// Something was learned of the threads by a run along the path; or by looking at the loops behind it.
struct Lesson {
  bool loops = false;
  std::vector<Action> path;
};

struct UnitReport {
  uint64_t id = 0;
  std::vector<SearchUnit> found;  // ids are given later
  uint64_t executions = 0, states = 0;
  double solving = 0;
  uint64_t expanded = 0, decided = 0, asked = 0, refuted = 0;  // ExploreProgress
  std::vector<Hash128> ends;                                   // what all reads returned
  std::vector<Lesson> lessons;                                 // in their order; where others need them
  bool awaits = false, library_spins = false;                  // ExploreProgress
  std::string cut_by;                                          // a bound that kept units away
  bool special = false;  // a failure, a race, or something that ends the search
  bool again = false;    // another pass is needed
  bool stale = false;    // it was given up: what is in the frontier is not wanted any more
};

// Threads have their names in texts, their numbers here.
std::string path_text(const std::vector<Action>& path, const Behaviour& behaviour);
Result<std::vector<Action>> parse_path(std::string_view text, Behaviour& behaviour);

std::string unit_line(const SearchUnit& unit, const Behaviour& behaviour);
Result<SearchUnit> parse_unit(std::string_view line, Behaviour& behaviour);

// All of a report: units, ends, lessons, and as the last line the report itself.
std::string report_block(const UnitReport& report, const Behaviour& behaviour);
// Line by line; true: it was the last.
Result<bool> parse_report_line(std::string_view line, UnitReport& report, Behaviour& behaviour);
Result<UnitReport> parse_block(std::string_view text, Behaviour& behaviour);

}  // namespace heddle
