#include "driver/run_conflicts.h"

#include <algorithm>

namespace heddle {
namespace {

constexpr uint64_t kMostPlaces = 512;  // of one event: what large copies touch behind is not looked at

bool changes_place(const heddle_event& event) {
  return is_sync(event) || writes(event);
}

template <class Visit>
void each_place(const heddle_event& event, Visit visit) {
  if (event.address == 0 || (is_sync(event) && role_of(event) == SyncRole::none)) return;
  const uint64_t first = event.address / 8,
                 last = is_sync(event) ? first : (event.address + std::max<uint64_t>(event.size, 1) - 1) / 8;
  for (uint64_t word = first; word <= last && word - first < kMostPlaces; ++word) visit(word);
}

}  // namespace

void Places::add(const heddle_event& event) {
  each_place(event, [&](uint64_t place) { places_[place] |= changes_place(event); });
}

bool Places::conflict_with(const heddle_event& event) const {
  bool found = false;
  each_place(event, [&](uint64_t place) {
    const auto at = places_.find(place);
    found |= at != places_.end() && (at->second || changes_place(event));
  });
  return found;
}

RunConflicts::RunConflicts(const std::vector<heddle_event>& events,
                           const std::vector<heddle_thread_entry>& threads,
                           const std::vector<heddle_event>& pending)
    : events_(events), own_(threads.size()), born_(threads.size()), left_(threads.size()) {
  for (const heddle_event& event : pending) left_[event.thread] = true;
  std::vector<uint32_t> children(threads.size());
  for (size_t i = 0; i < events.size(); ++i) {
    const heddle_event& event = events[i];
    own_[event.thread].push_back(i);
    each_place(event, [&](uint64_t place) {
      Last& last = last_[place].try_emplace(event.thread).first->second;
      last.any = i + 1;
      if (changes_place(event)) last.change = i + 1;
    });
    const uint32_t kind = is_sync(event) ? event.kind - HEDDLE_EVENT_sync : 0;
    if (kind != HEDDLE_SYNC_thread_create && kind != HEDDLE_SYNC_thread_start_cxx) continue;
    for (size_t child = 1; child < threads.size(); ++child)
      if (threads[child].creator == event.thread && threads[child].child == children[event.thread])
        born_[child] = i + 1;
    ++children[event.thread];
  }
}

bool RunConflicts::can_go_on(uint32_t thread, size_t event) const {
  const std::vector<size_t>& own = own_[thread];
  const auto next = std::ranges::lower_bound(own, event);
  if (event < born_[thread] || next == own.end()) return false;
  return next == own.begin() || (!is_sync(events_[*next]) && !is_sync(events_[*std::prev(next)]));
}

std::optional<size_t> RunConflicts::matters_at(size_t event, uint32_t thread) const {
  for (; event < events_.size() && events_[event].thread != thread; ++event)
    if (left_[thread] || conflicts_later(event, thread)) return event;
  return std::nullopt;
}

bool RunConflicts::conflicts_later(size_t event, uint32_t thread) const {
  bool found = false;
  each_place(events_[event], [&](uint64_t place) {
    const auto threads = last_.find(place);
    if (threads == last_.end()) return;
    const auto last = threads->second.find(thread);
    if (last == threads->second.end()) return;
    found |= (changes_place(events_[event]) ? last->second.any : last->second.change) > event;
  });
  return found;
}

}  // namespace heddle
