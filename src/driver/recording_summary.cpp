#include "driver/recording_summary.h"

#include <fmt/core.h>

#include <algorithm>

#include "driver/pt_recording.h"
#include "recording/pack.h"
#include "recording/process_file.h"

namespace heddle {
namespace {

// "0.2" before "0.10", "0" before both.
bool before(const std::string& a, const std::string& b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const size_t first = i, second = j;
    while (i < a.size() && is_digit(a[i])) ++i;
    while (j < b.size() && is_digit(b[j])) ++j;
    if (i - first != j - second) return i - first < j - second;
    if (const int order = a.compare(first, i - first, b, second, j - second); order != 0) return order < 0;
    if (i == a.size() || j == b.size()) break;
    if (a[i] != b[j]) return a[i] < b[j];
    ++i, ++j;
  }
  return a.size() - i < b.size() - j;
}

// Seconds since the process began; 0 where a clock is not known.
double seconds(uint64_t tsc, const std::optional<heddle_record_process>& process, double tsc_hz) {
  if (!process || tsc_hz == 0 || tsc < process->begin_tsc) return 0;
  return static_cast<double>(tsc - process->begin_tsc) / tsc_hz;
}

LogSummary summary_of(const LogFile& log, const fs::path& file, const RecordingInfo& info,
                      const std::optional<heddle_record_process>& process) {
  const heddle_record_log& head = log.head();
  LogSummary out{.thread = log.thread(),
                 .level = head.level,
                 .tid = head.tid,
                 .path_bytes = log.path_stream().bytes,
                 .data_bytes = log.data_stream().bytes,
                 .begin_s = seconds(head.begin_tsc, process, info.tsc_hz),
                 .ended = head.end_tsc != 0,
                 .begins_late = log.begins_late(),
                 .stop = stop_text(head.stop)};
  const double whole = static_cast<double>(info.duration_ns) / 1e9;
  out.end_s = out.ended ? seconds(head.end_tsc, process, info.tsc_hz) : std::max(whole, out.begin_s);
  std::error_code ignored;
  out.file_bytes = fs::file_size(file, ignored);
  return out;
}

// Damaged where heddle was killed at the start, or the program wrote there: not known then.
std::optional<heddle_record_process> process_of(const fs::path& folder, std::vector<std::string>& damage) {
  const Result<heddle_record_process> process = read_process_file(folder);
  if (process) return *process;
  damage.push_back(fmt::format("{}: {}", process.error().where,
                               process.error().why.empty() ? process.error().what : process.error().why));
  return std::nullopt;
}

}  // namespace

std::vector<fs::path> log_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code code;
  for (fs::directory_iterator at(folder / kThreadsFolder, code), end; !code && at != end; at.increment(code))
    if (at->path().extension() == ".log") files.push_back(at->path());
  std::ranges::sort(files, [](const fs::path& a, const fs::path& b) { return before(a.stem(), b.stem()); });
  return files;
}

std::string stop_text(uint32_t stop) {
  switch (stop) {
    case HEDDLE_RECORD_not_stopped:
      return "";
    case HEDDLE_RECORD_disk_full:
      return "the disk was full";
    case HEDDLE_RECORD_no_memory:
      return "no memory";
    case HEDDLE_RECORD_forked:
      return "it is the child of a fork";
    default:
      return fmt::format("reason {}", stop);
  }
}

bool is_recording(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) || (fs::is_regular_file(path, ignored) && is_packed_recording(path));
}

Result<OpenRecording> OpenRecording::open(const fs::path& path) {
  OpenRecording out;
  out.folder_ = path;
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    if (!is_packed_recording(path))
      return Error{.what = "this is no recording",
                   .where = path,
                   .next = "name a folder that heddle record made, or a file that heddle pack made"};
    out.unpacked_ = HEDDLE_TRY(TempFolder::create());
    out.folder_ = out.unpacked_->path() / "recording";
    HEDDLE_TRY(unpack_recording(path, out.folder_));
  } else if (!fs::exists(path / kRecordingFile, ignored)) {
    return Error{.what = "this folder holds no recording",
                 .where = path,
                 .why = fmt::format("there is no {} in it", kRecordingFile),
                 .next = "name a folder that heddle record made"};
  }
  out.info_ = HEDDLE_TRY(read_recording_info(out.folder_));
  return out;
}

Result<RecordingSummary> summarise_recording(const fs::path& path, const RecordingQuestions& questions) {
  const OpenRecording recording = HEDDLE_TRY(OpenRecording::open(path));
  RecordingSummary out{.path = path, .info = recording.info()};
  std::error_code none;
  const uint64_t kept = fs::file_size(recording.folder() / kInputFile, none);
  if (!none) out.input_bytes = kept;
  // By hardware: the logs are heads only, and there is no process file.
  const bool by_hardware = is_by_pt(out.info);
  const std::optional<heddle_record_process> process =
      by_hardware ? std::nullopt : process_of(recording.folder(), out.damage);
  std::vector<fs::path> wanted;
  for (const fs::path& file : log_files(recording.folder())) {
    const Result<LogFile> log = LogFile::open(file);
    const auto in_recording = [&](const std::string& text) {
      // Of packed recordings the folder is gone when this is read.
      const std::string folder = recording.folder().string() + "/";
      return text.starts_with(folder) ? text.substr(folder.size()) : text;
    };
    if (!log) {
      out.damage.push_back(fmt::format("{}: {}", in_recording(file), log.error().what));
      continue;
    }
    if (!by_hardware)
      for (const Damage& damage : log->damage()) out.damage.push_back(in_recording(damage.text()));
    out.logs.push_back(summary_of(*log, file, out.info, process));
    if (questions.thread.empty() || log->thread() == questions.thread) wanted.push_back(file);
  }
  if (!questions.thread.empty() && wanted.empty()) {
    std::string names;
    for (const LogSummary& log : out.logs)
      if (log.level == 0) names += (names.empty() ? "" : ", ") + log.thread;
    return Error{.what = fmt::format("there is no thread '{}' in this recording", questions.thread),
                 .where = path,
                 .next = "choose one of: " + names,
                 .exit = ExitCode::usage};
  }
  if (questions.paths) {
    const RecordedCode code = HEDDLE_TRY(load_recorded_code(out.info, recording.folder(), questions.program));
    for (const fs::path& file : wanted)
      out.paths.push_back(HEDDLE_TRY(thread_path(code, file, questions.limit)));
  }
  return out;
}

Json RecordingSummary::to_json() const {
  Json json = info.to_json();
  Json log_list = Json::array(), path_list = Json::array();
  for (const LogSummary& log : logs)
    log_list.push_back({{"thread", log.thread},
                        {"level", log.level},
                        {"tid", log.tid},
                        {"path_bytes", log.path_bytes},
                        {"data_bytes", log.data_bytes},
                        {"file_bytes", log.file_bytes},
                        {"begin_s", log.begin_s},
                        {"end_s", log.end_s},
                        {"ended", log.ended},
                        {"begins_late", log.begins_late},
                        {"stop", log.stop}});
  json["recording"] = path.string();
  json["logs"] = std::move(log_list);
  json["damage"] = damage;
  if (input_bytes) json["standard_input_bytes"] = *input_bytes;
  if (!paths.empty()) {
    for (const ThreadPath& path_of_thread : paths) path_list.push_back(path_of_thread.to_json());
    json["paths"] = std::move(path_list);
  }
  return json;
}

}  // namespace heddle
