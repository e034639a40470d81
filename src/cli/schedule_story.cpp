#include "cli/schedule_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

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

// Of the events of one step a few are shown: the last ones, reads of what other threads wrote, the first ones.
constexpr size_t kMostShown = 6, kAlwaysLast = 2, kFirst = 2;

std::vector<bool> shown_of(std::span<const StoryEvent> events) {
  std::vector<bool> shown(events.size(), events.size() <= kMostShown);
  if (events.size() <= kMostShown) return shown;
  size_t left = kMostShown;
  const auto show = [&](size_t i) {
    left -= !shown[i];
    shown[i] = true;
  };
  for (size_t i = events.size(); i-- > events.size() - kAlwaysLast;) show(i);
  for (size_t i = events.size(); i-- > 0 && left > 1;)
    if (events[i].of_another) show(i);
  for (size_t i = events.size(); i-- > 0 && left > kFirst;) show(i);
  for (size_t i = 0; i < events.size() && left > 0; ++i) show(i);
  return shown;
}

std::string accesses_text(std::span<const StoryEvent> events, const OwnPlaces& own) {
  std::string out;
  const std::vector<bool> shown = shown_of(events);
  size_t left_out = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    if (!shown[i]) {
      ++left_out;
      continue;
    }
    if (left_out > 0) out += fmt::format("      ... {} more\n", std::exchange(left_out, 0));
    const auto better = own.find(events[i].event);
    const std::optional<CodePlace> place = better == own.end() ? events[i].place : better->second;
    const std::string line = place ? fmt::format("{}:{} ", place->file, place->line) : "";
    out += fmt::format("      {}{}\n", line, events[i].what);
  }
  return out;
}

// Tells `use` of each of the last `most` steps, with its events.
void each_step(const Execution& run, std::span<const StoryEvent> events, size_t most, const auto& use) {
  const size_t count = run.schedule.steps.size(), first = count > most ? count - most : 0;
  auto begin = std::ranges::lower_bound(events, first, {}, &StoryEvent::step);
  // Where threads wait for each other it is all about locks; elsewhere values come first where there are many.
  const bool about_locks = run.failure && !run.failure->waits.empty();
  for (size_t i = first; i < count; ++i) {
    const auto end =
        std::find_if(begin, events.end(), [&](const StoryEvent& event) { return event.step != i; });
    std::vector<StoryEvent> of(begin, end);
    if (of.size() > kMostShown && !about_locks) std::erase_if(of, std::mem_fn(&StoryEvent::is_sync));
    use(i, std::span<const StoryEvent>(of));
    begin = end;
  }
}

}  // namespace

std::string schedule_story(const Execution& run, const CodeNames& names, const OwnPlaces& own, size_t most) {
  const Schedule& schedule = run.schedule;
  const size_t count = schedule.steps.size();
  std::string out = count > most ? fmt::format("  ... {} steps before\n", count - most) : "";
  const std::vector<StoryEvent> events = event_story(run, names);
  each_step(run, events, most, [&](size_t step, std::span<const StoryEvent> of) {
    out += fmt::format("  {}\n{}", what_happens(schedule, schedule.steps[step], step + 1 == count),
                       accesses_text(of, own));
  });
  return out;
}

std::vector<size_t> foreign_events(const Execution& run, const CodeNames& names, size_t most) {
  std::vector<size_t> out;
  const std::vector<StoryEvent> events = event_story(run, names);
  each_step(run, events, most, [&](size_t, std::span<const StoryEvent> of) {
    const std::vector<bool> shown = shown_of(of);
    for (size_t i = 0; i < of.size(); ++i)
      if (shown[i] && !is_own(of[i].place)) out.push_back(of[i].event);
  });
  std::ranges::reverse(out);
  return out;
}

}  // namespace heddle
