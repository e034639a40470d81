#include "driver/flow_replay.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/files.h"
#include "driver/flow_guide.h"
#include "driver/record_failure.h"
#include "driver/record_run.h"
#include "recording/flow_files.h"
#include "recording/process_file.h"

namespace heddle {
namespace {

template <class T>
void append(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Whether the recorded run was stopped from outside: then the replay ends with the last event.
bool was_stopped(const RecordingInfo& info) {
  if (info.outcome == RecordingOutcome::passed) return false;
  if (info.outcome != RecordingOutcome::failed) return true;
  return !info.failure || info.failure->kind == "hang" || (info.signal && info.failure->thread.empty());
}

std::string steps_file(const RecordingInfo& info, const std::vector<FlowThread>& threads,
                       const std::vector<FlowStep>& steps) {
  std::string out;
  append(out, heddle_flow_schedule{.magic = HEDDLE_FLOW_STEPS_MAGIC,
                                   .threads = threads.size(),
                                   .steps = steps.size(),
                                   .stops = was_stopped(info) ? 1u : 0u});
  for (const FlowThread& thread : threads) {
    heddle_flow_given_thread given{.slot = thread.slot, .events = thread.events};
    std::strncpy(given.name, thread.name.c_str(), sizeof given.name - 1);
    given.fails = info.failure && info.failure->thread == thread.name ? 1 : 0;
    append(out, given);
  }
  for (const FlowStep& step : steps) append(out, heddle_flow_step{.slot = step.slot, .count = step.count});
  return out;
}

std::string status_text(const ProcessStatus& status) {
  if (status.signal) return fmt::format("signal {}", *status.signal);
  return fmt::format("exit code {}", status.exit_code.value_or(-1));
}

class Replayer {
 public:
  Replayer(const fs::path& recording, const RecordingInfo& info, const RecordedProgram& program,
           const FlowReplayOptions& options)
      : recording_(fs::absolute(recording)), info_(info), program_(program), options_(options) {}

  Result<FlowReplay> run() {
    const auto begin = std::chrono::steady_clock::now();
    recorded_ = HEDDLE_TRY(read_flow_logs(recording_));
    if (recorded_.empty())
      return Error{.what = "the flow recording has no logs", .where = recording_, .next = "record again"};
    HEDDLE_TRY(check_flow_files(recording_, recorded_));
    const std::vector<FlowStep> steps = HEDDLE_TRY(flow_schedule(recorded_));
    count(steps.size());
    TempFolder made = HEDDLE_TRY(TempFolder::create(fs::temp_directory_path()));
    for (const std::string_view inner : {kThreadsFolder, kInputsFolder})
      if (::mkdir((made.path() / inner).c_str(), 0700) != 0)
        return system_error("cannot create", made.path() / inner);
    HEDDLE_TRY(write_file(made.path() / kFlowStepsFile, steps_file(info_, recorded_, steps)));
    HEDDLE_TRY(write_flow_plan(made.path(), info_.options, true, options_.guide));
    if (::symlink(recording_.c_str(), (made.path() / kFlowRecordedLink).c_str()) != 0)
      return system_error("cannot create", made.path() / kFlowRecordedLink);
    RecordingOptions options = info_.options;
    options.chaos = false;  // the order is known
    ProcessFile process = HEDDLE_TRY(ProcessFile::create(made.path(), options));
    result_.scheduling = std::chrono::steady_clock::now() - begin;
    const int input = HEDDLE_TRY(no_input());
    const RunEnd end = HEDDLE_TRY(run_recorded({.executable = program_.variant(),
                                                .command = info_.command,
                                                .folder = made.path(),
                                                .input = input,
                                                .output_to_error = options_.output_to_error,
                                                .hang_timeout = patience(),
                                                .fixed_addresses = true,
                                                .environment = info_.environment,
                                                .working_folder = info_.folder,
                                                .no_output = options_.quiet},
                                               process));
    result_.running = end.duration;
    if (end.kind == RunEnd::Kind::interrupted) {
      result_.interrupted = true;
      return std::move(result_);
    }
    compare_end(end, process);
    HEDDLE_TRY(compare_threads(made.path()));
    if (!result_.differences.empty()) tell_of_other_variant();
    if (options_.guide) HEDDLE_TRY(read_guide(made.path() / HEDDLE_FLOW_NAMES));
    return std::move(result_);
  }

 private:
  static Result<int> no_input() {
    static const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (file < 0) return system_error("cannot open", "/dev/null");
    return file;
  }

  // Addresses are values: what was recorded by one build of heddle need not replay by another. The folder of
  // the variant is named after all that it was made of.
  void tell_of_other_variant() {
    const fs::path then = fs::path(info_.variant_executable).parent_path().filename();
    const fs::path now = program_.variant().parent_path().filename();
    if (then.empty() || then == now) return;
    result_.differences.push_back(fmt::format(
        "the variant is another one than when it was recorded ({}, now {}): heddle, its libraries or "
        "the program's file have changed since; record again",
        then.string(), now.string()));
  }

  std::chrono::milliseconds patience() const {
    const auto recorded = std::chrono::milliseconds(info_.duration_ns / 1'000'000);
    return std::max(std::chrono::milliseconds(30'000), recorded * 50);
  }

  void count(uint64_t steps) {
    result_.threads = recorded_.size();
    result_.steps = steps;
    for (const FlowThread& thread : recorded_) {
      result_.events += thread.performed();
      result_.edges += thread.edges.size();
      result_.outside += thread.outside;
      if (!thread.damage.empty())
        result_.differences.push_back(
            fmt::format("the log of thread {} is damaged: {}", thread.name, thread.damage));
      if (thread.stop != 0)
        result_.differences.push_back(fmt::format("the log of thread {} ends early: {}", thread.name,
                                                  std::strerror(static_cast<int>(thread.stop))));
    }
  }

  void compare_end(const RunEnd& end, const ProcessFile& process) {
    if (end.kind == RunEnd::Kind::hang || end.kind == RunEnd::Kind::stalled) {
      result_.differences.emplace_back("the replay did not come to its end in time");
      return;
    }
    if (was_stopped(info_)) {
      result_.end = "all recorded events, as far as the run came";
      if (end.status.exit_code != HEDDLE_FLOW_EXIT_STOPPED)
        result_.differences.push_back("the replay ended before: " + status_text(end.status));
      return;
    }
    const heddle_record_process told = process.copy();
    std::vector<ProcessFrame> stack;
    if (end.capture && end.capture->stacks.contains(told.tid)) {
      stack = frames_from(end.capture->stacks.at(told.tid), told.pc);
      std::erase_if(stack, [&](const ProcessFrame& frame) { return !program_.is_inside(frame); });
    }
    const std::optional<RecordedFailure> failure = recorded_failure(told, end.status, stack, program_);
    const std::string expected = info_.failure ? info_.failure->identity : "";
    const std::string found = failure ? failure->identity : "";
    result_.end = failure ? found : status_text(end.status);
    // On a busy machine heddle may come too late to see where it failed: then what failed counts.
    const bool alike = stack.empty() && failure && info_.failure && failure->kind == info_.failure->kind &&
                       failure->text == info_.failure->text;
    if (expected != found && !alike)
      result_.differences.push_back(fmt::format("it ended otherwise: {}, recorded {}",
                                                found.empty() ? status_text(end.status) : found,
                                                expected.empty() ? "no failure" : expected));
    // A recorded process that had failed and did not end on a busy machine was killed: its failure counts.
    else if (expected.empty() && (info_.exit_code != end.status.exit_code || info_.signal != end.status.signal))
      result_.differences.push_back("it ended otherwise: " + status_text(end.status));
  }

  Result<void> read_guide(const fs::path& file) {
    const std::string bytes = HEDDLE_TRY(read_file(file));
    std::vector<heddle_flow_name> names(bytes.size() / sizeof(heddle_flow_name));
    std::memcpy(names.data(), bytes.data(), names.size() * sizeof names[0]);
    result_.guide = HEDDLE_TRY(flow_guide(recorded_, names, program_.program()));
    return {};
  }

  Result<void> compare_threads(const fs::path& folder) {
    const std::vector<FlowThread> replayed = HEDDLE_TRY(read_flow_logs(folder));
    std::map<std::string, const FlowThread*> by_name;
    for (const FlowThread& thread : replayed) by_name[thread.name] = &thread;
    for (const FlowThread& then : recorded_) {
      const auto found = by_name.find(then.name);
      const uint64_t now = found == by_name.end() ? 0 : found->second->events;
      // Where a thread fails in a stretch of accesses, nobody wrote down any more how many it had made.
      const bool more =
          now > then.events && then.in_an_event && info_.failure && info_.failure->thread == then.name;
      if (more) continue;
      if (now != then.events) {
        result_.differences.push_back(fmt::format("thread {} performed {} events, recorded {}", then.name,
                                                  now - std::min(now, then.first), then.performed()));
      } else if (found != by_name.end() && found->second->hash != then.hash && then.hash_complete) {
        result_.differences.push_back(fmt::format("thread {} read other values", then.name));
      }
    }
    return {};
  }

  fs::path recording_;
  const RecordingInfo& info_;
  const RecordedProgram& program_;
  FlowReplayOptions options_;
  std::vector<FlowThread> recorded_;
  FlowReplay result_;
};

}  // namespace

Result<void> write_flow_plan(const fs::path& folder, const RecordingOptions& options, bool replay, bool names) {
  heddle_flow_plan plan{
      .magic = HEDDLE_FLOW_PLAN_MAGIC, .format = HEDDLE_FLOW_FORMAT, .replay = replay ? 1u : 0u};
  plan.sequences = options.sequences ? 1 : 0;
  plan.locks = options.locks ? 1 : 0;
  plan.baseline = options.baseline;
  plan.names = names ? 1 : 0;
  std::string bytes;
  append(bytes, plan);
  return write_file(folder / kFlowPlanFile, bytes);
}

Result<FlowReplay> replay_flow(const fs::path& recording, const RecordingInfo& info,
                               const RecordedProgram& program, const FlowReplayOptions& options) {
  return Replayer(recording, info, program, options).run();
}

}  // namespace heddle
