// Which events of a run conflict with what a thread does later in it.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "driver/event_conflict.h"

namespace heddle {

// Words of memory, and objects of synchronisation, that events concern.
class Places {
 public:
  void add(const heddle_event& event);
  bool conflict_with(const heddle_event& event) const;

 private:
  std::unordered_map<uint64_t, bool> places_;  // whether it is changed
};

class RunConflicts {
 public:
  // `pending`: what threads would have done next when the process ended.
  RunConflicts(const std::vector<heddle_event>& events, const std::vector<heddle_thread_entry>& threads,
               const std::vector<heddle_event>& pending);

  const std::vector<heddle_event>& events() const { return events_; }
  size_t threads() const { return own_.size(); }

  // It exists, has something left to do, and waits for nobody: in a run without preemptions a thread that was
  // left in the middle waits in its next synchronisation operation, or in its last one.
  bool can_go_on(uint32_t thread, size_t event) const;

  // The first event from this one on that conflicts with a later one of the thread; nothing: there is none
  // before the thread goes on anyway. What a thread that was left would have done matters anywhere.
  std::optional<size_t> matters_at(size_t event, uint32_t thread) const;

 private:
  struct Last {
    size_t any = 0, change = 0;  // behind the event
  };
  bool conflicts_later(size_t event, uint32_t thread) const;

  const std::vector<heddle_event>& events_;
  std::vector<std::vector<size_t>> own_;  // events by thread
  std::vector<size_t> born_;
  std::vector<bool> left_;                                                 // when the process ended
  std::unordered_map<uint64_t, std::unordered_map<uint32_t, Last>> last_;  // by place, and thread
};

}  // namespace heddle
