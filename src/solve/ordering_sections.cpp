#include "solve/ordering_theory.h"

#include <algorithm>

namespace heddle {

// Sections of mutexes exclude each other.

void OrderingTheory::add_exclusive(const std::vector<std::vector<Section>>& sections_of_threads) {
  const auto mutex = static_cast<uint32_t>(exclusive_.size());
  exclusive_.push_back(sections_of_threads);
  for (const std::vector<Section>& sections : sections_of_threads)
    for (uint32_t i = 0; i < sections.size(); ++i) sections_at_[sections[i].begin].push_back({mutex, i});
}

// What begins before another section ends, ends before that begins. Of a thread's sections only the first one
// says something new.
bool OrderingTheory::exclude_next(uint32_t mutex, const Section& first, uint32_t thread) {
  if (!is_executed(first.begin)) return true;
  const std::vector<Section>& sections = exclusive_[mutex][thread];
  const auto ends_after = [&](const Section& section) {
    return section.end == model_.end || order().is_before(first.begin, section.end);
  };
  const auto next = std::ranges::partition_point(sections, [&](const Section& s) { return !ends_after(s); });
  if (next == sections.end() || !is_executed(next->begin)) return true;
  Cause cause{.source = solver_.truth(), .path = {first.begin, model_.end}, .more = {next->begin, model_.end}};
  if (next->end != model_.end) cause.third = {first.begin, next->end};
  if (first.end != model_.end) return derive_before(first.end, next->begin, cause);
  cause.more = {};
  return derive(before(model_.end, next->begin), cause);
}

bool OrderingTheory::follow_section(const ChainOrder::Change& change, const SectionPlace& place) {
  const std::vector<std::vector<Section>>& threads = exclusive_[place.mutex];
  const uint32_t own = order().chain_of(change.from);
  const Section& section = threads[own][place.section];
  if (change.to != order().chain_of(model_.end))
    return change.to >= threads.size() || exclude_next(place.mutex, section, change.to);
  for (uint32_t thread = 0; thread < threads.size(); ++thread) {
    if (thread == own) continue;
    if (!exclude_next(place.mutex, section, thread)) return false;
    // The last one that begins before this one ends.
    const auto behind = std::ranges::partition_point(
        threads[thread], [&](const Section& other) { return order().is_before(other.begin, section.end); });
    if (behind != threads[thread].begin() && !exclude_next(place.mutex, *std::prev(behind), own)) return false;
  }
  return true;
}

// What is known from the start.
bool OrderingTheory::exclude_all() {
  for (uint32_t mutex = 0; mutex < exclusive_.size(); ++mutex)
    for (uint32_t own = 0; own < exclusive_[mutex].size(); ++own)
      for (const Section& section : exclusive_[mutex][own])
        for (uint32_t thread = 0; thread < exclusive_[mutex].size(); ++thread)
          if (thread != own && !exclude_next(mutex, section, thread)) return false;
  return true;
}

}  // namespace heddle
