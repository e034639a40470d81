#include "recording/flow_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <tuple>

#include "base/files.h"
#include "recording/flow_links.h"
#include "recording/recording_info.h"

namespace heddle {
namespace {

class Stream {
 public:
  explicit Stream(std::string_view bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }
  bool failed() const { return failed_; }
  size_t left() const { return rest_.size(); }

  uint8_t byte() {
    if (rest_.empty()) return failed_ = true, uint8_t{0};
    const auto byte = static_cast<uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return byte;
  }
  uint64_t number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t next = byte();
      value |= uint64_t{next & 0x7fu} << shift;
      if (next < 0x80) return value;
    }
    failed_ = true;
    return 0;
  }
  int64_t signed_number() {
    const uint64_t value = number();
    return static_cast<int64_t>(value >> 1 ^ (0 - (value & 1)));
  }
  std::string_view take(uint64_t bytes) {
    if (bytes > rest_.size()) return failed_ = true, std::string_view();
    const std::string_view out = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return out;
  }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

bool add_file(std::string_view told, FlowThread& thread) {
  heddle_flow_read read{};
  if (told.size() <= sizeof read) return false;
  std::memcpy(&read, told.data(), sizeof read);
  thread.files.insert({.device = read.device,
                       .inode = read.inode,
                       .size = read.size,
                       .seconds = read.seconds,
                       .nanoseconds = read.nanoseconds,
                       .path = std::string(told.substr(sizeof read))});
  return true;
}

void read_stream(std::string_view bytes, FlowThread& thread) {
  Stream stream(bytes);
  uint64_t number = 0;
  FlowVersion version;
  std::vector<uint64_t> last(HEDDLE_FLOW_SLOTS);
  while (!stream.at_end()) {
    const size_t at = bytes.size() - stream.left();
    const uint8_t tag = stream.byte();
    if (tag == HEDDLE_FLOW_edge) {
      number += stream.number();
      const uint64_t slot = stream.number();
      const int64_t step = stream.signed_number();
      if (!stream.failed() && slot < HEDDLE_FLOW_SLOTS) {
        const uint64_t after = last[slot] += static_cast<uint64_t>(step);
        thread.edges.push_back({.number = number, .slot = static_cast<uint32_t>(slot), .after = after});
        continue;
      }
    } else if (tag == HEDDLE_FLOW_version || tag == HEDDLE_FLOW_link) {
      version.number += stream.number();
      version.granule += static_cast<uint64_t>(stream.signed_number());
      const uint64_t slot = stream.number();
      version.after += static_cast<uint64_t>(stream.signed_number());
      version.read = tag == HEDDLE_FLOW_link;
      if (!stream.failed() && slot < HEDDLE_FLOW_SLOTS) {
        version.slot = static_cast<uint32_t>(slot);
        thread.versions.push_back(version);
        continue;
      }
    } else if (tag == HEDDLE_FLOW_outside) {
      stream.number();  // event
      const uint64_t what = stream.number();
      stream.signed_number();
      const std::string_view told = stream.take(stream.number());
      const bool is_file = what == HEDDLE_FLOW_read_file;
      if (!stream.failed() && (!is_file || add_file(told, thread))) {
        ++thread.outside;
        thread.outside_bytes += told.size();
        continue;
      }
    }
    thread.damage = fmt::format("the entry at byte {} is damaged", HEDDLE_FLOW_PAGE + at);
    return;
  }
}

}  // namespace

bool is_flow_recording(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_regular_file(folder / kFlowPlanFile, ignored) &&
         fs::is_regular_file(folder / kRecordingFile, ignored);
}

Result<FlowThread> read_flow_log(const fs::path& file) {
  const std::string bytes = HEDDLE_TRY(read_file(file));
  heddle_flow_thread head{};
  if (bytes.size() < HEDDLE_FLOW_PAGE)
    return Error{.what = "this is no log of a flow recording: it is too short", .where = file};
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != HEDDLE_FLOW_MAGIC || head.format != HEDDLE_FLOW_FORMAT || head.slot >= HEDDLE_FLOW_SLOTS)
    return Error{.what = "this is no log of a flow recording of this version", .where = file};
  head.name[sizeof head.name - 1] = 0;
  FlowThread thread{
      .name = head.name, .slot = head.slot, .first = head.first, .ended = head.ended != 0, .hash = head.hash};
  const uint64_t state = head.status & ((1u << HEDDLE_FLOW_STATE_BITS) - 1);
  thread.events = head.status >> HEDDLE_FLOW_STATE_BITS;
  thread.in_an_event = (state == HEDDLE_FLOW_direct || state == HEDDLE_FLOW_waiting) && thread.events > 0;
  if (thread.in_an_event) --thread.events;
  if (thread.events < thread.first)
    return Error{.what = "this log of a flow recording is damaged: it ends before it begins", .where = file};
  thread.hash_complete = state == HEDDLE_FLOW_done;
  thread.handed_over = head.handed_over;
  thread.barriers = head.barriers;
  thread.stop = head.stop;
  thread.stream_bytes = head.used;
  const std::string_view stream = std::string_view(bytes).substr(HEDDLE_FLOW_PAGE);
  if (head.used > stream.size()) thread.damage = "the file ends too early";
  read_stream(stream.substr(0, head.used), thread);
  return thread;
}

// The process may end while a thread is still making its log: it has done nothing then.
static bool has_begun(const fs::path& file) {
  heddle_flow_thread head{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(reinterpret_cast<char*>(&head), sizeof head);
  return stream.gcount() != 0 && (head.magic != 0 || head.stop != 0);
}

static std::pair<uint32_t, uint64_t> place_of(const FlowThread& thread) {
  return {thread.slot, thread.first};
}

static bool comes_before(const FlowThread& a, const FlowThread& b) {
  return std::tuple(a.slot, a.first, a.events) < std::tuple(b.slot, b.first, b.events);
}

const FlowThread* flow_thread_of(const std::vector<FlowThread>& threads, uint32_t slot, uint64_t number) {
  const auto next = std::ranges::lower_bound(threads, std::pair(slot, number), {}, place_of);
  if (next == threads.begin() || std::prev(next)->slot != slot) return nullptr;
  return &*std::prev(next);
}

Result<std::vector<FlowThread>> read_flow_logs(const fs::path& folder) {
  std::vector<FlowThread> threads;
  std::error_code code;
  for (fs::directory_iterator at(folder / kThreadsFolder, code), end; !code && at != end; at.increment(code))
    if (at->path().extension() == ".flow" && has_begun(at->path()))
      threads.push_back(HEDDLE_TRY(read_flow_log(at->path())));
  std::ranges::sort(threads, comes_before);
  for (size_t i = 1; i < threads.size(); ++i)
    if (threads[i].slot == threads[i - 1].slot && threads[i].first != threads[i - 1].events)
      return Error{.what = "threads of the recording that came one after the other do not fit together",
                   .where = folder,
                   .why = "the recording is damaged"};
  resolve_links(threads);
  return threads;
}

std::vector<std::string> flow_logs_cut_short(const fs::path& folder) {
  std::vector<std::string> reasons;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / kThreadsFolder, ignored)) {
    if (entry.path().extension() != ".flow" || !has_begun(entry.path())) continue;
    heddle_flow_thread head{};
    std::ifstream stream(entry.path(), std::ios::binary);
    if (stream.read(reinterpret_cast<char*>(&head), sizeof head) && head.stop == 0) continue;
    reasons.push_back(fmt::format(
        "the order of thread {} is not kept as a whole, so a replay does not come to its end: {}",
        entry.path().stem().string(), std::strerror(head.stop != 0 ? static_cast<int>(head.stop) : ENOSPC)));
  }
  std::sort(reasons.begin(), reasons.end());
  return reasons;
}

}  // namespace heddle
