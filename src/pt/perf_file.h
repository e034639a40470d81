// perf.data: what the kernel and perf record write beside and around Intel PT packets.
//
// Both forms are read: the file (attributes and features by offsets in its head) and the pipe (everything is a
// record). Layout: tools/perf/Documentation/perf.data-file-format.txt and include/uapi/linux/perf_event.h of
// Linux; numbers are little endian.
//
// No byte is trusted. A head that cannot be read is an error; from damage further on, what stands before it is
// kept, and the damage is told with its offset. Records of unknown types are skipped by their size.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace heddle {

// One event that perf was asked to count or trace (struct perf_event_attr), as far as reading needs it.
struct PerfAttribute {
  uint32_t type = 0;
  uint64_t config = 0;
  uint64_t sample_type = 0;
  bool sample_id_all = false;   // records carry PerfSampleId
  bool exclude_kernel = false;  // user space only
  bool context_switch = false;
  std::vector<uint64_t> ids;
  std::string name;  // if the file tells
};

// Who, when and where, at the end of each record of the kernel. Fields that were not asked for are empty.
struct PerfSampleId {
  std::optional<uint32_t> pid, tid, cpu;
  std::optional<uint64_t> time;  // perf's clock: nanoseconds
};

struct PerfMapping {
  uint32_t pid = 0, tid = 0;
  uint64_t begin = 0, size = 0, file_offset = 0;
  uint32_t protection = 0;  // PROT_*; 0: not told
  bool executable = false;
  std::string file;
  std::string build_id;  // hexadecimal; empty: not told here
};
struct PerfName {
  uint32_t pid = 0, tid = 0;
  bool exec = false;  // the process runs another program from here on
  std::string name;
};
struct PerfFork {
  uint32_t pid = 0, parent_pid = 0, tid = 0, parent_tid = 0;
};
struct PerfExit {
  uint32_t pid = 0, tid = 0;
};
// A thread (`sample.tid`) goes onto a core or leaves it.
struct PerfSwitch {
  bool out = false, preempted = false;
  std::optional<uint32_t> other_pid, other_tid;  // SWITCH_CPU_WIDE: who comes next, or was there before
};
struct PerfTraceStart {
  uint32_t pid = 0, tid = 0;
};
// The kernel says that trace data was written to a core's buffer.
struct PerfAux {
  static constexpr uint64_t kTruncated = 1, kOverwrite = 2, kPartial = 4, kCollision = 8;
  uint64_t offset = 0, size = 0, flags = 0;
};
struct PerfLost {
  uint64_t records = 0;
};

struct PerfEvent {
  uint64_t offset = 0;  // of the record; in compressed files, of the record it was compressed into
  PerfSampleId sample;
  std::variant<PerfMapping, PerfName, PerfFork, PerfExit, PerfSwitch, PerfTraceStart, PerfAux, PerfLost> what;
};

// A piece of trace data: of one core, or of one thread on any core.
struct PerfTraceData {
  uint64_t offset = 0;    // of the bytes in the file
  uint64_t position = 0;  // of the bytes in the stream of its buffer; meaningless for snapshots
  uint64_t reference = 0;
  uint32_t buffer = 0;
  std::optional<uint32_t> tid, cpu;
  std::string_view bytes;
};

// What perf tells of the PT unit (AUXTRACE_INFO), and how perf's clock and the time stamp counter belong
// together.
struct PerfTraceInfo {
  uint32_t event_type = 0;  // PerfAttribute::type of the PT event
  uint16_t time_shift = 0;
  uint32_t time_multiplier = 0;
  uint64_t time_zero = 0;
  bool time_is_known = false;
  bool snapshot = false, per_cpu = false;
  uint64_t mtc_bit = 0, mtc_frequency_bits = 0;
  uint32_t tsc_ctc_numerator = 0, tsc_ctc_denominator = 0;
  uint64_t max_non_turbo_ratio = 0;
  std::string filter;

  uint64_t time_of(uint64_t tsc) const;  // perf's clock
  uint64_t tsc_of(uint64_t time) const;
};

struct PerfDamage {
  uint64_t offset = 0;
  std::string text;
};

struct PerfFile {
  static constexpr uint32_t kIntelPt = 1;  // of AUXTRACE_INFO

  std::vector<PerfAttribute> attributes;
  std::vector<PerfEvent> events;  // in the order of the file: of each core in the order of time
  std::vector<PerfTraceData> traces;
  std::optional<PerfTraceInfo> trace_info;                     // of Intel PT
  std::vector<std::pair<std::string, std::string>> build_ids;  // file, hexadecimal
  std::string machine, kernel, perf_version, cpu;
  std::vector<std::string> command;
  uint64_t unknown_records = 0;
  std::optional<PerfDamage> damage;  // reading stopped there

  const PerfAttribute* trace_event() const;  // the attribute of the PT event; null: there is none
  std::shared_ptr<const std::string> bytes;  // what views look at
};

Result<PerfFile> read_perf_file(const std::filesystem::path& path);
Result<PerfFile> parse_perf_file(std::string bytes, const std::string& name);

}  // namespace heddle
