// The files threads/NAME.flow of a flow recording (abi/flow.h): how far each thread came, and which of its
// events came after which of other threads. Every byte may be wrong: a file is read up to its first mistake,
// which is said.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "abi/flow.h"
#include "base/result.h"

namespace heddle {

constexpr std::string_view kFlowPlanFile = "flow";
constexpr std::string_view kFlowStepsFile = "steps";
constexpr std::string_view kFlowRecordedLink = "recorded";

// Event `number` of the thread came after event `after` of the thread with this slot.
struct FlowEdge {
  uint64_t number = 0;
  uint32_t slot = 0;
  uint64_t after = 0;
  friend bool operator==(const FlowEdge&, const FlowEdge&) = default;
};

// Of a recording by Stride (recording/flow_links.h): event `number` of the thread wrote the granule after event
// `after` of the thread with this slot had (0: nobody), or read what that one had written.
struct FlowVersion {
  uint64_t number = 0, granule = 0;
  uint32_t slot = 0;
  uint64_t after = 0;
  bool read = false;
  friend bool operator==(const FlowVersion&, const FlowVersion&) = default;
};

// A file that was read, as it was; what was read is not in the log (recording/flow_files.h).
struct FlowFile {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t seconds = 0, nanoseconds = 0;  // of its last change
  std::string path;
  friend auto operator<=>(const FlowFile&, const FlowFile&) = default;
};

struct FlowThread {
  std::string name;
  uint32_t slot = 0;
  uint64_t first = 0;         // events of the threads that had its slot before (runtime/flow/slots.c)
  uint64_t events = 0;        // number of the last that it has done
  bool in_an_event = false;   // the run ended while it was at the next
  bool hash_complete = true;  // it has the values of all its events
  bool ended = false;         // by itself
  uint64_t hash = 0;          // of the values that its events read
  uint64_t stream_bytes = 0, outside = 0, outside_bytes = 0;
  uint64_t handed_over = 0, barriers = 0;
  uint32_t stop = 0;   // errno of why the stream ends early; 0: it does not
  std::string damage;  // empty: none
  std::vector<FlowEdge> edges;
  std::vector<FlowVersion> versions;
  std::set<FlowFile> files;

  uint64_t performed() const { return events - first; }
};

// Of threads in order of slots and events: the one that performed this event of the slot, or nullptr.
const FlowThread* flow_thread_of(const std::vector<FlowThread>& threads, uint32_t slot, uint64_t number);

bool is_flow_recording(const std::filesystem::path& folder);
Result<FlowThread> read_flow_log(const std::filesystem::path& file);
// Of a recording's folder, in order of slots; those of one slot one after the other.
Result<std::vector<FlowThread>> read_flow_logs(const std::filesystem::path& folder);
// Why logs of the folder end early, a line for each: the disk was full. Reads their first pages only.
std::vector<std::string> flow_logs_cut_short(const std::filesystem::path& folder);

}  // namespace heddle
