// The decode oracle: is the path that each log of a recording is decoded to the path that the thread executed?
//
//   record_oracle PROGRAM RECORDING [--policy P] [--prefix] [--verbose]
//
// The recording was made by a variant record-blocks*, which logs every block too. A log that says that its
// thread has ended must be decoded to exactly the blocks that it executed. Of a thread that was still running
// when the process ended (or with --prefix, of every thread) what is decoded must be the first part of that.
// Damage is an error. The last line of the output sums up.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/files.h"
#include "comparison.h"
#include "executed_blocks.h"
#include "program/effects.h"
#include "program/program.h"
#include "program/record_plan.h"
#include "recording/decoder.h"
#include "recording/log_file.h"

namespace heddle {
namespace {

struct Arguments {
  std::string program, recording;
  RecordPolicy policy = RecordPolicy::standard;
  bool prefix = false, verbose = false;
};

struct Sums {
  uint64_t logs = 0, blocks = 0, running = 0, cut_off = 0, missing = 0, wrong = 0;
};

std::string_view end_name(DecodeEnd::Kind kind) {
  using Kind = DecodeEnd::Kind;
  switch (kind) {
    case Kind::complete:
      return "complete";
    case Kind::in_call:
      return "in a call";
    case Kind::stopped:
      return "stopped";
    case Kind::begins_late:
      return "begins late";
    case Kind::trouble:
      return "trouble";
    case Kind::damaged:
      return "damaged";
  }
  return "?";
}

Result<void> check_log(const Program& program, const RecordPlan& plan, const fs::path& path,
                       const Arguments& arguments, Sums& sums) {
  const LogFile log = HEDDLE_TRY(LogFile::open(path));
  const std::string name = path.stem().string();
  const fs::path blocks = fs::path(path).replace_extension(".blocks");
  ExecutedBlocks executed;
  if (fs::exists(blocks)) executed = HEDDLE_TRY(read_executed_blocks(blocks));
  Comparison comparison(program, std::move(executed));
  ThreadDecoder(program, plan, log, comparison, jumps_out_of_handlers(program, plan, path)).run();

  const bool ended = log.head().end_tsc != 0 && log.head().stop == HEDDLE_RECORD_not_stopped;
  // Ended in the middle of its code, though no handler says so: the path is not whole.
  const bool cut_off =
      ended && comparison.decode_end().kind == DecodeEnd::Kind::stopped && !comparison.ends_lost();
  // main() has returned, and with it the process ends.
  const bool main_returned = name == "0" && comparison.decode_end().kind == DecodeEnd::Kind::complete;
  const bool whole = !arguments.prefix && (ended || main_returned) && !cut_off;
  ++sums.logs;
  sums.blocks += std::min(comparison.told(), comparison.executed());
  sums.running += ended ? 0 : 1;
  sums.cut_off += cut_off ? 1 : 0;
  const uint64_t missing = comparison.executed() - std::min(comparison.told(), comparison.executed());
  sums.missing = std::max(sums.missing, missing);
  for (const Damage& damage : log.damage()) {
    fmt::print("thread {}: damage: {}\n", name, damage.text());
    ++sums.wrong;
  }
  if (const std::string wrong = comparison.verdict(whole); !wrong.empty()) {
    fmt::print("thread {}: {}", name, wrong);
    fmt::print("  {} blocks executed, {} decoded, {} of these certain; the log {}, decoded: {}\n",
               comparison.executed(), comparison.told(), comparison.decode_end().certain_blocks,
               ended ? "has ended" : "has not ended", end_name(comparison.decode_end().kind));
    ++sums.wrong;
  } else if (arguments.verbose) {
    fmt::print("thread {}: {} blocks executed, {} decoded, {}, {}\n", name, comparison.executed(),
               comparison.told(), whole ? "whole" : "first part", end_name(comparison.decode_end().kind));
  }
  return {};
}

Result<Sums> check_recording(const Arguments& arguments) {
  const std::unique_ptr<Program> program = HEDDLE_TRY(Program::load(arguments.program));
  const EffectsTable effects = HEDDLE_TRY(EffectsTable::load());
  const RecordPlan plan(*program, program->module(), effects, arguments.policy);
  std::vector<fs::path> logs;
  Sums sums;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(arguments.recording) / "threads")) {
    const fs::path& path = entry.path();
    if (path.extension() == ".log") logs.push_back(path);
    // A log is made before its file of blocks.
    if (path.extension() == ".blocks" && !fs::exists(fs::path(path).replace_extension(".log"))) {
      fmt::print("{} has no log\n", path.string());
      ++sums.wrong;
    }
  }
  std::sort(logs.begin(), logs.end());
  for (const fs::path& path : logs) HEDDLE_TRY(check_log(*program, plan, path, arguments, sums));
  return sums;
}

Result<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--prefix") {
      arguments.prefix = true;
    } else if (word == "--verbose") {
      arguments.verbose = true;
    } else if (word == "--policy" && i + 1 < argc) {
      arguments.policy = HEDDLE_TRY(parse_record_policy(argv[++i]));
    } else {
      names.emplace_back(word);
    }
  }
  if (names.size() != 2)
    return Error{.what = "record_oracle PROGRAM RECORDING [--policy P] [--prefix] [--verbose]",
                 .where = {},
                 .why = {},
                 .next = {}};
  arguments.program = names[0];
  arguments.recording = names[1];
  return arguments;
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  const auto arguments = heddle::parse(argc, argv);
  if (!arguments) {
    fmt::print(stderr, "{}\n", arguments.error().text());
    return 2;
  }
  const auto sums = heddle::check_recording(*arguments);
  if (!sums) {
    fmt::print(stderr, "{}\n", sums.error().text());
    return 3;
  }
  fmt::print("{} logs, {} blocks decoded, {} threads cut off, {} not ended, at most {} missing, {} errors\n",
             sums->logs, sums->blocks, sums->cut_off, sums->running, sums->missing, sums->wrong);
  // A process that was killed early has no log yet.
  return sums->wrong == 0 && (sums->logs > 0 || arguments->prefix) ? 0 : 1;
}
