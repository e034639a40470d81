#include "cli/recording_text.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "base/duration.h"
#include "base/process.h"
#include "base/size.h"

namespace heddle {
namespace {

constexpr size_t kFirst = 12;        // entries of a list
constexpr size_t kFrames = 12;       // of a stack
constexpr size_t kHangThreads = 16;  // whose stacks are shown

std::string counted(uint64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string stack_text(const std::vector<RecordedFrame>& stack, size_t limit) {
  std::string out;
  for (size_t i = 0; i < stack.size() && i < limit; ++i) out += fmt::format("    #{} {}\n", i, stack[i].text());
  if (stack.size() > limit) out += fmt::format("    ... {} more\n", stack.size() - limit);
  return out;
}

std::string rate_text(uint64_t bytes, double seconds) {
  if (seconds <= 0) return "-";
  return size_text(static_cast<uint64_t>(static_cast<double>(bytes) / seconds)) + "/s";
}

std::string outcome_text(const RecordingInfo& info) {
  std::string how;
  if (info.signal)
    how = fmt::format("signal {} ({})", *info.signal, ::strsignal(*info.signal));
  else if (info.exit_code)
    how = fmt::format("exit code {}", *info.exit_code);
  switch (info.outcome) {
    case RecordingOutcome::unfinished:
      return "unfinished: heddle was ended, or is still recording";
    case RecordingOutcome::passed:
      return "no failure, " + how;
    case RecordingOutcome::failed:
      return "failure, " + how;
    case RecordingOutcome::interrupted:
      return "interrupted";
    case RecordingOutcome::out_of_time:
      return "stopped: time limit";
  }
  return "";
}

std::string options_text(const RecordingInfo& info) {
  const RecordingOptions& options = info.options;
  std::string out = fmt::format("policy {}", options.policy);
  if (!options.clock) out += ", no clock";
  if (options.sync_order) out += ", order of synchronisation";
  if (!options.inputs) out += ", no inputs";
  if (options.chaos) out += fmt::format(", chaos with seed {}", options.seed);
  if (options.memory_model != "sc") out += ", memory model " + options.memory_model;
  if (options.keep != 0) out += fmt::format(", the last {} of each thread", size_text(options.keep));
  if (options.hang_timeout_ms != 0)
    out += ", hang timeout " + duration_text(std::chrono::milliseconds(options.hang_timeout_ms));
  return out;
}

class Text {
 public:
  Text(const RecordingSummary& summary, const RecordingTextOptions& options)
      : summary_(summary), info_(summary.info), options_(options) {}

  std::string render() {
    head();
    if (info_.failure) {
      line("");
      line("Failure");
      out_ += indented(failure_text(info_));
      line("  identity: {}", info_.failure->identity);
    }
    if (!options_.brief && summary_.paths.empty()) {
      other_stacks();
      threads();
      inputs();
    }
    notes();
    damage();
    for (const ThreadPath& path : summary_.paths) show_path(path);
    return out_;
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  static std::string indented(const std::string& text) {
    std::string out = "  ";
    for (size_t i = 0; i < text.size(); ++i) {
      out += text[i];
      if (text[i] == '\n' && i + 1 < text.size()) out += "  ";
    }
    return out;
  }

  size_t shown(size_t count) const { return options_.all ? count : std::min(count, kFirst); }
  void rest(size_t count) {
    if (shown(count) < count) line("  ... and {} more (--all)", count - shown(count));
  }

  void head() {
    line("{}", summary_.path.string());
    line("  program   {}", info_.program);
    line("            model {}, build id {}", info_.identity, info_.build_id.empty() ? "none" : info_.build_id);
    line("  command   {}", shell_quote(info_.command));
    line("  folder    {}", info_.folder);
    line("  recorded  {:%Y-%m-%d %H:%M:%S} UTC, {}, run {}, by heddle {}",
         fmt::gmtime(static_cast<std::time_t>(info_.begin_ms / 1000)),
         duration_text(std::chrono::milliseconds(info_.duration_ns / 1'000'000)), info_.run,
         info_.heddle_version);
    std::string clock =
        info_.host.invariant_tsc ? "invariant clock" : "clock varies with the processor's speed";
    if (info_.tsc_hz != 0) clock += fmt::format(" at {:.3f} GHz", info_.tsc_hz / 1e9);
    line("  machine   {}, {}, {}", info_.host.kernel, counted(info_.host.processors, "processor"), clock);
    line("  options   {}", options_text(info_));
    line("  outcome   {}", outcome_text(info_));
    if (!info_.core_file.empty())
      line("  core      {}", info_.core_file);
    else if (!info_.core_pattern.empty())
      line("  core      written by the kernel to '{}'", info_.core_pattern);
    line("  logs      {}", sizes());
  }

  std::string sizes() const {
    uint64_t path = 0, data = 0, files = 0;
    for (const LogSummary& log : summary_.logs) {
      path += log.path_bytes;
      data += log.data_bytes;
      files += log.file_bytes;
    }
    return fmt::format("{} of paths, {} of data; {} on disk", size_text(path), size_text(data),
                       size_text(files));
  }

  // A hang shows them all already.
  void other_stacks() {
    if (info_.failure && info_.failure->kind == "hang") return;
    std::vector<const RecordedThread*> others;
    for (const RecordedThread& thread : info_.threads)
      if (!thread.stack.empty() && !(info_.failure && thread.name == info_.failure->thread))
        others.push_back(&thread);
    if (others.empty()) return;
    line("");
    line("{} ({})", info_.failure ? "Other threads at that time" : "Threads when they were stopped",
         others.size());
    for (size_t i = 0; i < shown(others.size()); ++i) {
      line("  thread {}", others[i]->name);
      out_ += stack_text(others[i]->stack, options_.all ? SIZE_MAX : kFrames);
    }
    rest(others.size());
  }

  void threads() {
    line("");
    line("Threads ({})",
         std::ranges::count_if(summary_.logs, [](const LogSummary& log) { return log.level == 0; }));
    if (summary_.logs.empty()) return;
    line("  {:<12} {:>17} {:>12} {:>12} {:>14}", "name", "lifetime", "paths", "data", "rate");
    bool handlers = false;
    for (size_t i = 0; i < shown(summary_.logs.size()); ++i) {
      const LogSummary& log = summary_.logs[i];
      handlers |= log.level != 0;
      std::string remarks;
      const bool at_the_end = info_.exit_code && log.thread == "0";  // it ended the program
      if (!log.ended && log.level == 0 && !at_the_end) remarks += "  alive at the end";
      if (log.begins_late) remarks += "  beginning not kept";
      if (!log.stop.empty()) remarks += "  stops early: " + log.stop;
      const std::string name = log.level == 0 ? log.thread : fmt::format("{}@{}", log.thread, log.level);
      line("  {:<12} {:>17} {:>12} {:>12} {:>14}{}", name,
           fmt::format("{:.3f} - {:.3f} s", log.begin_s, log.end_s), size_text(log.path_bytes),
           size_text(log.data_bytes), rate_text(log.path_bytes + log.data_bytes, log.end_s - log.begin_s),
           remarks);
    }
    rest(summary_.logs.size());
    if (handlers) line("  (NAME@LEVEL: what ran in signal handlers of the thread)");
    if (info_.forks != 0) line("  {} of the program not recorded", counted(info_.forks, "forked child"));
  }

  void inputs() {
    line("");
    line("Inputs");
    if (info_.environment_left_out)
      line("  environment left out");
    else
      line("  {} in the environment", counted(info_.environment.size(), "variable"));
    if (summary_.input_bytes) line("  standard input  {}, kept", size_text(*summary_.input_bytes));
    for (size_t i = 0; i < shown(info_.files.size()); ++i) {
      const RecordedFile& file = info_.files[i];
      line("  {}  {}, {}", file.path, size_text(file.size), recorded_file_state_name(file.state));
    }
    rest(info_.files.size());
  }

  void notes() {
    if (info_.notes.empty()) return;
    line("");
    line("Notes");
    for (const std::string& note : info_.notes) line("  {}", note);
  }

  void damage() {
    if (summary_.damage.empty()) return;
    line("");
    line("Damage (what is before it in each log can be used)");
    for (const std::string& text : summary_.damage) line("  {}", text);
  }

  void show_path(const ThreadPath& path) {
    line("");
    line("Path of thread {}{} ({})", path.thread, path.level == 0 ? "" : fmt::format("@{}", path.level),
         counted(path.blocks, "block"));
    if (path.skipped != 0) line("  ... {} before these (--limit)", counted(path.skipped, "line"));
    for (const PathLine& step : path.lines) {
      std::string text(2 + 2 * std::min<size_t>(step.depth, 30), ' ');
      text += step.function;
      if (!step.place.empty()) text += "  " + step.place;
      if (step.times > 1) text += fmt::format("  x {}", step.times);
      line("{}", text);
    }
    line("  {}", path.end);
  }

  const RecordingSummary& summary_;
  const RecordingInfo& info_;
  RecordingTextOptions options_;
  std::string out_;
};

}  // namespace

std::string recording_text(const RecordingSummary& summary, const RecordingTextOptions& options) {
  return Text(summary, options).render();
}

std::string failure_text(const RecordingInfo& info) {
  if (!info.failure) return "";
  const RecordedFailure& failure = *info.failure;
  std::string out = failure.headline + "\n";
  if (failure.kind == "hang") {
    size_t count = 0;
    for (const RecordedThread& thread : info.threads) {
      if (thread.stack.empty() || count++ >= kHangThreads) continue;
      out += fmt::format("  thread {}\n", thread.name) + stack_text(thread.stack, kFrames);
    }
    if (count > kHangThreads) out += fmt::format("  ... and {} more threads\n", count - kHangThreads);
    return out;
  }
  if (failure.thread.empty()) return out;
  out += fmt::format("  thread {}", failure.thread);
  if (failure.place) out += " at " + failure.place->text();
  out += "\n";
  const auto thread =
      std::ranges::find_if(info.threads, [&](const RecordedThread& t) { return t.name == failure.thread; });
  if (thread != info.threads.end()) out += stack_text(thread->stack, kFrames);
  return out;
}

std::string sizes_text(const RecordingInfo& info) {
  uint64_t bytes = 0;
  for (const RecordedThread& thread : info.threads) bytes += thread.path_bytes + thread.data_bytes;
  const double seconds = static_cast<double>(info.duration_ns) / 1e9;
  std::string out = fmt::format("{} of {}", size_text(bytes), counted(info.threads.size(), "thread"));
  if (seconds > 0 && !info.threads.empty())
    out += fmt::format(" in {}: {}, {} per thread",
                       duration_text(std::chrono::milliseconds(info.duration_ns / 1'000'000)),
                       rate_text(bytes, seconds), rate_text(bytes / info.threads.size(), seconds));
  return out;
}

}  // namespace heddle
