#include "driver/core_earlier.h"

#include <algorithm>

#include "driver/locks_of_run.h"

namespace heddle {
namespace {

bool loads(const heddle_event& event) {
  return event.kind == HEDDLE_EVENT_read || event.kind == HEDDLE_EVENT_update;
}

bool stores_to(const heddle_event& event, const heddle_event& read) {
  return (event.kind == HEDDLE_EVENT_write || event.kind == HEDDLE_EVENT_update) &&
         event.address < read.address + read.size && read.address < event.address + event.size;
}

// The last read of the thread behind the preemption that saw something else than in the run before the two
// part. Nothing: there is none, or the thread came to what is awaited.
std::optional<size_t> misleading_read(const CoreCandidate& made, const std::vector<heddle_event>& run,
                                      const std::vector<heddle_event>& tried) {
  const auto next_in = [&](const std::vector<heddle_event>& events, size_t from) {
    while (from < events.size() && events[from].thread != made.awaited_of) ++from;
    return from;
  };
  std::optional<size_t> found;
  for (size_t i = next_in(run, made.event), j = next_in(tried, made.event); i < run.size();
       i = next_in(run, i + 1), j = next_in(tried, j + 1)) {
    if (j == tried.size() || run[i].site != tried[j].site || run[i].kind != tried[j].kind) return found;
    if (made.awaits(tried[j])) return std::nullopt;
    if (loads(tried[j]) && tried[j].value != run[i].value) found = j;
  }
  return std::nullopt;
}

}  // namespace

std::optional<size_t> earlier_preemption(const CoreCandidate& made, const std::vector<heddle_event>& run,
                                         const std::vector<heddle_event>& tried, size_t threads) {
  const std::optional<size_t> read = misleading_read(made, run, tried);
  if (!read) return std::nullopt;
  size_t write = *read;
  while (write-- > 0)
    if (stores_to(tried[write], tried[*read])) break;
  if (write >= made.event || tried[write].thread != made.thread) return std::nullopt;
  return LocksOfRun(tried, threads).outside(write, *read);
}

}  // namespace heddle
