// Where a run of a schedule does not do what it should: against the schedule's expectations, and against
// another run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "replay/executor.h"

namespace heddle {

struct Divergence {
  enum class Kind {
    steps,    // a step cannot be followed
    passed,   // no failure where one is expected
    failure,  // another failure
    length,   // the same failure after another number of events
    values,   // the same events with other values
    stopped,  // the run did not come to an end: limit, call that is not under control, ...
  };
  Kind kind = Kind::steps;
  uint64_t event = 0;              // number of events before it, as far as that is known
  std::optional<uint64_t> step;    // of the schedule, from 1
  std::string step_text;           // as it stands in the file
  std::optional<CodePlace> place;  // where the program stands
  std::string expected, actual;
  std::vector<std::string> causes;  // likely ones, the likeliest first

  std::string report() const;  // several lines
  Json to_json() const;
};

std::string_view text_of(Divergence::Kind kind);

// Whether the run did what the schedule's header expects: its failure, events and values. A header without a
// failure expects the schedule to be followed.
std::optional<Divergence> divergence_from(const Schedule& schedule, const Execution& run);

// The first difference between two runs of one schedule. `names` finds the places of events.
std::optional<Divergence> divergence_between(const Execution& first, const Execution& second,
                                             const CodeNames& names);

}  // namespace heddle
