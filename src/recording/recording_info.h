// recording.json: what a recording is of and how the run ended. Everything about a recording but the logs
// themselves.
//
// heddle writes it twice: before the program starts (`Outcome::unfinished`), so that a killed heddle leaves a
// recording that can be read, and again when all is known. Texts that come from the system (paths, arguments,
// environment) may hold any bytes; what is not UTF-8 stands as {"hex": "..."}.
//
// Invariant of the reader: every field is there and has the right type, or the error names the field. Nothing
// in the file is used as a path before it was checked (RecordedFile::copy is a plain file name).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace heddle {

constexpr uint32_t kRecordingFormat = 1;
constexpr std::string_view kRecordingFile = "recording.json";
constexpr std::string_view kProcessFile = "process";
constexpr std::string_view kThreadsFolder = "threads";
constexpr std::string_view kInputsFolder = "inputs";
constexpr std::string_view kInputFile = "inputs/stdin";  // standard input, if it was kept
constexpr std::string_view kEffectsFile =
    "effects.table";  // as it was then: it decides what stands in the logs

// A place of the source; `file` is empty and `line` 0 when it is not known.
struct RecordedPlace {
  std::string file;
  uint32_t line = 0;
  std::string function;

  std::string text() const;  // "file:line function", as in identities of failures
};

struct RecordedFrame {
  std::string function;  // empty: not known
  std::string file;      // source, empty: not known
  uint32_t line = 0;
  std::string library;  // file name of the shared library; empty: the program itself
  uint64_t pc = 0;

  std::string text() const;  // "function at file:line", "function (libc.so.6)"
};

struct RecordedFailure {
  std::string kind;      // assert, abort, exception, segv, ..., exit:3, signal:9, hang
  std::string identity;  // by which failures are compared (replay/failure.h)
  std::string thread;    // empty: it is no single thread's
  std::optional<RecordedPlace> place;
  std::string text;      // condition of an assertion; type and text of an exception
  std::string address;   // that was accessed; empty where it means nothing
  std::string headline;  // one line for people; the stack is that of the thread
};

struct RecordedThread {
  std::string name;
  int32_t tid = 0;
  uint64_t path_bytes = 0, data_bytes = 0;  // of its own log and those of its signal handlers
  std::string stop;                         // why the log ends early; empty: it does not
  bool alive = false;                       // when heddle looked at the process
  std::vector<RecordedFrame> stack;         // innermost first; only of threads that were alive
};

// A file that the program read, and what became of its copy.
struct RecordedFile {
  enum class State { kept, changed, gone, unreadable, left_out };
  uint64_t number = 0;  // by which logs refer to it
  std::string path;
  uint64_t size = 0;
  State state = State::left_out;
  std::string copy;  // its name in inputs/; only of kept ones
  std::string sha256;
};
std::string_view recorded_file_state_name(RecordedFile::State state);

struct RecordingOptions {
  std::string policy = "standard";
  std::string memory_model = "sc";
  bool clock = true;
  bool sync_order = false;  // stamps are places in the order of synchronisation calls
  bool chaos = false;
  bool inputs = true;
  uint64_t seed = 0;             // of the disturbances
  uint64_t keep = 0;             // bytes per thread and stream; 0: all
  uint64_t hang_timeout_ms = 0;  // 0: none
  // Flow recording (abi/flow.h): known by its files, not stored in recording.json.
  bool flow = false;
  bool sequences = true, locks = true;  // its optimisations O1 and O2
  uint32_t baseline = 0;                // enum heddle_flow_baseline
};

struct RecordingHost {
  std::string kernel;
  uint64_t processors = 0;
  bool invariant_tsc = false;
};

enum class RecordingOutcome {
  unfinished,  // heddle did not come to the end
  passed,
  failed,
  interrupted,
  out_of_time,
};
std::string_view recording_outcome_name(RecordingOutcome outcome);

struct RecordingInfo {
  std::string heddle_version;
  std::string program;  // absolute path of the user's executable
  std::string identity, build_id;
  std::string variant, variant_executable;
  RecordingOptions options;
  std::vector<std::string> command;      // argv
  std::string folder;                    // where the program ran
  std::vector<std::string> environment;  // NAME=VALUE
  bool environment_left_out = false;     // packed without
  uint64_t run = 1;                      // which of --runs
  int64_t begin_ms = 0;                  // since 1970, UTC
  uint64_t duration_ns = 0;
  double tsc_hz = 0;  // 0: not known
  uint64_t load_base = 0;
  uint64_t arguments = 0, argument_text = 0;  // where argv and its texts lay; 0: not known
  int32_t pid = 0;
  uint32_t forks = 0;  // children of the program, which are not recorded
  RecordingHost host;
  RecordingOutcome outcome = RecordingOutcome::unfinished;
  std::optional<int> exit_code, signal;
  std::optional<RecordedFailure> failure;
  std::vector<RecordedThread> threads;
  std::vector<std::string> maps;  // lines of /proc/PID/maps
  std::vector<RecordedFile> files;
  std::string core_file;           // absolute; empty: none is known
  std::string core_pattern;        // of the system, when the kernel wrote a core somewhere else
  std::vector<std::string> notes;  // what could not be done, in words

  Json to_json() const;
  static Result<RecordingInfo> from_json(const Json& json, const std::filesystem::path& file);
};

// Of a recording's folder.
Result<RecordingInfo> read_recording_info(const std::filesystem::path& folder);
// Readable by the owner only.
Result<void> write_recording_info(const RecordingInfo& info, const std::filesystem::path& folder);

}  // namespace heddle
