// How a controlled run failed: kind, thread, place, stack, and a one-line identity by which two runs are
// compared.
//
// The identity is the same for every run that fails in the same way: it holds source places and texts, no
// addresses and no numbers of events. `assert account.c:52 main: balance == 200`
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "abi/control.h"
#include "base/json.h"
#include "replay/answer.h"
#include "schedule/schedule.h"

namespace heddle {

struct StackFrame {
  std::string function;            // demangled, short
  std::optional<CodePlace> place;  // where in it

  std::string text() const;
};

// What failures need to know about the program: names instead of numbers.
class CodeNames {
 public:
  virtual ~CodeNames() = default;
  // A place in the program's own code; nothing for HEDDLE_NO_SITE and unknown numbers.
  virtual std::optional<CodePlace> place_of_site(uint32_t site) const = 0;
  // Frames of the program's own functions at a code address of the process; empty for libraries and the
  // runtime. `exact`: the instruction itself, not the one behind it.
  virtual std::vector<StackFrame> frames_of(uint64_t address, uint64_t load_base, bool exact) const = 0;
  // "name" or "name+8" of a global variable; empty when the address is in none.
  virtual std::string variable_at(uint64_t address, uint64_t load_base) const = 0;
  // Name of the function that begins there; empty when it is not in the program.
  virtual std::string function_at(uint64_t address, uint64_t load_base) const = 0;
  // Where the file of a place lies.
  virtual std::string source_path(const std::string& file) const { return file; }
};

// A thread that waits when everything stands still.
struct WaitingThread {
  ThreadName thread;
  std::string kind;    // "mutex_lock"
  std::string object;  // a variable, or an address; empty when it waits for a thread
  std::optional<ThreadName> holder;
  std::optional<CodePlace> place;

  std::string text() const;
};

struct Failure {
  std::string
      kind;  // assert, abort, exception, segv, ..., deadlock, lost-wakeup, use-after-free, exit:3, livelock
  ThreadName thread;
  std::optional<CodePlace> place;
  std::vector<StackFrame> stack;  // innermost first
  std::string text;               // condition of an assertion, type and text of an exception
  std::vector<WaitingThread> waits;
  std::string address;                   // that was accessed or freed; empty where it means nothing
  std::optional<ThreadName> other;       // who freed the memory before
  std::optional<CodePlace> other_place;  // and where
  std::string identity;

  std::string report() const;  // several lines for people
  Json to_json() const;
};

// "file:line function", "function" or "?"; the form that identities are made of.
std::string place_text(const std::optional<CodePlace>& place);
Json place_json(const std::optional<CodePlace>& place);

// Frames of the program's own functions where the run stopped, innermost first.
std::vector<StackFrame> stack_of(const heddle_result& result, const CodeNames& names);
std::vector<StackFrame> stack_of(std::span<const uint64_t> addresses, uint64_t load_base, const CodeNames& names);

// The failure that an answer tells of; nothing when its outcome is none.
std::optional<Failure> failure_of(const Answer& answer, const std::vector<ThreadName>& threads,
                                  const CodeNames& names);

// Name of an enum heddle_sync_kind.
std::string sync_name(uint32_t kind);

}  // namespace heddle
