// What a recording holds: the data behind `heddle show REC`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/result.h"
#include "driver/recording_paths.h"
#include "recording/log_file.h"
#include "recording/recording_info.h"

namespace heddle {

// A recording on disk: a folder, or a packed file, which is then unpacked for the time that the object lives.
class OpenRecording {
 public:
  static Result<OpenRecording> open(const std::filesystem::path& path);
  const std::filesystem::path& folder() const { return folder_; }
  const RecordingInfo& info() const { return info_; }

 private:
  std::optional<TempFolder> unpacked_;
  std::filesystem::path folder_;
  RecordingInfo info_;
};

// Does it look like one? Decides between recordings and programs.
bool is_recording(const std::filesystem::path& path);

// The logs of a recording's folder, by name.
std::vector<std::filesystem::path> log_files(const std::filesystem::path& folder);

// One log file: a thread, or what ran in its signal handlers.
struct LogSummary {
  std::string thread;
  uint32_t level = 0;
  int32_t tid = 0;
  uint64_t path_bytes = 0, data_bytes = 0, file_bytes = 0;
  double begin_s = 0, end_s = 0;  // since the process began; both 0: not known
  bool ended = false;             // the thread had
  bool begins_late = false;       // its beginning was not kept
  std::string stop;
};

struct RecordingSummary {
  std::filesystem::path path;
  RecordingInfo info;
  std::optional<uint64_t> input_bytes;  // of standard input, if it was kept
  std::vector<LogSummary> logs;     // by name
  std::vector<std::string> damage;  // each with file and offset
  std::vector<ThreadPath> paths;    // if they were asked for

  Json to_json() const;
};

struct RecordingQuestions {
  bool paths = false;
  std::string thread;             // only this one's path
  uint64_t limit = 50;            // the last lines of each; 0: all
  std::filesystem::path program;  // where the executable is now; empty: where it was
};

Result<RecordingSummary> summarise_recording(const std::filesystem::path& path,
                                             const RecordingQuestions& questions);

// Why a log ends early, in words; empty: it does not (enum heddle_record_stop).
std::string stop_text(uint32_t stop);

}  // namespace heddle
