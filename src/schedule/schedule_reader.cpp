#include "schedule/schedule_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "schedule/schedule_text.h"

namespace heddle {
namespace {

constexpr std::string_view kNext =
    "correct the line (docs/schedule.md describes the form), or make the schedule again";

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<SegmentEnd> parse_end(std::string_view text) {
  for (const SegmentEnd end :
       {SegmentEnd::preempted, SegmentEnd::blocked, SegmentEnd::exited, SegmentEnd::yielded}) {
    if (text == text_of(end)) return end;
  }
  return std::nullopt;
}

// file:line, at the last colon.
std::optional<CodePlace> parse_place(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  CodePlace place{.file = std::string(text.substr(0, colon))};
  const char* stop = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + colon + 1, stop, place.line);
  if (error != std::errc() || end != stop) return std::nullopt;
  return place;
}

}  // namespace

Error ScheduleReader::error_at(Position position, std::string what, std::string why, std::string next) const {
  return Error{.what = "schedule: " + std::move(what),
               .where = fmt::format("{}:{}:{}", origin_, position.line, position.column),
               .why = std::move(why),
               .next = next.empty() ? std::string(kNext) : std::move(next)};
}

Error ScheduleReader::expected(std::string_view what, const TextWord& found, std::string why) const {
  return error_at(position_of(found), fmt::format("expected {}, found {}", what, text_for_message(found.raw)),
                  std::move(why));
}

Result<TextWord> ScheduleReader::word(Quoting quoting) {
  auto found = words_.next(quoting);
  if (found) return found;
  Error& error = found.error();
  return error_at({number_, words_.error_column()}, error.what, error.why, error.next);
}

Result<void> ScheduleReader::end_of_line() {
  const TextWord found = HEDDLE_TRY(word(Quoting::shell));
  if (found.at_end()) return {};
  return expected("the end of the line", found);
}

Result<uint64_t> ScheduleReader::number(const TextWord& word, std::string_view what) {
  uint64_t value = 0;
  if (word.text != word.raw || !all_digits(word.text)) return expected(what, word);
  const char* stop = word.text.data() + word.text.size();
  if (std::from_chars(word.text.data(), stop, value).ec == std::errc()) return value;
  return expected(fmt::format("{} below 2^64", what), word);
}

Result<void> ScheduleReader::checked(const ScheduleChecker::Answer& problem) {
  using ProblemPart = ScheduleProblem::Part;
  if (!problem) return {};
  Position position{number_, 1};
  if (problem->part == ProblemPart::field) {
    const auto found = fields_.find(problem->field);
    if (found != fields_.end()) position = found->second[std::min(problem->item, found->second.size() - 1)];
  } else if (problem->part == ProblemPart::thread) {
    position = thread_;
  } else if (problem->part == ProblemPart::count) {
    position = count_;
  } else if (problem->part == ProblemPart::location) {
    position = location_;
  } else {
    position = verb_;
  }
  return error_at(position, problem->what, problem->why);
}

Result<Schedule> ScheduleReader::read(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // editors of other systems put it there
  while (!text.empty() || number_ == 0) {
    const size_t stop = std::min(text.find('\n'), text.size());
    std::string_view current = text.substr(0, stop);
    text.remove_prefix(std::min(stop + 1, text.size()));
    if (current.ends_with('\r')) current.remove_suffix(1);
    words_ = LineWords(current);
    if (++number_ == 1) {
      HEDDLE_TRY(first_line());
    } else {
      HEDDLE_TRY(line());
    }
  }
  if (part_ == Part::end) return std::move(schedule_);
  return error_at({number_, 1}, "the file ends without its 'end' line",
                  "it has been cut off, or was not written to its end",
                  "copy the file again, or make the schedule again");
}

Result<void> ScheduleReader::first_line() {
  const TextWord first = HEDDLE_TRY(word());
  const TextWord second = HEDDLE_TRY(word());
  const TextWord version = HEDDLE_TRY(word());
  if (first.raw != "heddle" || second.raw != "schedule") {
    return error_at({1, 1},
                    fmt::format("expected 'heddle schedule {}' in the first line, found {}", kScheduleVersion,
                                text_for_message(first.raw)),
                    "this is no schedule", "name a file that heddle wrote with -o");
  }
  const uint64_t found = HEDDLE_TRY(number(version, "the version of the format"));
  HEDDLE_TRY(end_of_line());
  if (found == kScheduleVersion) return {};
  return error_at(
      position_of(version),
      fmt::format("the file has format version {}, this heddle reads version {}", found, kScheduleVersion),
      "it was written by another release of heddle",
      "make the schedule again, or use the heddle that wrote it");
}

Result<void> ScheduleReader::line() {
  const TextWord verb = HEDDLE_TRY(word());
  if (verb.at_end()) return {};
  verb_ = thread_ = count_ = location_ = position_of(verb);
  if (part_ == Part::end) {
    return error_at(verb_, fmt::format("{} stands behind the 'end' line", text_for_message(verb.raw)));
  }
  if (verb.raw == "thread") {
    HEDDLE_TRY(enter(Part::threads, verb));
    return thread();
  }
  for (const StepKind kind : {StepKind::run, StepKind::flush, StepKind::wake, StepKind::timeout}) {
    if (verb.raw != text_of(kind)) continue;
    HEDDLE_TRY(enter(Part::steps, verb));
    return step(kind, verb);
  }
  if (verb.raw == "end") {
    HEDDLE_TRY(enter(Part::end, verb));
    return end_line();
  }
  std::string keys;
  for (const Field& candidate : kFields) {
    if (candidate.key == verb.raw) {
      HEDDLE_TRY(enter(Part::header, verb));
      return field(candidate, verb);
    }
    keys += fmt::format("{}, ", candidate.key);
  }
  if (part_ == Part::header) return expected("a key", verb, "keys are: " + keys + "then: thread");
  return expected(part_ == Part::threads ? "'thread' or a step" : "a step or 'end'", verb,
                  "steps are: run, flush, wake, timeout");
}

// Parts follow each other; the header is checked when it is left.
Result<void> ScheduleReader::enter(Part part, const TextWord& verb) {
  if (part < part_) {
    return error_at(position_of(verb), fmt::format("misplaced {}", text_for_message(verb.raw)),
                    "first the header, then the threads, then the steps");
  }
  if (part_ == Part::header && part != Part::header) HEDDLE_TRY(end_header());
  part_ = part;
  return {};
}

Result<void> ScheduleReader::thread() {
  const TextWord name = HEDDLE_TRY(word());
  thread_ = position_of(name);
  auto parsed = ThreadName::parse(name.raw);
  if (!parsed) return expected("the name of a thread", name, parsed.error().why);
  ScheduleThread thread{.name = *std::move(parsed)};
  HEDDLE_TRY(checked(checker_.thread(thread.name)));
  TextWord next = HEDDLE_TRY(word());
  if (!next.at_end() && !next.is_note_mark()) {
    thread.start = next.text;
    next = HEDDLE_TRY(word());
  }
  if (const auto created = HEDDLE_TRY(note(next))) thread.created = *created;
  schedule_.threads.push_back(std::move(thread));
  return {};
}

Result<ThreadIndex> ScheduleReader::listed_thread() {
  const TextWord name = HEDDLE_TRY(word());
  thread_ = position_of(name);
  const auto parsed = ThreadName::parse(name.raw);
  if (!parsed) return expected("the name of a thread", name, parsed.error().why);
  if (const auto found = checker_.find(*parsed)) return *found;
  return error_at(thread_, fmt::format("thread {} is not listed", parsed->text()),
                  "each thread of a step has a 'thread' line above the steps");
}

Result<void> ScheduleReader::step(StepKind kind, const TextWord& verb) {
  verb_ = position_of(verb);
  Step step{.kind = kind, .thread = HEDDLE_TRY(listed_thread())};
  TextWord next = HEDDLE_TRY(word());
  location_ = count_ = position_of(next);
  if (kind == StepKind::flush && !next.at_end() && !all_digits(next.raw)) {
    auto location = Location::parse(next.text);
    if (!location) return expected("a number of stores or a location", next, location.error().why);
    auto& shared = locations_[next.text];
    if (!shared) shared = std::make_shared<const Location>(*std::move(location));
    step.location = shared;
    next = HEDDLE_TRY(word());
    count_ = position_of(next);
  }
  if (kind == StepKind::run || kind == StepKind::flush) {
    step.count = HEDDLE_TRY(number(next, kind == StepKind::run ? "a number of events" : "a number of stores"));
    next = HEDDLE_TRY(word());
  }
  if (kind == StepKind::run && !next.at_end() && !next.is_note_mark()) {
    const auto end = parse_end(next.raw);
    if (!end) {
      return expected("an end of the run, '@' or the end of the line", next,
                      "a run ends preempted (which need not be said), blocked, exited or yielded");
    }
    step.end = *end;
    next = HEDDLE_TRY(word());
  }
  step.place = HEDDLE_TRY(note(next));
  HEDDLE_TRY(checked(checker_.step(step)));
  schedule_.steps.push_back(std::move(step));
  return {};
}

Result<std::shared_ptr<const CodePlace>> ScheduleReader::note(const TextWord& mark) {
  if (mark.at_end()) return std::shared_ptr<const CodePlace>();
  if (!mark.is_note_mark()) return expected("'@' or the end of the line", mark);
  const TextWord where = HEDDLE_TRY(word());
  auto place = parse_place(where.text);
  if (!place) return expected("a place as file:line", where);
  const TextWord function = HEDDLE_TRY(word());
  if (!function.at_end()) HEDDLE_TRY(end_of_line());
  place->function = function.text;
  auto& shared = places_[fmt::format("{} {}", where.raw, function.raw)];
  if (!shared) shared = std::make_shared<const CodePlace>(*std::move(place));
  return shared;
}

Result<void> ScheduleReader::end_line() {
  const TextWord steps = HEDDLE_TRY(word());
  const uint64_t count = HEDDLE_TRY(number(steps, "the number of steps"));
  HEDDLE_TRY(end_of_line());
  if (count != schedule_.steps.size()) {
    return error_at(position_of(steps),
                    fmt::format("'end' says {} step{}, the file has {}", count, count == 1 ? "" : "s",
                                schedule_.steps.size()),
                    "lines have been lost or added",
                    "copy the file again, or put the number right if you edited it");
  }
  return checked(checker_.finish());
}

Result<Schedule> read_schedule(std::string_view text, const std::string& origin) {
  return ScheduleReader(origin).read(text);
}

}  // namespace heddle
