// The writing half; schedule_reader.cpp is the other.
#include "schedule/schedule_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/text_words.h"

namespace heddle {
namespace {

// Notes start here where the step leaves room, so that they can be read downwards.
constexpr size_t kNoteColumn = 36;
// Deeper thread names are not worth widening every line for.
constexpr size_t kWidestThread = 12;

void add_field(std::string& out, std::string_view key, std::string_view value) {
  out += fmt::format("{:<14}{}\n", key, value);
}

void add_word(std::string& out, std::string_view key, std::string_view value) {
  if (!value.empty()) add_field(out, key, quote_word(value, Quoting::shell));
}

void add_header(std::string& out, const ScheduleHeader& header) {
  add_word(out, "program", header.program);
  add_word(out, "identity", header.identity);
  add_word(out, "build-id", header.build_id);
  add_field(out, "memory-model", text_of(header.memory_model));
  add_word(out, "folder", header.folder);
  std::string command;
  for (const std::string& argument : header.command) {
    command += (command.empty() ? "" : " ") + quote_word(argument, Quoting::shell);
  }
  if (!command.empty()) add_field(out, "command", command);
  for (const std::string& setting : header.environment) add_word(out, "environment", setting);
  add_word(out, "input", header.input);
  add_word(out, "strategy", header.strategy);
  if (header.seed) add_field(out, "seed", std::to_string(*header.seed));
  if (header.prefix) add_field(out, "prefix", "yes");
  add_word(out, "failure", header.failure);
  if (header.events) add_field(out, "events", std::to_string(*header.events));
  add_word(out, "values", header.values);
}

std::string place_text(const CodePlace& place) {
  std::string out = "@ " + quote_word(fmt::format("{}:{}", place.file, place.line), Quoting::name);
  if (!place.function.empty()) out += " " + quote_word(place.function, Quoting::name);
  return out;
}

void add_line(std::string& out, std::string line, const CodePlace* place) {
  line.erase(line.find_last_not_of(' ') + 1);
  if (place != nullptr && !place->file.empty()) {
    line.resize(std::max(line.size() + 2, kNoteColumn), ' ');
    line += place_text(*place);
  }
  out += line + "\n";
}

void add_thread(std::string& out, const ScheduleThread& thread, size_t width) {
  const std::string start = thread.start.empty() ? "" : quote_word(thread.start, Quoting::name);
  const CodePlace* created = thread.created ? &*thread.created : nullptr;
  add_line(out, fmt::format("thread  {:<{}}  {}", thread.name.text(), width, start), created);
}

struct Columns {
  size_t thread = 0, verb = 0, count = 0;  // smallest widths
  std::string_view gap = " ";
};

std::string step_line(const std::string& thread, const Step& step, const Columns& columns) {
  std::string line = fmt::format("{:<{}} {:<{}}", text_of(step.kind), columns.verb, thread, columns.thread);
  if (step.location) line += fmt::format("{}{}", columns.gap, quote_word(step.location->text(), Quoting::name));
  if (step.kind == StepKind::run || step.kind == StepKind::flush) {
    line += fmt::format("{}{:>{}}", columns.gap, step.count, columns.count);
  }
  if (step.end != SegmentEnd::preempted) line += fmt::format("{}{}", columns.gap, text_of(step.end));
  return line;
}

}  // namespace

std::string step_text(const Schedule& schedule, const Step& step) {
  return step_line(schedule.name_of(step.thread).text(), step, {});
}

std::string schedule_text(const Schedule& schedule) {
  std::string out = fmt::format("heddle schedule {}\n\n", kScheduleVersion);
  add_header(out, schedule.header);

  out += "\n";
  std::vector<std::string> names;
  size_t width = 1;
  for (const ScheduleThread& thread : schedule.threads) {
    names.push_back(thread.name.text());
    width = std::max(width, std::min(names.back().size(), kWidestThread));
  }
  for (const ScheduleThread& thread : schedule.threads) add_thread(out, thread, width);

  out += "\n";
  const Columns columns{.thread = width, .verb = 7, .count = 3, .gap = "  "};
  for (const Step& step : schedule.steps) {
    add_line(out, step_line(names[step.thread.index()], step, columns), step.place.get());
  }
  out += fmt::format("end {}\n", schedule.steps.size());
  return out;
}

}  // namespace heddle
