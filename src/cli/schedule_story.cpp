#include "cli/schedule_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "replay/event_story.h"

namespace heddle {
namespace {

std::string_view why_it_stops(const Step& step) {
  switch (step.end) {
    case SegmentEnd::preempted:
      return "interrupted";
    case SegmentEnd::blocked:
      return "waits";
    case SegmentEnd::exited:
      return "ends";
    case SegmentEnd::yielded:
      return "gives way";
  }
  return "";
}

std::string what_happens(const Schedule& schedule, const Step& step, bool last) {
  const std::string thread = schedule.name_of(step.thread).text();
  const std::string from =
      step.place ? fmt::format(" from {}:{} {}", step.place->file, step.place->line, step.place->function) : "";
  switch (step.kind) {
    case StepKind::run:
      return fmt::format("thread {}{}, {}", thread, from, last ? "fails" : why_it_stops(step));
    case StepKind::flush:
      return fmt::format("thread {}: {} of its stores become visible{}", thread, step.count, from);
    case StepKind::wake:
      return fmt::format("thread {} is woken without a signal", thread);
    case StepKind::timeout:
      return fmt::format("thread {}: its time is over", thread);
  }
  return "";
}

// Of one step: the first and the last few.
std::string accesses_text(std::span<const StoryEvent> events) {
  constexpr size_t kFirst = 2, kLast = 4;
  std::string out;
  for (size_t i = 0; i < events.size(); ++i) {
    if (i == kFirst && events.size() > kFirst + kLast) {
      out += fmt::format("      ... {} more\n", events.size() - kFirst - kLast);
      i = events.size() - kLast;
    }
    const std::string line =
        events[i].place ? fmt::format("{}:{} ", events[i].place->file, events[i].place->line) : "";
    out += fmt::format("      {}{}\n", line, events[i].what);
  }
  return out;
}

}  // namespace

std::string schedule_story(const Execution& run, const CodeNames& names, size_t most) {
  const Schedule& schedule = run.schedule;
  const std::vector<StoryEvent> events = event_story(run, names);
  std::string out;
  const size_t count = schedule.steps.size(), first = count > most ? count - most : 0;
  if (first != 0) out += fmt::format("  ... {} steps before\n", first);
  auto begin = std::ranges::lower_bound(events, first, {}, &StoryEvent::step);
  for (size_t i = first; i < count; ++i) {
    const auto end =
        std::find_if(begin, events.end(), [&](const StoryEvent& event) { return event.step != i; });
    out += fmt::format("  {}\n{}", what_happens(schedule, schedule.steps[i], i + 1 == count),
                       accesses_text({begin, end}));
    begin = end;
  }
  return out;
}

}  // namespace heddle
