#include "cli/schedule_story.h"

#include <fmt/format.h>

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

}  // namespace

std::string schedule_story(const Schedule& schedule, size_t most) {
  std::string out;
  const size_t count = schedule.steps.size(), shown = count > most ? most : count;
  for (size_t i = count - shown; i < count; ++i) {
    if (i == count - shown && i != 0) out += fmt::format("  ... {} steps before\n", i);
    out += fmt::format("  {}\n", what_happens(schedule, schedule.steps[i], i + 1 == count));
  }
  return out;
}

}  // namespace heddle
