#include "solve/address_cases.h"

#include <algorithm>

namespace heddle {
namespace {

constexpr size_t kMostCases = 200;

}  // namespace

AddressCases::AddressCases(const Trace& trace) : trace_(trace) {
  for (uint32_t t = 0; t < trace.threads.size(); ++t)
    for (uint32_t e = 0; e < trace.threads[t].events.size(); ++e)
      if (trace.threads[t].events[e].address_expression) {
        events_.push_back({t, e});
        addresses_.push_back({trace.threads[t].events[e].address});
      }
}

void AddressCases::note(uint32_t access, uint64_t address) {
  const Event& event = trace_.threads[events_[access].thread].events[events_[access].event];
  const uint64_t offset = address - event.object;
  const bool inside =
      event.object_size == 0 || (event.size <= event.object_size && offset <= event.object_size - event.size);
  if (!inside || address + event.size < address) return;
  std::vector<uint64_t>& known = addresses_[access];
  if (std::ranges::find(known, address) == known.end()) known.push_back(address);
}

std::optional<Trace> AddressCases::next() {
  std::vector<uint32_t> chosen(events_.size());
  for (bool more = true; more;) {
    if (given_.size() == kMostCases) {
      complete_ = false;
      return std::nullopt;
    }
    if (given_.insert(chosen).second) {
      Trace trace = trace_;
      for (uint32_t i = 0; i < events_.size(); ++i)
        trace.threads[events_[i].thread].events[events_[i].event].address = addresses_[i][chosen[i]];
      return trace;
    }
    // The next one, as numbers count.
    more = false;
    for (uint32_t i = 0; i < chosen.size() && !more; ++i) {
      more = ++chosen[i] < addresses_[i].size();
      if (!more) chosen[i] = 0;
    }
  }
  return std::nullopt;
}

}  // namespace heddle
