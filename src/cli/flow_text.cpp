#include "cli/flow_text.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/size.h"
#include "cli/control_options.h"
#include "driver/flow_replay.h"
#include "replay/interrupt.h"

namespace heddle {
namespace {

void print_flow(const FlowReplay& result, const CommonOptions& common) {
  const double run = std::chrono::duration<double>(result.running).count();
  const double scheduling = std::chrono::duration<double>(result.scheduling).count();
  if (common.json) {
    print_json({{"verdict", result.interrupted           ? "interrupted"
                            : result.differences.empty() ? "reproduced"
                                                         : "diverged"},
                {"end", result.end},
                {"threads", result.threads},
                {"events", result.events},
                {"edges", result.edges},
                {"steps", result.steps},
                {"outside", result.outside},
                {"schedule_seconds", scheduling},
                {"replay_seconds", run},
                {"differences", result.differences}});
    return;
  }
  if (result.interrupted) {
    fmt::print(stderr, "heddle: interrupted\n");
    return;
  }
  if (!common.quiet)
    fmt::print(stderr,
               "heddle: {} events of {} threads in {} steps, from {} recorded edges; {} results from outside\n"
               "  schedule {:.2f} s, replay {:.2f} s\n",
               result.events, result.threads, result.steps, result.edges, result.outside, scheduling, run);
  for (const std::string& difference : result.differences) fmt::print(stderr, "heddle: {}\n", difference);
  if (result.differences.empty())
    fmt::print(stderr, "heddle: replayed: the same values at every read, the same end: {}\n", result.end);
  else
    fmt::print(stderr, "heddle: the replay diverged\n");
}

}  // namespace

Result<ExitCode> replay_flow_recording(const fs::path& recording, const fs::path& at, uint64_t times,
                                       const CommonOptions& common, Guide* guide) {
  const RecordingInfo info = HEDDLE_TRY(read_recording_info(recording));
  const fs::path file = at.empty() ? fs::path(info.program) : at;
  const std::unique_ptr<RecordedProgram> program = HEDDLE_TRY(RecordedProgram::open(file, "flow"));
  if (program->program().identity() != info.identity)
    return Error{.what = "this is not the program that was recorded",
                 .where = file,
                 .next = "name the one that was: heddle replay REC -- APP"};
  const InterruptGuard guard;
  for (uint64_t run = 0; run < times; ++run) {
    FlowReplay result = HEDDLE_TRY(replay_flow(
        recording, info, *program,
        {.output_to_error = common.json, .quiet = common.quiet || run > 0, .guide = guide != nullptr}));
    const bool last = run + 1 == times || result.interrupted || !result.differences.empty();
    if (last) print_flow(result, common);
    if (result.interrupted) return ExitCode::undecided;
    if (!result.differences.empty()) return ExitCode::diverged;
    if (guide != nullptr) *guide = std::move(result.guide);
  }
  return ExitCode::ok;
}

std::string flow_text(const fs::path& recording) {
  const Result<std::vector<FlowThread>> threads = read_flow_logs(recording);
  if (!threads) return threads.error().text() + "\n";
  uint64_t events = 0, edges = 0;
  for (const FlowThread& thread : *threads) events += thread.performed(), edges += thread.edges.size();
  std::string out = fmt::format(
      "\nFlow\n  {} events: shared accesses, synchronisation, calls into libraries; {} edges between threads "
      "order them\n"
      "  thread              events       edges     outside         log  memory taken over    barriers\n",
      events, edges);
  for (const FlowThread& thread : *threads) {
    out += fmt::format("  {:<12} {:>13} {:>11} {:>11} {:>11} {:>18} {:>11}\n", thread.name, thread.performed(),
                       thread.edges.size(), thread.outside, size_text(thread.stream_bytes), thread.handed_over,
                       thread.barriers);
    if (!thread.damage.empty()) out += fmt::format("    {}\n", thread.damage);
  }
  const Result<std::vector<FlowStep>> steps = flow_schedule(*threads);
  out += steps ? fmt::format("  one order of them has {} steps\n", steps->size()) : steps.error().text() + "\n";
  return out + fmt::format("  next: heddle replay {}\n", recording.string());
}

}  // namespace heddle
