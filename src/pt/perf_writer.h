// Writes a perf.data file as perf record does for `-e intel_pt//u --switch-events -a`: one PT event, one event
// that tracks mappings, names, threads and context switches, trace data by core.
//
// For traces that no hardware made (emulator.h) and for tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pt/perf_file.h"

namespace heddle {

struct PerfWriterOptions {
  PerfTraceInfo info;
  uint64_t config = 0;  // of the PT event
  unsigned cores = 1;
  std::vector<std::string> command;
  enum class Form { file, pipe } form = Form::file;
};

class PerfWriter {
 public:
  explicit PerfWriter(PerfWriterOptions options);

  // Fields of the sample that are empty are written as 0.
  void event(const PerfEvent& event);
  void trace_data(uint32_t core, uint64_t position, std::string_view bytes);
  void raw(std::string_view record) { records_ += record; }

  std::string file() const;

 private:
  std::string attribute(bool trace) const;
  std::string ids(bool trace) const;

  PerfWriterOptions options_;
  std::string records_;
  std::vector<std::pair<uint64_t, uint64_t>> traces_;  // where among the records, and the size of the record
};

}  // namespace heddle
