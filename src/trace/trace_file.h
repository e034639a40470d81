// Traces in files.
//
//   "heddle trace", version (4 bytes), then one part for the trace and one for each thread. A part: its size (8
//   bytes), the size of its frame (8 bytes), the frame (base/compress.h). Numbers are little-endian. In a part
//   the fields of trace.h follow each other as trace_file.cpp has them; lists and texts begin with their
//   length.
//
// Nothing in a file is trusted: what is loaded fits together as trace_check.h says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "trace/trace.h"

namespace heddle {

inline constexpr uint32_t kTraceVersion = 5;

Result<void> save_trace(const Trace& trace, const fs::path& path);
Result<Trace> load_trace(const fs::path& path);
bool is_trace_file(std::string_view bytes);  // they begin as one does

// What save and load do but for compression and the file: the parts, the trace's first.
std::vector<std::string> trace_parts(const Trace& trace);
Result<Trace> trace_from_parts(const std::vector<std::string>& parts);

}  // namespace heddle
