// A schedule: which thread performs its next events when, and when buffered stores become visible.
//
// An event is a shared access or a synchronisation operation (ARCHITECTURE.md, words). Steps count events of a
// thread instead of naming them: what a thread does next follows from what it did and read so far, so the order
// alone fixes the run. Stores under TSO and PSO are events when the thread performs them (they enter its
// buffer) and become visible by a `flush` step (huang-dissertation section 3.2.1, "update"); the replay
// algorithms of section 3.3.3 there find out by comparing addresses what is written down here.
//
// A schedule is a plain value. It may be wrong in itself: check_schedule() (schedule_check.h) says so, and
// read_schedule() (schedule_text.h) gives checked schedules only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "schedule/location.h"
#include "schedule/thread_name.h"

namespace heddle {

inline constexpr uint64_t kScheduleVersion = 1;

enum class MemoryModel : uint8_t { sc, tso, pso };
std::string_view text_of(MemoryModel model);
std::optional<MemoryModel> parse_memory_model(std::string_view text);

// A place in the source, for readers: no meaning, ignored when schedules are compared.
struct CodePlace {
  std::string file;  // not empty
  uint32_t line = 0;
  std::string function;  // may be empty

  friend bool operator==(const CodePlace&, const CodePlace&) = default;
};

struct ScheduleHeader {
  std::string program;   // file name of the executable
  std::string identity;  // Program::identity(): 32 hexadecimal digits
  std::string build_id;  // hexadecimal; empty when the executable has none
  MemoryModel memory_model = MemoryModel::sc;
  std::string folder;                    // where the program runs; absolute
  std::vector<std::string> command;      // argv, any bytes but NUL
  std::vector<std::string> environment;  // NAME=VALUE, on top of the standard environment of controlled runs
  std::string input;                     // file that each run reads as standard input, absolute; may be empty
  std::string strategy;                  // that made the schedule; may be empty
  std::optional<uint64_t> seed;
  bool prefix = false;             // after the last step the default strategy goes on
  std::string failure;             // identity of the expected failure, one line; empty: none known
  std::optional<uint64_t> events;  // expected number of events of the whole run
  std::string values;              // expected hash of the values at all events, hexadecimal; may be empty

  friend bool operator==(const ScheduleHeader&, const ScheduleHeader&) = default;
};

using ThreadIndex = Id<struct ScheduleThreadTag>;  // position in Schedule::threads

struct ScheduleThread {
  ThreadName name;
  std::string start;                 // start function; for readers
  std::optional<CodePlace> created;  // where its creator created it; for readers
};

enum class StepKind : uint8_t {
  run,      // the thread performs its next `count` events
  flush,    // its oldest `count` buffered stores (PSO: of those to `location`) become visible
  wake,     // spurious wake-up of a waiting thread
  timeout,  // its timed wait ends by its time
};

// Why another thread goes on after a run. Only `preempted` is a choice of the schedule.
enum class SegmentEnd : uint8_t { preempted, blocked, exited, yielded };

std::string_view text_of(StepKind kind);
std::string_view text_of(SegmentEnd end);

// Long random runs have millions of steps: what is rare or repeated is kept behind shared pointers.
struct Step {
  StepKind kind = StepKind::run;
  SegmentEnd end = SegmentEnd::preempted;  // run
  ThreadIndex thread;
  uint64_t count = 1;                        // run, flush
  std::shared_ptr<const Location> location;  // flush under PSO
  std::shared_ptr<const CodePlace> place;    // where the thread stands before the step; for readers

  static Step run(ThreadIndex thread, uint64_t count, SegmentEnd end = SegmentEnd::preempted);
  static Step flush(ThreadIndex thread, uint64_t count);
  static Step flush(ThreadIndex thread, Location location, uint64_t count);
  static Step wake(ThreadIndex thread) { return {.kind = StepKind::wake, .thread = thread}; }
  static Step timeout(ThreadIndex thread) { return {.kind = StepKind::timeout, .thread = thread}; }
};

// Whether two steps do the same; `place` and the names behind the thread indexes are not looked at.
bool operator==(const Step& left, const Step& right);

// Whether both flush the same buffer or, for other kinds, do the same to the same thread. Counts and ends may
// differ.
bool same_target(const Step& left, const Step& right);

struct Schedule {
  ScheduleHeader header;
  std::vector<ScheduleThread> threads;  // creators before what they created
  std::vector<Step> steps;

  std::optional<ThreadIndex> find(const ThreadName& name) const;
  const ThreadName& name_of(ThreadIndex thread) const { return threads[thread.index()].name; }
};

// Equal in all but what is for readers; the order in which threads are listed does not matter.
bool operator==(const Schedule& left, const Schedule& right);

}  // namespace heddle
