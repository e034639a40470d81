#include "schedule/measures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "schedule/schedule_text.h"
#include "schedule/text_words.h"

namespace heddle {
namespace {

bool has_count(const Step& step) {
  return step.kind == StepKind::run || step.kind == StepKind::flush;
}

// Goes through the steps in pieces: a run of 5 can be taken as 3 and 2.
class Cursor {
 public:
  explicit Cursor(const Schedule& schedule) : schedule_(schedule) { load(); }

  bool done() const { return index_ == schedule_.steps.size(); }
  size_t index() const { return index_; }
  const Step& step() const { return schedule_.steps[index_]; }
  uint64_t left() const { return left_; }
  std::string text() const {
    if (done()) return schedule_.header.prefix ? "the end of the prefix" : "the end";
    return fmt::format("'{}'", step_text(schedule_, step()));
  }

  void take(uint64_t count) {
    left_ -= count;
    if (left_ > 0) return;
    ++index_;
    load();
  }

 private:
  void load() { left_ = done() ? 0 : has_count(step()) ? step().count : 1; }

  const Schedule& schedule_;
  size_t index_ = 0;
  uint64_t left_ = 0;
};

bool same_target(const Schedule& left, const Step& mine, const Schedule& right, Step other) {
  if (left.name_of(mine.thread) != right.name_of(other.thread)) return false;
  other.thread = mine.thread;
  return same_target(mine, other);
}

std::string words(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& word : list) out += (out.empty() ? "" : " ") + quote_word(word, Quoting::shell);
  return out.empty() ? "nothing" : out;
}

// What the header makes the program do; empty when both say the same.
std::string header_difference(const ScheduleHeader& left, const ScheduleHeader& right) {
  const auto text = [](std::string_view what, std::string_view mine, std::string_view other) {
    return fmt::format("{}: {} in the first, {} in the second", what, mine, other);
  };
  if (left.identity != right.identity) return text("different programs", left.identity, right.identity);
  if (left.memory_model != right.memory_model) {
    return text("different memory models", text_of(left.memory_model), text_of(right.memory_model));
  }
  if (left.folder != right.folder)
    return text("different folders", words({left.folder}), words({right.folder}));
  if (left.command != right.command)
    return text("different commands", words(left.command), words(right.command));
  if (left.input != right.input) return text("different inputs", words({left.input}), words({right.input}));
  // Variables are set, not executed: their order is no difference.
  auto mine = left.environment, other = right.environment;
  std::ranges::sort(mine);
  std::ranges::sort(other);
  if (mine != other) return text("different environments", words(mine), words(other));
  return {};
}

}  // namespace

ScheduleMeasures measure(const Schedule& schedule) {
  ScheduleMeasures result;
  const Step* last_run = nullptr;
  for (const Step& step : schedule.steps) {
    if (step.kind == StepKind::flush) result.flushed_stores += step.count;
    if (step.kind == StepKind::wake) ++result.wakes;
    if (step.kind == StepKind::timeout) ++result.timeouts;
    if (step.kind != StepKind::run) continue;
    result.events += step.count;
    if (last_run == nullptr || last_run->thread != step.thread) {
      ++result.segments;
      if (last_run != nullptr && last_run->end == SegmentEnd::preempted) ++result.preemptions;
    }
    last_run = &step;
  }
  result.switches = result.segments == 0 ? 0 : result.segments - 1;
  return result;
}

Schedule normalised(Schedule schedule) {
  std::vector<Step> merged;
  for (Step& step : schedule.steps) {
    // Wakes have no number: two of them are two.
    if (!merged.empty() && has_count(step) && same_target(merged.back(), step)) {
      uint64_t sum = 0;
      if (!__builtin_add_overflow(merged.back().count, step.count, &sum)) {
        merged.back().count = sum;
        merged.back().end = step.end;
        continue;
      }
    }
    merged.push_back(std::move(step));
  }
  schedule.steps = std::move(merged);
  return schedule;
}

Schedule prefix_of(const Schedule& schedule, uint64_t events) {
  Schedule result{.header = schedule.header, .threads = schedule.threads};
  result.header.prefix = true;
  result.header.failure.clear();
  result.header.events.reset();
  result.header.values.clear();
  if (measure(schedule).events <= events) {
    result.steps = schedule.steps;
    return result;
  }
  for (const Step& step : schedule.steps) {
    if (events == 0) break;
    result.steps.push_back(step);
    if (step.kind != StepKind::run) continue;
    Step& last = result.steps.back();
    if (last.count > events) {
      last.count = events;
      last.end = SegmentEnd::preempted;  // it goes on in the whole schedule
    }
    events -= last.count;
  }
  return result;
}

std::optional<ScheduleDifference> difference(const Schedule& left, const Schedule& right) {
  if (std::string text = header_difference(left.header, right.header); !text.empty()) {
    return ScheduleDifference{.text = std::move(text)};
  }
  Cursor mine(left), other(right);
  uint64_t event = 0;
  while (!mine.done() && !other.done() && same_target(left, mine.step(), right, other.step())) {
    const uint64_t common = std::min(mine.left(), other.left());
    if (mine.step().kind == StepKind::run) event += common;
    mine.take(common);
    other.take(common);
  }
  const bool same_end = mine.done() && other.done() && left.header.prefix == right.header.prefix;
  if (same_end) return std::nullopt;
  return ScheduleDifference{
      event, mine.index(), other.index(),
      fmt::format("after {} event{}: {} (step {}) in the first, {} (step {}) in the second", event,
                  event == 1 ? "" : "s", mine.text(), mine.index() + 1, other.text(), other.index() + 1)};
}

}  // namespace heddle
