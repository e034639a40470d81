#include "schedule/schedule_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace heddle {
namespace {

using Part = ScheduleProblem::Part;
using Answer = ScheduleChecker::Answer;

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool holds_nul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

ScheduleProblem bad_field(std::string_view key, std::string what, std::string why = {}) {
  return {.part = Part::field, .field = std::string(key), .what = std::move(what), .why = std::move(why)};
}

ScheduleProblem bad(Part part, std::string what, std::string why = {}) {
  return {.part = part, .what = std::move(what), .why = std::move(why)};
}

std::string counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

Answer missing_fields(const ScheduleHeader& header) {
  std::vector<std::string_view> missing;
  if (header.program.empty()) missing.push_back("program");
  if (header.identity.empty()) missing.push_back("identity");
  if (header.folder.empty()) missing.push_back("folder");
  if (header.command.empty()) missing.push_back("command");
  if (missing.empty()) return std::nullopt;
  return bad_field(missing.front(), fmt::format("the header lacks {}", fmt::join(missing, ", ")),
                   "without these the run cannot be started again");
}

// Neither argv nor the environment can hold a NUL byte; in the other fields it could only be an accident.
Answer nul_bytes(const ScheduleHeader& header) {
  std::string_view key;
  if (holds_nul(header.program)) key = "program";
  if (holds_nul(header.folder)) key = "folder";
  if (std::ranges::any_of(header.command, holds_nul)) key = "command";
  if (holds_nul(header.input)) key = "input";
  if (holds_nul(header.strategy)) key = "strategy";
  if (holds_nul(header.failure)) key = "failure";
  if (key.empty()) return std::nullopt;
  return bad_field(key, fmt::format("'{}' holds a NUL byte", key), "NUL ends a text for the operating system");
}

Answer environment(const ScheduleHeader& header) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < header.environment.size(); ++i) {
    const std::string& setting = header.environment[i];
    ScheduleProblem problem = bad_field("environment", "");
    problem.item = i;
    const size_t equals = setting.find('=');
    if (equals == 0 || equals == std::string::npos) {
      problem.what = "'environment' takes NAME=VALUE";
      return problem;
    }
    const std::string_view name = std::string_view(setting).substr(0, equals);
    if (!names.insert(name).second) {
      problem.what = "this variable is set twice";
      return problem;
    }
    if (holds_nul(setting)) {
      problem.what = "'environment' holds a NUL byte";
      return problem;
    }
  }
  return std::nullopt;
}

}  // namespace

Answer ScheduleChecker::header(const ScheduleHeader& header) {
  model_ = header.memory_model;
  prefix_ = header.prefix;
  expected_events_ = header.events;
  if (Answer problem = missing_fields(header)) return problem;
  if (header.identity.size() != 32 || !is_hex(header.identity)) {
    return bad_field("identity", "'identity' takes 32 hexadecimal digits (0-9, a-f)",
                     "it names the content of the program model");
  }
  if (!is_hex(header.build_id)) return bad_field("build-id", "'build-id' takes hexadecimal digits (0-9, a-f)");
  if (!is_hex(header.values)) return bad_field("values", "'values' takes hexadecimal digits (0-9, a-f)");
  if (!header.folder.starts_with('/')) return bad_field("folder", "'folder' takes an absolute path");
  if (!header.input.empty() && !header.input.starts_with('/'))
    return bad_field("input", "'input' takes an absolute path");
  if (header.failure.find_first_of("\r\n") != std::string::npos) {
    return bad_field("failure", "'failure' takes a text of one line");
  }
  if (Answer problem = nul_bytes(header)) return problem;
  return environment(header);
}

std::optional<ThreadIndex> ScheduleChecker::find(const ThreadName& name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) return std::nullopt;
  return found->second;
}

Answer ScheduleChecker::thread(const ThreadName& name) {
  Thread thread{.name = name};
  if (!name.is_main()) {
    thread.creator = find(name.parent());
    if (!thread.creator) {
      return bad(Part::thread,
                 fmt::format("thread {} is listed, its creator {} is not", name.text(), name.parent().text()),
                 "each thread stands after the one that creates it");
    }
  }
  if (!index_.emplace(name, ThreadIndex(threads_.size())).second) {
    return bad(Part::thread, fmt::format("thread {} is listed twice", name.text()));
  }
  threads_.push_back(std::move(thread));
  return std::nullopt;
}

// Creating a thread is an event of its creator: the child of index k needs k + 1 of them.
Answer ScheduleChecker::alive(const Thread& thread, StepKind kind) const {
  if (thread.creator) {
    const Thread& creator = threads_[thread.creator->index()];
    const uint64_t needed = uint64_t{thread.name.index_in_parent()} + 1;
    if (creator.events < needed) {
      return bad(Part::thread, fmt::format("thread {} cannot exist yet", thread.name.text()),
                 fmt::format("its creator {} has performed {}; creating child {} takes at least {}",
                             creator.name.text(), counted(creator.events, "event"), needed - 1, needed));
    }
  }
  // Its last stores may become visible later; all else has ended.
  if (thread.exited && kind != StepKind::flush) {
    return bad(Part::thread, fmt::format("thread {} has exited in an earlier step", thread.name.text()));
  }
  return std::nullopt;
}

Answer ScheduleChecker::run(const Step& step, Thread& thread) {
  if (step.count == 0) return bad(Part::count, "a run of 0 events", "a run takes at least one event");
  if (step.location) return bad(Part::location, "a run names no location");
  if (__builtin_add_overflow(events_, step.count, &events_)) {
    return bad(Part::count, "more than 2^64 events in all");
  }
  thread.events += step.count;
  thread.exited = step.end == SegmentEnd::exited;
  return std::nullopt;
}

Answer ScheduleChecker::flush(const Step& step, Thread& thread) const {
  if (step.count == 0) return bad(Part::count, "a flush of 0 stores", "a flush takes at least one store");
  if (model_ == MemoryModel::sc) {
    return bad(Part::verb, "there is nothing to flush under memory model sc", "its stores are visible at once");
  }
  if (model_ == MemoryModel::tso && step.location) {
    return bad(Part::location, "a flush names no location under memory model tso",
               "there each thread has one buffer: flush THREAD N");
  }
  if (model_ == MemoryModel::pso && !step.location) {
    return bad(Part::count, "a flush names a location under memory model pso",
               "there each thread has a buffer for each location: flush THREAD LOCATION N");
  }
  if (step.location && step.location->has_thread() && !find(step.location->thread)) {
    return bad(Part::location, fmt::format("thread {} is not listed", step.location->thread.text()));
  }
  if (thread.events - thread.flushed < step.count) {
    return bad(Part::count, fmt::format("thread {} cannot have so many buffered stores", thread.name.text()),
               fmt::format("it has performed {} and flushed {}", counted(thread.events, "event"),
                           counted(thread.flushed, "store")));
  }
  thread.flushed += step.count;
  return std::nullopt;
}

Answer ScheduleChecker::step(const Step& step) {
  if (step.thread.index() >= threads_.size()) return bad(Part::thread, "the thread of the step is not listed");
  Thread& thread = threads_[step.thread.index()];
  if (Answer problem = alive(thread, step.kind)) return problem;
  if (step.kind == StepKind::run) return run(step, thread);
  if (step.end != SegmentEnd::preempted) {
    return bad(Part::verb, fmt::format("a {} has no end", text_of(step.kind)), "only runs end for a reason");
  }
  if (step.kind == StepKind::flush) return flush(step, thread);
  if (step.location || step.count != 1) {
    return bad(Part::verb, fmt::format("a {} names a thread and nothing else", text_of(step.kind)));
  }
  if (thread.events == 0 && step.kind == StepKind::wake) {  // choices of a harness end "by time", too
    return bad(Part::thread, fmt::format("thread {} cannot be waiting", thread.name.text()),
               "it has performed no event yet");
  }
  return std::nullopt;
}

Answer ScheduleChecker::finish() const {
  if (threads_.empty())
    return bad(Part::thread, "no thread is listed", "at least the main thread, 0, is there");
  if (!expected_events_) return std::nullopt;
  if (prefix_ ? events_ > *expected_events_ : events_ != *expected_events_) {
    return bad_field(
        "events",
        fmt::format("the header expects {}, the steps hold {}", counted(*expected_events_, "event"), events_),
        "a step has been lost, added or changed");
  }
  return std::nullopt;
}

Result<void> check_schedule(const Schedule& schedule) {
  ScheduleChecker checker;
  const auto error = [](const ScheduleProblem& problem, std::string where) {
    return Error{.what = "schedule: " + problem.what, .where = std::move(where), .why = problem.why};
  };
  if (const auto problem = checker.header(schedule.header)) return error(*problem, "header");
  for (size_t i = 0; i < schedule.threads.size(); ++i) {
    if (const auto problem = checker.thread(schedule.threads[i].name)) {
      return error(*problem, fmt::format("thread {}", i + 1));
    }
  }
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    if (const auto problem = checker.step(schedule.steps[i]))
      return error(*problem, fmt::format("step {}", i + 1));
  }
  if (const auto problem = checker.finish()) return error(*problem, "header");
  return {};
}

}  // namespace heddle
