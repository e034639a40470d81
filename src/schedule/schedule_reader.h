// Parser of the text form, line by line: first line, header, threads, steps, end. For schedule_text.h only.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "schedule/schedule_check.h"
#include "schedule/text_words.h"

namespace heddle {

class ScheduleReader {
 public:
  explicit ScheduleReader(const std::string& origin) : origin_(origin) {}
  Result<Schedule> read(std::string_view text);

 private:
  struct Position {
    size_t line = 1, column = 1;
  };
  enum class Part : uint8_t { header, threads, steps, end };

  // One key of the header, and how its value is read.
  struct Field {
    std::string_view key;
    bool required;
    Result<void> (ScheduleReader::*rule)();
  };
  static const std::array<Field, 14> kFields;

  Result<void> first_line();
  Result<void> line();
  Result<void> enter(Part part, const TextWord& verb);

  // schedule_header_reader.cpp
  Result<void> field(const Field& field, const TextWord& key);
  Result<void> end_header();
  Result<void> program();
  Result<void> identity();
  Result<void> build_id();
  Result<void> memory_model();
  Result<void> folder();
  Result<void> command();
  Result<void> environment();
  Result<void> input();
  Result<void> strategy();
  Result<void> seed();
  Result<void> prefix();
  Result<void> failure();
  Result<void> events();
  Result<void> values();

  Result<void> thread();
  Result<void> step(StepKind kind, const TextWord& verb);
  Result<void> end_line();
  Result<ThreadIndex> listed_thread();
  Result<std::shared_ptr<const CodePlace>> note(const TextWord& word);  // `word`: the first one not used yet

  Result<TextWord> word(Quoting quoting = Quoting::name);
  Result<std::string> value(std::string_view what);  // a word that must be there
  Result<uint64_t> number(const TextWord& word, std::string_view what);
  Result<void> end_of_line();
  Result<void> checked(const ScheduleChecker::Answer& problem);

  Error error_at(Position position, std::string what, std::string why = {}, std::string next = {}) const;
  Error expected(std::string_view what, const TextWord& found, std::string why = {}) const;
  Position position_of(const TextWord& word) const { return {number_, word.column}; }

  const std::string& origin_;
  size_t number_ = 0;  // of the line
  LineWords words_{""};
  Part part_ = Part::header;

  // For messages: where the words of this line, and the fields of the header, stand.
  Position verb_, thread_, count_, location_;
  std::unordered_map<std::string_view, std::vector<Position>> fields_;
  Position* value_ = nullptr;  // in fields_: starts as the key's position and moves to the value

  Schedule schedule_;
  ScheduleChecker checker_;
  // Steps share equal notes and locations.
  std::unordered_map<std::string, std::shared_ptr<const CodePlace>> places_;
  std::unordered_map<std::string, std::shared_ptr<const Location>> locations_;
};

}  // namespace heddle
