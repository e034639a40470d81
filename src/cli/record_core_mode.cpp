#include "cli/record_core_mode.h"

#include <fmt/core.h>

#include <cstring>

#include "base/duration.h"
#include "base/process.h"
#include "base/size.h"
#include "cli/control_options.h"
#include "cli/progress_line.h"
#include "image/code_symbols.h"
#include "replay/interrupt.h"

namespace heddle {
namespace {

constexpr size_t kShownFrames = 8;

std::string end_text(const WatchedEnd& end) {
  if (end.kind == WatchedEnd::Kind::hung) return "it does not go on: a hang";
  return fmt::format("signal {} ({})", end.signal, ::strsignal(end.signal));
}

std::string_view verdict(const WatchedEnd& end) {
  switch (end.kind) {
    case WatchedEnd::Kind::crashed:
    case WatchedEnd::Kind::hung:
      return "failure";
    case WatchedEnd::Kind::ended:
      return "no-failure";
    case WatchedEnd::Kind::out_of_time:
      return "out-of-time";
    case WatchedEnd::Kind::interrupted:
      return "interrupted";
  }
  return "";
}

ExitCode exit_code(const WatchedEnd& end) {
  switch (end.kind) {
    case WatchedEnd::Kind::crashed:
    case WatchedEnd::Kind::hung:
      return ExitCode::failure_found;
    case WatchedEnd::Kind::ended:
      return ExitCode::ok;
    default:
      return ExitCode::undecided;
  }
}

void print_stack(const CoreRecordResult& result) {
  if (!result.summary || result.summary->stacks.empty()) return;
  const CoreStack& stack = result.summary->stacks.front();
  for (size_t i = 0; i < stack.frames.size() && i < kShownFrames; ++i) {
    const CoreFrame& frame = stack.frames[i];
    fmt::print(stderr, "    #{} {}\n", i,
               frame.symbol.empty() ? fmt::format("{:#x}", frame.pc) : demangled(frame.symbol));
  }
}

void print_result(const CoreRecordResult& result, const std::vector<std::string>& command,
                  const CommonOptions& common) {
  if (result.core.empty()) {
    std::string why;
    if (result.last.kind == WatchedEnd::Kind::interrupted) why = "interrupted: ";
    if (result.last.kind == WatchedEnd::Kind::out_of_time) why = "time limit: ";
    fmt::print(stderr, "heddle: {}no crash in {} ({})\n", why, counted(result.state.runs, "run"),
               duration_text(result.state.elapsed));
    if (result.last.kind == WatchedEnd::Kind::ended && result.last.signal != 0)
      fmt::print(stderr, "  the last one was killed by signal {} ({}), of which programs leave no core\n",
                 result.last.signal, ::strsignal(result.last.signal));
    return;
  }
  fmt::print(stderr, "heddle: {}, {}\n", end_text(result.last),
             counted(result.summary ? result.summary->stacks.size() : 0, "thread"));
  if (!common.quiet) {
    print_stack(result);
    if (result.state.runs > 1)
      fmt::print(stderr, "  in run {} after {}\n", result.state.runs, duration_text(result.state.elapsed));
  }
  fmt::print(stderr, "heddle: core in {}, {}\n  next: heddle core {} -- {}\n", result.core.string(),
             size_text(result.last.core_bytes), shell_quote({result.core}), shell_quote(command));
}

Json to_json(const CoreRecordResult& result) {
  return {{"verdict", verdict(result.last)},
          {"runs", result.state.runs},
          {"seconds", static_cast<double>(result.state.elapsed.count()) / 1000},
          {"signal", result.last.signal},
          {"hang", result.last.kind == WatchedEnd::Kind::hung},
          {"core", result.core.empty() ? Json() : Json(result.core.string())},
          {"disturbances", result.last.disturbances}};
}

}  // namespace

Result<ExitCode> run_record_core(CoreRecordRequest request, const CommonOptions& common) {
  request.run.output_to_error = common.json;
  const InterruptGuard guard;
  ProgressLine line(!common.quiet && !common.json && request.runs > 1);
  const std::vector<std::string> command = request.run.command;
  const Result<CoreRecordResult> result = record_core(std::move(request), [&](const CoreRecordState& state) {
    line.show_now_and_then(
        fmt::format("running: {}, {}", counted(state.runs, "run"), duration_text(state.elapsed)));
  });
  line.clear();
  if (!result) return result.error();
  if (common.json)
    print_json(to_json(*result));
  else
    print_result(*result, command, common);
  return exit_code(result->last);
}

}  // namespace heddle
