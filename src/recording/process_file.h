// The file `process` of a recording (struct heddle_record_process, abi/record.h): options for the runtime, the
// failure that it tells of, and the files that the program read.
//
// While the program runs, it is mapped by both; every text in it may be unterminated and every number wrong,
// since the program may have overwritten it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "abi/record.h"
#include "base/result.h"
#include "recording/recording_info.h"

namespace heddle {

class ProcessFile {
 public:
  // Makes the file, with room for all files that the program may read.
  static Result<ProcessFile> create(const std::filesystem::path& folder, const RecordingOptions& options);
  ProcessFile(ProcessFile&& other) noexcept;
  ProcessFile& operator=(ProcessFile&&) = delete;
  ~ProcessFile();

  // Has a thread told of a failure and does it wait for us?
  bool failed() const;
  void mark_failure_seen();
  // What is there now; texts end with zero.
  heddle_record_process copy() const;
  // Those that were filled in.
  std::vector<heddle_record_file> files() const;
  // Gives back the room that was not needed.
  Result<void> trim();

 private:
  ProcessFile(std::filesystem::path path, void* at) : path_(std::move(path)), at_(at) {}
  heddle_record_process* process() const { return static_cast<heddle_record_process*>(at_); }

  std::filesystem::path path_;
  void* at_;
};

// Of a recording's folder, checked to be one of this format; texts end with zero.
Result<heddle_record_process> read_process_file(const std::filesystem::path& folder);

}  // namespace heddle
