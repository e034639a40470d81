// From packets to what each thread executed: libipt's block decoder over the trace of each core, and the
// context switches that say whose it is (H3, section 6.3.1).
//
// User space only is traced, so every change of threads lies between two spans of code: from where tracing was
// enabled (the kernel returned, or a branch led into the traced range) to where it was disabled. A span belongs
// to the thread that was on the core when it began.
//
// What cannot be decoded (overflow, lost buffers, damage, code that is not there) is a gap: decoding goes on at
// the next synchronisation point. A thread that was on the core meanwhile may have executed anything, so its
// path ends before.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "pt/core_schedule.h"
#include "pt/perf_file.h"

namespace heddle {

// Instructions behind each other; only the last one may be a branch.
struct PtBlock {
  enum class End : uint8_t { other, call, ret, jump, conditional, far };
  uint64_t begin = 0;
  uint32_t size = 0;  // from the first instruction to the beginning of the last one
  uint16_t instructions = 0;
  End end = End::other;

  uint64_t last() const { return begin + size; }
};

// What a PTWRITE instruction wrote into the trace.
struct PtValue {
  size_t behind = 0;  // so many blocks of the span
  uint64_t ip = 0;
  uint64_t value = 0;
};

struct PtSpan {
  enum class End {
    left,         // a branch led out of the traced range: `target`
    kernel,       // system call
    interrupted,  // before the instruction at `target`
    lost,         // a gap follows
    trace_end,
  };
  uint32_t core = 0;
  uint64_t begin_tsc = 0, end_tsc = 0;
  std::vector<PtBlock> blocks;
  std::vector<PtValue> values;
  End end = End::trace_end;
  uint64_t target = 0;
  bool begins_in_gap = false;  // what was executed just before is not known
};

struct PtGap {
  uint32_t core = 0;
  uint64_t begin_tsc = 0, end_tsc = 0;
  std::string why;
};

struct PtThread {
  uint32_t pid = 0, tid = 0;
  std::vector<PtSpan> spans;  // by time
  // From here on a gap may have taken something away; UINT64_MAX: never.
  uint64_t usable_to = UINT64_MAX;
};

struct PtDecoded {
  std::map<uint32_t, PtThread> threads;  // by tid
  std::vector<PtGap> gaps;
  uint64_t instructions = 0, blocks = 0, unattributed_spans = 0;
};

// `files`: where to read a mapped file if not under its recorded name.
struct PtImageOptions {
  std::map<std::string, std::filesystem::path> files;
};

// Of one process.
Result<PtDecoded> decode_trace(const PerfFile& file, uint32_t pid, const PtImageOptions& options = {});

// The process that was traced: the first that started another program while tracing was on, or else the first
// one.
std::optional<uint32_t> traced_process(const PerfFile& file);

}  // namespace heddle
