#include "driver/own_places.h"

#include <algorithm>
#include <charconv>

#include "base/library_file.h"
#include "replay/interrupt.h"

namespace heddle {
namespace {

constexpr size_t kMostRuns = 60;
constexpr std::chrono::seconds kTime(3);

}  // namespace

bool is_own(const std::optional<CodePlace>& place) {
  return place && !is_library_file(place->file);
}

Result<OwnPlaces> own_places(const Execution& run, std::span<const size_t> events, Executor& executor,
                             const RunRules& rules) {
  OwnPlaces out;
  const auto deadline = std::chrono::steady_clock::now() + kTime;
  size_t runs = 0;
  for (const size_t event : events) {
    if (event == 0 || runs++ == kMostRuns || interrupted() || std::chrono::steady_clock::now() >= deadline)
      break;
    RunRules until = rules;
    until.max_events = event;
    const Execution stopped =
        HEDDLE_TRY(executor.execute({.schedule = &run.schedule, .rules = until, .deadline = deadline}));
    if (stopped.outcome != Outcome::limit) continue;
    const auto own = std::ranges::find_if(stopped.stack, is_own, &StackFrame::place);
    if (own != stopped.stack.end()) out[event] = *own->place;
  }
  return out;
}

std::optional<size_t> release_event(const Execution& run) {
  if (!run.failure || !run.failure->other) return std::nullopt;
  std::string_view text = run.failure->address;
  if (!text.starts_with("0x")) return std::nullopt;
  text.remove_prefix(2);
  uint64_t address = 0;
  std::from_chars(text.data(), text.data() + text.size(), address, 16);
  for (size_t i = run.kept_events.size(); i-- > 0;) {
    const heddle_event& event = run.kept_events[i];
    if (event.kind == HEDDLE_EVENT_call && event.order == HEDDLE_CALL_frees && event.address <= address &&
        address - event.address < std::max<uint64_t>(event.size, 1))
      return i;
  }
  return std::nullopt;
}

}  // namespace heddle
