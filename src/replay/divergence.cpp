#include "replay/divergence.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "abi/sync_kind.h"
#include "schedule/measures.h"
#include "schedule/schedule_text.h"

namespace heddle {
namespace {

using Kind = Divergence::Kind;

// Indexed by Kind.
constexpr auto kKinds =
    std::to_array<std::string_view>({"steps", "passed", "failure", "length", "values", "stopped"});

const std::vector<std::string>& outside_causes() {
  static const std::vector<std::string> causes = {
      "the program reads something that is not the same each time: a file, standard input, the network, an "
      "environment "
      "variable given with --env",
      "a library that heddle did not build runs threads or races of its own",
      "accesses that heddle takes for thread-local are shared (inline assembly, pointers from unknown "
      "libraries)"};
  return causes;
}

std::vector<std::string> with_outside_causes(std::string first) {
  std::vector<std::string> out = {std::move(first)};
  out.insert(out.end(), outside_causes().begin(), outside_causes().end());
  return out;
}

std::string ending(const Execution& run) {
  switch (run.outcome) {
    case Outcome::passed:
      return fmt::format("the program ends with exit code {}", run.exit_code);
    case Outcome::failed:
      return run.failure->identity;
    case Outcome::limit:
      return "the limit of events was reached";
    case Outcome::uncontrolled:
      return fmt::format("the program waits outside heddle's control: {}", run.text);
    case Outcome::interrupted:
      return "interrupted";
    case Outcome::out_of_time:
      return "the time is over";
    default:
      return run.text;
  }
}

// The step that performs the event of this number (from 0), counted from 1.
std::optional<uint64_t> step_of_event(const Schedule& schedule, uint64_t event) {
  uint64_t before = 0;
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    if (schedule.steps[i].kind != StepKind::run) continue;
    before += schedule.steps[i].count;
    if (event < before) return i + 1;
  }
  return std::nullopt;
}

void name_step(Divergence& divergence, const Schedule& schedule, uint64_t step) {
  if (step == 0 || step > schedule.steps.size()) return;
  const Step& at = schedule.steps[step - 1];
  divergence.step = step;
  divergence.step_text = step_text(schedule, at);
  if (!divergence.place && at.place) divergence.place = *at.place;
}

std::string event_text(const heddle_event& event, const Execution& run) {
  static constexpr auto kAccesses =
      std::to_array<std::string_view>({"read", "write", "update", "fence", "call"});
  const std::string kind = event.kind >= HEDDLE_EVENT_sync ? sync_name(event.kind - HEDDLE_EVENT_sync)
                           : event.kind < kAccesses.size() ? std::string(kAccesses[event.kind])
                                                           : "event";
  const std::string thread =
      event.thread < run.schedule.threads.size() ? run.schedule.threads[event.thread].name.text() : "?";
  return fmt::format("thread {}: {} at {:#x}, {} bytes, value {:#x}, {:#x} after", thread, kind, event.address,
                     event.size, event.value, event.after);
}

bool same_event(const heddle_event& a, const heddle_event& b) {
  return a.site == b.site && a.thread == b.thread && a.kind == b.kind && a.address == b.address &&
         a.size == b.size && a.value == b.value && (a.after == b.after || a.kind == HEDDLE_EVENT_write);
}

}  // namespace

std::string_view text_of(Kind kind) {
  return kKinds[static_cast<size_t>(kind)];
}

std::string Divergence::report() const {
  std::string out;
  switch (kind) {
    case Kind::steps:
      out = fmt::format("the program cannot follow the schedule after event {}", event);
      break;
    case Kind::passed:
      out = "the program did not fail";
      break;
    case Kind::failure:
      out = "the program failed in another way";
      break;
    case Kind::length:
      out = "the same failure, after another number of events";
      break;
    case Kind::values:
      out = fmt::format("the same events, but other values{}",
                        step || event != 0 ? fmt::format(" from event {} on", event + 1) : "");
      break;
    case Kind::stopped:
      out = "the run did not come to its end";
      break;
  }
  out += "\n";
  if (step) out += fmt::format("  step {}:   {}\n", *step, step_text);
  if (place) out += fmt::format("  at:       {}\n", place_text(place));
  out += fmt::format("  expected: {}\n  actual:   {}\n", expected, actual);
  for (size_t i = 0; i < causes.size(); ++i)
    out += fmt::format("  {} {}\n", i == 0 ? "likely:  " : "      or:", causes[i]);
  return out;
}

Json Divergence::to_json() const {
  return {{"kind", text_of(kind)},
          {"event", event},
          {"step", step ? Json(*step) : Json()},
          {"step_text", step_text},
          {"place", place_json(place)},
          {"expected", expected},
          {"actual", actual},
          {"likely_causes", causes}};
}

std::optional<Divergence> divergence_from(const Schedule& schedule, const Execution& run) {
  const ScheduleHeader& header = schedule.header;
  Divergence out{.event = run.events, .place = run.place, .actual = ending(run)};
  out.expected = header.failure.empty() ? "a run along the schedule" : header.failure;
  switch (run.outcome) {
    case Outcome::diverged:
      out.kind = Kind::steps;
      if (run.events < measure(schedule).events) {
        name_step(out, schedule, run.step);
        if (!out.step_text.empty()) out.expected = out.step_text;
      }
      out.causes = with_outside_causes("the schedule was edited, or made for other arguments");
      return out;
    case Outcome::passed:
      if (header.failure.empty()) break;
      out.kind = Kind::passed;
      out.causes =
          with_outside_causes("the schedule is a prefix, or was edited, and the failure is not behind it");
      return out;
    case Outcome::failed:
      if (header.failure.empty() || run.failure->identity == header.failure) break;
      out.kind = Kind::failure;
      out.causes = outside_causes();
      return out;
    default:
      out.kind = Kind::stopped;
      return out;
  }
  const uint64_t events = measure(run.schedule).events;
  if (header.events && *header.events != events) {
    out.kind = Kind::length;
    out.event = events;
    out.expected = fmt::format("{} events", *header.events);
    out.actual = fmt::format("{} events", events);
    out.causes = outside_causes();
    return out;
  }
  const std::string values = fmt::format("{:016x}", run.values);
  if (!header.values.empty() && header.values != values) {
    out.kind = Kind::values;
    out.event = 0;
    out.place.reset();
    out.expected = fmt::format("values with hash {}, as when the schedule was made", header.values);
    out.actual = fmt::format("values with hash {}", values);
    out.causes = with_outside_causes("another machine, kernel or C library than when the schedule was made");
    return out;
  }
  return std::nullopt;
}

std::optional<Divergence> divergence_between(const Execution& first, const Execution& second,
                                             const CodeNames& names) {
  if (first.values == second.values && ending(first) == ending(second)) return std::nullopt;
  Divergence out{.kind = Kind::values, .expected = ending(first), .actual = ending(second)};
  out.causes = outside_causes();
  const auto& a = first.kept_events;
  const auto& b = second.kept_events;
  const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end(), same_event);
  if (left != a.end() && right != b.end()) {
    out.event = static_cast<uint64_t>(left - a.begin());
    out.place = names.place_of_site(right->site);
    out.expected = event_text(*left, first) + " (first run)";
    out.actual = event_text(*right, second);
    if (const auto step = step_of_event(first.schedule, out.event)) name_step(out, first.schedule, *step);
    return out;
  }
  const auto [mine, other] = std::mismatch(first.step_values.begin(), first.step_values.end(),
                                           second.step_values.begin(), second.step_values.end());
  if (mine != first.step_values.end() && other != second.step_values.end()) {
    const auto step = static_cast<uint64_t>(mine - first.step_values.begin());
    for (uint64_t i = 0; i < step && i < first.schedule.steps.size(); ++i)
      if (first.schedule.steps[i].kind == StepKind::run) out.event += first.schedule.steps[i].count;
    name_step(out, first.schedule, step + 1);
    out.expected = fmt::format("values with hash {:016x} in this step (first run)", *mine);
    out.actual = fmt::format("values with hash {:016x}", *other);
  }
  return out;
}

}  // namespace heddle
