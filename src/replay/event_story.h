// What a controlled run did to memory that its threads share, for people: which variable, and which value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replay/executor.h"

namespace heddle {

struct StoryEvent {
  size_t step = 0;   // of the run's schedule
  size_t event = 0;  // of Execution::kept_events
  std::optional<CodePlace> place;
  std::string what;         // "reads balance: 100"
  bool is_sync = false;     // no access: a lock, a wait
  bool of_another = false;  // it reads what another thread has written meanwhile
};

// The accesses to memory that more than one thread accesses and that changes then (with who wrote what is read,
// if it was another one), the end of blocks that
// others have used, locks and what else threads wait for, in their order. Of runs with
// ExecutionPlan::keep_events; of others nothing.
std::vector<StoryEvent> event_story(const Execution& run, const CodeNames& names);

// The variable that the event is about, or its address.
std::string object_name(uint64_t address, const Execution& run, const CodeNames& names);
// As a program would print it: small negative numbers as such, large ones and addresses in hexadecimal; "..."
// when it is larger than a word.
std::string value_text(uint64_t value, uint64_t size);
// "reads balance: 100". Of an access.
std::string access_text(const heddle_event& event, const Execution& run, const CodeNames& names);

// "locks m", "signals c", "frees the 8 bytes at ...". Of all but accesses; `thread`: that it is about, if any.
std::string operation_text(const heddle_event& event, const std::string& object, const std::string& thread);

}  // namespace heddle
