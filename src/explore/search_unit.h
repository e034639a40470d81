// Units of work of the searches by seeds (decision D11): a path to run along, by itself enough to go on from, in any
// process. What carrying one out has brought: more units, what all reads returned at the end.
//
// As text, for journals and between processes. A path: "0*3,0:1*2,0:1!4f00,0:2~" are three steps of thread 0, two
// of 0:1, its store to 0x4f00 becomes visible, the wait of 0:2 runs out of time.
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

struct UnitReport {
  uint64_t id = 0;
  std::vector<SearchUnit> found;  // ids are given later
  uint64_t executions = 0, states = 0;
  double solving = 0;
  bool executed = false;  // `end` is there: what all reads returned
  Hash128 end;
  bool awaits = false;           // ExploreProgress
  std::string cut_by;            // a bound that kept units away
  bool special = false;          // a failure, a race, or something that ends the search
};

// Threads have their names in texts, their numbers here.
std::string path_text(const std::vector<Action>& path, const Behaviour& behaviour);
Result<std::vector<Action>> parse_path(std::string_view text, Behaviour& behaviour);

std::string unit_line(const SearchUnit& unit, const Behaviour& behaviour);
Result<SearchUnit> parse_unit(std::string_view line, Behaviour& behaviour);

// The line of the report itself, without what was found.
std::string report_line(const UnitReport& report);
Result<UnitReport> parse_report(std::string_view line);

}  // namespace heddle
