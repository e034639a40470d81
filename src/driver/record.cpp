#include "driver/record.h"

#include <cpuid.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <map>

#include "base/files.h"
#include "base/version.h"
#include "driver/flow_replay.h"
#include "driver/held_output.h"
#include "driver/input_tee.h"
#include "driver/record_inputs.h"
#include "driver/recording_summary.h"
#include "program/effects.h"
#include "recording/flow_files.h"
#include "recording/flow_log.h"
#include "recording/log_file.h"
#include "replay/interrupt.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// ---- facts
bool has_invariant_tsc() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
}

RecordingHost this_host() {
  RecordingHost host{.invariant_tsc = has_invariant_tsc()};
  utsname name{};
  if (::uname(&name) == 0) host.kernel = fmt::format("{} {} {}", name.sysname, name.release, name.machine);
  cpu_set_t processors;
  if (::sched_getaffinity(0, sizeof processors, &processors) == 0)
    host.processors = static_cast<uint64_t>(CPU_COUNT(&processors));
  return host;
}

bool is_stream(int descriptor) {
  struct stat status{};
  return ::fstat(descriptor, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

bool is_ordinary(int descriptor) {
  struct stat status{};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

// Ticks per second between two moments that were seen on both clocks. The second is now where the program did
// not come to its end by itself.
double tsc_frequency(const heddle_record_process& process) {
  uint64_t tsc = process.end_tsc, ns = process.end_ns;
  if (tsc == 0 || ns == 0) {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    ns = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
    tsc = __rdtsc();
  }
  if (process.begin_ns == 0 || ns <= process.begin_ns || tsc <= process.begin_tsc) return 0;
  return static_cast<double>(tsc - process.begin_tsc) * 1e9 / static_cast<double>(ns - process.begin_ns);
}

// ---- names
Result<void> check_free(const fs::path& folder) {
  if (!fs::exists(fs::symlink_status(folder))) return {};
  return Error{.what = "this is already there", .where = folder, .next = "name another folder: -o REC"};
}

// Gives the folder its name, the first that is free where the user has not chosen one.
Result<fs::path> publish(TempFolder& made, const RecordRequest& options, const std::string& name) {
  for (int i = 0;; ++i) {
    const fs::path to = !options.output.empty() ? options.output
                        : i == 0                ? fs::path(name + ".rec")
                                                : fs::path(fmt::format("{}.{}.rec", name, i));
    if (::renameat2(AT_FDCWD, made.path().c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) {
      made.release();
      return to;
    }
    // Some file systems do not know the flag.
    if (errno == EINVAL && !fs::exists(fs::symlink_status(to)) &&
        ::rename(made.path().c_str(), to.c_str()) == 0) {
      made.release();
      return to;
    }
    if (errno == EEXIST && options.output.empty()) continue;
    Error error = system_error("the recording cannot be given its name", to);
    error.next = "it is in " + made.path().string();
    made.release();
    return error;
  }
}

class Recorder {
 public:
  Recorder(const RecordedProgram& program, const RecordRequest& options,
           const std::function<void(const RecordState&)>& progress)
      : program_(program), options_(options), progress_(progress), begin_(Clock::now()) {
    if (options_.time) deadline_ = begin_ + *options_.time;
  }

  Result<RecordResult> run() {
    if (!options_.output.empty()) HEDDLE_TRY(check_free(options_.output));
    while (true) {
      if (HEDDLE_TRY(run_once())) return std::move(result_);
      progress_(result_.state);
    }
  }

 private:
  // Whether it was the last run.
  Result<bool> run_once() {
    // Beside its final place, so that it can be renamed; complete at any moment, in case heddle is killed.
    const fs::path parent = options_.output.has_parent_path() ? options_.output.parent_path() : fs::path(".");
    TempFolder made = HEDDLE_TRY(TempFolder::create(fs::absolute(parent)));
    for (const std::string_view inner : {kThreadsFolder, kInputsFolder})
      if (::mkdir((made.path() / inner).c_str(), 0700) != 0)
        return system_error("cannot create", made.path() / inner);
    RecordingInfo& info = result_.info = first_info();
    ProcessFile process = HEDDLE_TRY(ProcessFile::create(made.path(), info.options));
    HEDDLE_TRY(write_recording_info(info, made.path()));
    if (info.options.flow) HEDDLE_TRY(write_flow_plan(made.path(), info.options, false));

    const int input = std::max(options_.input, 0);
    const off_t begin = options_.input < 0 ? ::lseek(0, 0, SEEK_CUR) : 0;  // of an ordinary file
    std::optional<InputTee> tee;
    if (info.options.inputs && is_stream(input))
      tee.emplace(HEDDLE_TRY(InputTee::start(input, made.path() / kInputFile)));
    std::optional<HeldOutput> held;
    if (options_.hold_output) held.emplace(made.path());
    const RunEnd end = HEDDLE_TRY(run_recorded({.executable = program_.variant(),
                                                .command = options_.command,
                                                .folder = made.path(),
                                                .input = tee ? tee->reader() : options_.input,
                                                .output_to_error = options_.output_to_error,
                                                .output = held ? held->descriptor() : -1,
                                                .hang_timeout = hang_timeout(),
                                                .deadline = deadline_,
                                                .fixed_addresses = info.options.flow},
                                               process));
    complete_info(info, end, process, made.path());
    longest_ = std::max(longest_, end.duration);
    if (tee)
      if (const std::string problem = tee->finish(); !problem.empty())
        info.notes.push_back("standard input is not kept as a whole: " + problem);
    ++result_.state.runs;
    result_.state.elapsed = std::chrono::duration_cast<milliseconds>(Clock::now() - begin_);
    const bool last = is_last(end);
    const bool keep = info.failure || end.kind == RunEnd::Kind::interrupted || (last && options_.keep_passing);
    if (keep) {
      for (std::string& reason : flow_logs_cut_short(made.path())) info.notes.push_back(std::move(reason));
      if (info.options.flow)
        if (const auto logs = read_flow_logs(made.path()))
          for (std::string& problem : keep_flow_files(made.path(), *logs))
            info.notes.push_back(std::move(problem));
      if (held) result_.output = held->text();
      if (info.options.inputs && is_ordinary(input))
        if (const auto kept = keep_standard_input(input, begin, made.path()); !kept)
          info.notes.push_back("standard input is not kept: " + kept.error().what);
      const Result<void> written = complete_files(info, process, made.path());
      result_.folder = HEDDLE_TRY(publish(made, options_, program_.executable().filename()));
      if (!written) result_.unwritten = written.error();
    }
    return last;
  }

  // Without one that was given: a run of many that takes far longer than any before it.
  std::optional<milliseconds> hang_timeout() const {
    constexpr milliseconds kLeast(10'000);
    constexpr int kTimes = 50;
    if (options_.recording.hang_timeout_ms != 0) return milliseconds(options_.recording.hang_timeout_ms);
    if (result_.state.runs == 0) return std::nullopt;
    return std::max(kLeast, std::chrono::duration_cast<milliseconds>(kTimes * longest_));
  }

  bool is_last(const RunEnd& end) {
    if (result_.info.failure) {
      result_.end = RecordResult::End::failure;
    } else if (end.kind == RunEnd::Kind::interrupted || interrupted()) {
      result_.end = RecordResult::End::interrupted;
    } else if (end.kind == RunEnd::Kind::out_of_time ||
               (deadline_ && Clock::now() >= *deadline_ && result_.state.runs < options_.runs)) {
      result_.end = RecordResult::End::out_of_time;
    } else if (result_.state.runs >= options_.runs) {
      result_.end = RecordResult::End::all_runs;
    } else {
      return false;
    }
    return true;
  }

  // What is known before the start.
  RecordingInfo first_info() const {
    RecordingInfo info{.heddle_version = HEDDLE_VERSION,
                       .program = fs::absolute(program_.executable()).lexically_normal(),
                       .identity = program_.program().identity(),
                       .build_id = program_.program().build_id(),
                       .variant = program_.variant_name(),
                       .variant_executable = program_.variant(),
                       .options = options_.recording,
                       .command = options_.command,
                       .folder = fs::current_path(),
                       .environment = environment_of_runs(),
                       .run = result_.state.runs + 1,
                       .host = this_host()};
    info.options.seed += result_.state.runs;
    info.begin_ms =
        std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    return info;
  }

  void complete_info(RecordingInfo& info, const RunEnd& end, const ProcessFile& process,
                     const fs::path& folder) {
    const heddle_record_process told = process.copy();
    info.duration_ns = static_cast<uint64_t>(end.duration.count());
    info.tsc_hz = tsc_frequency(told);
    info.load_base = told.load_base;
    info.arguments = told.arguments;
    info.argument_text = told.argument_text;
    info.pid = end.pid;
    info.forks = told.forks;
    info.exit_code = end.status.exit_code;
    info.signal = end.status.signal;
    read_threads(info, end, told, folder);
    if (end.capture) {
      info.maps = end.capture->maps;
      if (!end.capture->problem.empty()) info.notes.push_back("no stacks: " + end.capture->problem);
    }
    if (told.lost_logs != 0) info.notes.push_back(fmt::format("{} logs could not be made", told.lost_logs));
    if (told.begin_ns == 0)
      info.notes.emplace_back("the program ended before recording began");
    else if (info.threads.empty())
      info.notes.emplace_back("no code of the program ran");
    switch (end.kind) {
      case RunEnd::Kind::ended:
        info.failure = recorded_failure(told, end.status, failing_stack(end, told), program_);
        info.outcome = info.failure ? RecordingOutcome::failed : RecordingOutcome::passed;
        break;
      case RunEnd::Kind::hang:
      case RunEnd::Kind::stalled:
        info.failure =
            recorded_hang(end.kind == RunEnd::Kind::hang ? hang_timeout() : std::nullopt, info.threads);
        info.outcome = RecordingOutcome::failed;
        break;
      case RunEnd::Kind::interrupted:
        info.outcome = RecordingOutcome::interrupted;
        break;
      case RunEnd::Kind::out_of_time:
        info.outcome = RecordingOutcome::out_of_time;
        break;
    }
    if (end.core_dumped) note_core(info, end);
  }

  // Frames of the program itself.
  std::vector<ProcessFrame> failing_stack(const RunEnd& end, const heddle_record_process& told) const {
    if (!end.capture || !end.capture->stacks.contains(told.tid)) return {};
    std::vector<ProcessFrame> frames = frames_from(end.capture->stacks.at(told.tid), told.pc);
    std::erase_if(frames, [&](const ProcessFrame& frame) { return !program_.is_inside(frame); });
    return frames;
  }

  void read_threads(RecordingInfo& info, const RunEnd& end, const heddle_record_process& told,
                    const fs::path& folder) {
    std::map<std::string, RecordedThread> threads;
    result_.state.log_bytes = 0;
    std::error_code code;
    for (fs::directory_iterator at(folder / kThreadsFolder, code), last; !code && at != last;
         at.increment(code)) {
      if (at->path().extension() != ".log") continue;
      const Result<LogFile> log = LogFile::open(at->path());
      if (!log) {
        info.notes.push_back(log.error().text());
        continue;
      }
      RecordedThread& thread = threads[log->thread()];
      thread.name = log->thread();
      thread.tid = log->head().tid;
      thread.path_bytes += log->path_stream().bytes;
      thread.data_bytes += log->data_stream().bytes;
      if (thread.stop.empty()) thread.stop = stop_text(log->head().stop);
      result_.state.log_bytes += log->path_stream().bytes + log->data_stream().bytes;
    }
    if (info.options.flow) {
      if (const auto logs = read_flow_logs(folder))
        for (const FlowThread& log : *logs) {
          threads[log.name].data_bytes = log.stream_bytes;
          result_.state.log_bytes += log.stream_bytes;
        }
    }
    for (auto& [name, thread] : threads) {
      if (end.capture && end.capture->stacks.contains(thread.tid)) {
        const std::vector<ProcessFrame>& stack = end.capture->stacks.at(thread.tid);
        thread.alive = true;
        thread.stack =
            program_.readable(thread.tid == told.tid && told.failed != 0 ? frames_from(stack, told.pc) : stack);
      }
      info.threads.push_back(std::move(thread));
    }
  }

  void note_core(RecordingInfo& info, const RunEnd& end) const {
    const auto setting = [](const char* file) {
      Result<std::string> read = read_file(file);
      std::string text = read ? *std::move(read) : "";
      while (text.ends_with('\n')) text.pop_back();
      return text;
    };
    info.core_pattern = setting("/proc/sys/kernel/core_pattern");
    info.core_file =
        find_core_file(info.core_pattern, setting("/proc/sys/kernel/core_uses_pid") == "1", end.pid,
                       end.status.signal.value_or(0), program_.variant().filename(), info.folder);
  }

  // Only of recordings that are kept.
  Result<void> complete_files(RecordingInfo& info, ProcessFile& process, const fs::path& folder) {
    const std::vector<heddle_record_file> files = process.files();
    info.files = list_inputs(files);
    if (info.options.inputs) {
      Result<std::vector<RecordedFile>> kept = keep_inputs(files, folder);
      if (kept)
        info.files = *std::move(kept);
      else
        info.notes.push_back("the files that the program read are not kept: " + kept.error().what);
    }
    HEDDLE_TRY(process.trim());
    HEDDLE_TRY(seal_logs(folder));
    HEDDLE_TRY(write_recording_info(info, folder));
    // Without it, readers take the table that they have.
    if (const Result<void> kept = keep_effects(folder); !kept) {
      info.notes.push_back("the effects table is not kept: " + kept.error().what);
      return write_recording_info(info, folder);
    }
    return {};
  }

  static Result<void> seal_logs(const fs::path& folder) {
    std::error_code code;
    for (const fs::directory_entry& file : fs::directory_iterator(folder / kThreadsFolder, code))
      if (file.path().extension() == ".log") HEDDLE_TRY(seal_log(file.path()));
    return {};
  }

  static Result<void> keep_effects(const fs::path& folder) {
    std::string effects;
    for (const fs::path& file : HEDDLE_TRY(EffectsTable::files()))
      effects += HEDDLE_TRY(read_file(file)) + "\n";
    return write_file(folder / kEffectsFile, effects, Readers::owner);
  }

  const RecordedProgram& program_;
  const RecordRequest& options_;
  const std::function<void(const RecordState&)>& progress_;
  const Clock::time_point begin_;
  std::optional<Clock::time_point> deadline_;
  RecordResult result_;
  std::chrono::nanoseconds longest_{};  // of the runs so far
};

}  // namespace

fs::path find_core_file(std::string_view pattern, bool with_pid, pid_t pid, int signal,
                        const std::string& program, const fs::path& folder) {
  if (pattern.empty() || pattern.starts_with('|')) return {};
  std::string name;
  bool has_pid = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      name += pattern[i];
      continue;
    }
    if (++i == pattern.size()) break;  // the kernel drops a single % at the end
    switch (pattern[i]) {
      case '%':
        name += '%';
        break;
      case 'p':
      case 'P':
        name += std::to_string(pid);
        has_pid = true;
        break;
      case 's':
        name += std::to_string(signal);
        break;
      case 'u':
        name += std::to_string(::getuid());
        break;
      case 'g':
        name += std::to_string(::getgid());
        break;
      case 'e':
      case 'f':
        name += program.substr(0, 15);
        break;
      default:
        return {};  // time, host name, ...: cannot be known here
    }
  }
  if (with_pid && !has_pid) name += fmt::format(".{}", pid);
  const fs::path file = folder / name;
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) ? file : fs::path();
}

Result<RecordResult> record(const RecordedProgram& program, const RecordRequest& options,
                            const std::function<void(const RecordState&)>& progress) {
  return Recorder(program, options, progress).run();
}

}  // namespace heddle
