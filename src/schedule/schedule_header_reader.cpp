// The header lines of schedule files: one rule for each key.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "schedule/schedule_reader.h"

namespace heddle {

// In the order in which they are written.
constexpr std::array<ScheduleReader::Field, 14> ScheduleReader::kFields = {{
    {"program", true, &ScheduleReader::program},
    {"identity", true, &ScheduleReader::identity},
    {"build-id", false, &ScheduleReader::build_id},
    {"memory-model", true, &ScheduleReader::memory_model},
    {"folder", true, &ScheduleReader::folder},
    {"command", true, &ScheduleReader::command},
    {"environment", false, &ScheduleReader::environment},
    {"input", false, &ScheduleReader::input},
    {"strategy", false, &ScheduleReader::strategy},
    {"seed", false, &ScheduleReader::seed},
    {"prefix", false, &ScheduleReader::prefix},
    {"failure", false, &ScheduleReader::failure},
    {"events", false, &ScheduleReader::events},
    {"values", false, &ScheduleReader::values},
}};

Result<void> ScheduleReader::field(const Field& field, const TextWord& key) {
  auto& positions = fields_[field.key];
  if (!positions.empty() && field.key != "environment") {
    return error_at(position_of(key), fmt::format("'{}' is given twice", field.key),
                    fmt::format("line {} gives it already", positions.front().line));
  }
  positions.push_back(position_of(key));
  value_ = &positions.back();
  HEDDLE_TRY((this->*field.rule)());
  return end_of_line();
}

Result<void> ScheduleReader::end_header() {
  std::vector<std::string_view> missing;
  for (const Field& candidate : kFields) {
    if (candidate.required && !fields_.contains(candidate.key)) missing.push_back(candidate.key);
  }
  if (missing.empty()) return checked(checker_.header(schedule_.header));
  return error_at({number_, 1}, fmt::format("the header lacks {}", fmt::join(missing, ", ")),
                  "without these the run cannot be started again");
}

Result<std::string> ScheduleReader::value(std::string_view what) {
  TextWord found = HEDDLE_TRY(word(Quoting::shell));
  if (found.at_end()) return expected(what, found);
  *value_ = position_of(found);
  return std::move(found.text);
}

Result<void> ScheduleReader::program() {
  schedule_.header.program = HEDDLE_TRY(value("the file name of the program"));
  return {};
}

Result<void> ScheduleReader::identity() {
  schedule_.header.identity = HEDDLE_TRY(value("the identity of the program"));
  return {};
}

Result<void> ScheduleReader::build_id() {
  schedule_.header.build_id = HEDDLE_TRY(value("a build id"));
  return {};
}

Result<void> ScheduleReader::memory_model() {
  const TextWord found = HEDDLE_TRY(word(Quoting::shell));
  const auto model = parse_memory_model(found.text);
  if (!model) return expected("a memory model", found, "memory models are: sc, tso, pso");
  schedule_.header.memory_model = *model;
  return {};
}

Result<void> ScheduleReader::folder() {
  schedule_.header.folder = HEDDLE_TRY(value("a folder"));
  return {};
}

Result<void> ScheduleReader::command() {
  schedule_.header.command.push_back(HEDDLE_TRY(value("the command line of the program")));
  while (true) {
    TextWord argument = HEDDLE_TRY(word(Quoting::shell));
    if (argument.at_end()) return {};
    schedule_.header.command.push_back(std::move(argument.text));
  }
}

Result<void> ScheduleReader::environment() {
  schedule_.header.environment.push_back(HEDDLE_TRY(value("NAME=VALUE")));
  return {};
}

Result<void> ScheduleReader::input() {
  schedule_.header.input = HEDDLE_TRY(value("the file that is standard input"));
  return {};
}

Result<void> ScheduleReader::strategy() {
  schedule_.header.strategy = HEDDLE_TRY(value("the name of a strategy"));
  return {};
}

Result<void> ScheduleReader::seed() {
  const TextWord found = HEDDLE_TRY(word(Quoting::shell));
  schedule_.header.seed = HEDDLE_TRY(number(found, "a number"));
  return {};
}

Result<void> ScheduleReader::prefix() {
  const TextWord found = HEDDLE_TRY(word(Quoting::shell));
  if (found.raw != "yes" && found.raw != "no") return expected("'yes' or 'no'", found);
  schedule_.header.prefix = found.raw == "yes";
  return {};
}

Result<void> ScheduleReader::failure() {
  schedule_.header.failure = HEDDLE_TRY(value("the identity of a failure"));
  return {};
}

Result<void> ScheduleReader::events() {
  const TextWord found = HEDDLE_TRY(word(Quoting::shell));
  *value_ = position_of(found);
  schedule_.header.events = HEDDLE_TRY(number(found, "a number of events"));
  return {};
}

Result<void> ScheduleReader::values() {
  schedule_.header.values = HEDDLE_TRY(value("a hash of values"));
  return {};
}

}  // namespace heddle
