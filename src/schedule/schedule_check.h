// What makes a schedule impossible whatever the program does.
//
// Used step by step by the reader, which knows the line, and for a whole schedule by whoever computes one. Only
// contradictions are reported: a schedule that passes may still ask for something the program does not do,
// which replay reports as a divergence.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedule/schedule.h"

namespace heddle {

struct ScheduleProblem {
  enum class Part : uint8_t {
    field,
    thread,
    count,
    location,
    verb
  };  // of the header, or of a thread or step line

  Part part = Part::field;
  std::string field;  // Part::field: key of the header line
  size_t item = 0;    // which of several lines with this key
  std::string what;
  std::string why;
};

class ScheduleChecker {
 public:
  using Answer = std::optional<ScheduleProblem>;

  // To be called once, before threads and steps; then the threads, then the steps, then finish().
  Answer header(const ScheduleHeader& header);
  Answer thread(const ThreadName& name);
  Answer step(const Step& step);
  Answer finish() const;

  // The thread of this name among those given so far.
  std::optional<ThreadIndex> find(const ThreadName& name) const;

 private:
  struct Thread {
    ThreadName name;
    std::optional<ThreadIndex> creator;
    uint64_t events = 0;
    uint64_t flushed = 0;
    bool exited = false;
  };

  Answer alive(const Thread& thread, StepKind kind) const;
  Answer run(const Step& step, Thread& thread);
  Answer flush(const Step& step, Thread& thread) const;

  MemoryModel model_ = MemoryModel::sc;
  bool prefix_ = false;
  std::optional<uint64_t> expected_events_;
  uint64_t events_ = 0;
  std::vector<Thread> threads_;
  std::unordered_map<ThreadName, ThreadIndex> index_;
};

// The first problem of the schedule; `where` of the error is "header", "thread N" or "step N", counted from 1.
Result<void> check_schedule(const Schedule& schedule);

}  // namespace heddle
