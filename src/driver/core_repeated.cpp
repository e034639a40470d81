#include "driver/core_repeated.h"

#include <algorithm>

namespace heddle {
namespace {

// Of a long search the last ones: each is looked at for each candidate.
constexpr size_t kMostTries = 1000, kMostEvents = 1'000'000;

}  // namespace

void RepeatedTries::add(const CoreCandidate& made, const std::vector<heddle_event>& run) {
  Try out{.made = made, .between = {}, .places = {}};
  for (size_t i = made.event; i < run.size() && run[i].thread != made.thread; ++i) {
    out.between.push_back(run[i]);
    out.places.add(run[i]);
    out.alone &= run[i].thread == made.next;
  }
  kept_ += out.between.size();
  tries_.push_back(std::move(out));
  for (; tries_.size() > kMostTries || kept_ > kMostEvents; tries_.pop_front())
    kept_ -= tries_.front().between.size();
}

RepeatedTries::Try* RepeatedTries::find(const CoreCandidate& candidate) {
  const auto found = std::ranges::find_if(tries_, [&](const Try& of) {
    if (of.made.thread != candidate.thread || of.made.next != candidate.next ||
        !same_between(of.made.event, candidate.event, of))
      return false;
    const bool vain = in_vain(candidate, of);
    return vain == in_vain(of.made, of) && (vain || of.alone);
  });
  return found != tries_.end() ? &*found : nullptr;
}

bool RepeatedTries::in_vain(const CoreCandidate& candidate, const Try& of) {
  return candidate.awaited != 0 &&
         std::ranges::none_of(of.between, [&](const heddle_event& event) { return candidate.awaits(event); });
}

bool RepeatedTries::same_between(size_t one, size_t other, const Try& of) const {
  const auto [begin, end] = std::minmax(one, other);
  for (size_t i = begin; i < end; ++i)
    if (events_[i].thread != of.made.thread || of.places.conflict_with(events_[i])) return false;
  return true;
}

}  // namespace heddle
