#include "solve/ordering_model.h"

#include <algorithm>
#include <map>

#include "solve/ordering_sequence.h"

namespace heddle {
namespace {

constexpr size_t kMostCandidates = 4'000'000;

}  // namespace

void OrderingModel::add_accesses() {
  const std::vector<ThreadTrace>& threads = problem_->trace->threads;
  for (uint32_t t = 0; t < threads.size(); ++t) {
    std::map<uint32_t, uint32_t> last;  // by cell: the thread's last write
    for (uint32_t e = 0; e < threads[t].events.size(); ++e) {
      const Event& event = threads[t].events[e];
      if (!is_access(event.kind) && event.kind != EventKind::semaphore_value) continue;
      const auto [first, behind] = is_access(event.kind) ? cells_of(event) : std::pair(0U, 0U);
      if (reads_value(event.kind)) {
        read_event_of_[t][e] = static_cast<uint32_t>(read_events.size());
        read_events.push_back({.thread = t,
                               .event = e,
                               .moment = moments_[t][e],
                               .first = static_cast<uint32_t>(reads.size()),
                               .count = behind - first});
        for (uint32_t cell = first; cell < behind; ++cell) {
          const auto own = last.find(cell);
          reads.push_back({.event = read_event_of_[t][e],
                           .cell = cell,
                           .own = own == last.end() ? kInitial : own->second,
                           .candidates = {}});
        }
      }
      if (!writes_value(event.kind)) continue;
      const uint32_t write = write_of_[t][e];
      const uint32_t chain = order.chain_of(writes[write].visible);
      const uint32_t place = order.place_of(writes[write].visible);
      for (uint32_t cell = first; cell < behind; ++cell) {
        last[cell] = write;
        std::vector<OrderingCell::Chain>& chains = cells[cell].chains;
        auto of = std::ranges::find(chains, chain, &OrderingCell::Chain::chain);
        if (of == chains.end()) of = chains.insert(of, {.chain = chain, .places = {}, .writes = {}});
        if (!of->places.empty() && of->places.back() == place) {
          of->writes.back() = write;  // of one step only the last is ever seen
        } else {
          of->places.push_back(place);
          of->writes.push_back(write);
        }
      }
    }
  }
}

void OrderingModel::add_candidates(const std::function<bool()>& stopped) {
  find_times();
  for (size_t i = 0; i < reads.size() && not_covered.empty(); ++i) {
    find_candidates(reads[i]);
    candidates += reads[i].candidates.size();
    if (candidates > kMostCandidates) not_covered = "there are too many writes that reads may read from";
    if (i % 64 == 0 && stopped()) not_covered = "the time was over, or it was stopped";
  }
}

// What such an order does not have comes behind.
void OrderingModel::find_times() {
  times.assign(order.moments(), 0);
  uint64_t time = 0;
  const std::vector<uint32_t> no_sources(reads.size(), UINT32_MAX);
  const OrderingSequence sequence(*this, no_sources, OrderingSequence::Next::round);
  for (const Moment moment : sequence.moments()) times[moment] = ++time;
  for (Moment moment = 0; moment < order.moments(); ++moment) {
    if (times[moment] != 0) continue;
    times[moment] = time + 1;
    for (uint32_t chain = 0; chain < order.chains(); ++chain)
      times[moment] += order.count_before(moment, chain);
  }
}

uint64_t OrderingModel::distance(const OrderingRead& read, uint32_t write) const {
  constexpr uint64_t kFuture = uint64_t{1} << 40;  // later than all
  const uint64_t now = times[read_events[read.event].moment];
  const uint64_t then = write == kInitial ? 0 : times[writes[write].visible];
  return then <= now ? now - then : kFuture + then;
}

void OrderingModel::find_candidates(OrderingRead& read) {
  const OrderingReadEvent& event = read_events[read.event];
  const OrderingWrite* own = write_of(read.own);
  if (own != nullptr && moments_[own->thread][own->event] == event.moment) {
    read.candidates.push_back({.write = read.own});
    return;
  }
  // What is certainly overwritten when it reads.
  const std::vector<OrderingCell::Chain>& chains = cells[read.cell].chains;
  std::vector<Moment> overwriters;  // the last of each chain that certainly come before
  for (const OrderingCell::Chain& chain : chains) {
    const auto behind = std::ranges::lower_bound(chain.places, order.count_before(event.moment, chain.chain));
    if (behind != chain.places.begin()) overwriters.push_back(order.at(chain.chain, *std::prev(behind)));
  }
  if (own == nullptr && overwriters.empty()) read.candidates.push_back({});
  const auto is_overwritten = [&](Moment visible) {
    return std::ranges::any_of(overwriters, [&](Moment by) { return order.is_before(visible, by); });
  };
  if (own != nullptr && !is_overwritten(own->visible)) read.candidates.push_back({.write = read.own});
  for (const OrderingCell::Chain& chain : chains) {
    // Of other threads: from the first that is not certainly overwritten to the last that does not certainly
    // come later.
    uint32_t begin = own == nullptr ? 0 : order.count_before(own->visible, chain.chain);
    for (const Moment by : overwriters) begin = std::max(begin, order.count_before(by, chain.chain));
    const uint32_t behind =
        std::min(order.first_after(event.moment, chain.chain), order.first_after(end, chain.chain));
    for (auto place = std::ranges::lower_bound(chain.places, begin);
         place != chain.places.end() && *place < behind; ++place) {
      const uint32_t number = chain.writes[static_cast<size_t>(place - chain.places.begin())];
      const OrderingWrite& write = writes[number];
      if (write.thread != event.thread && write.visible != event.moment)
        read.candidates.push_back({.write = number});
    }
  }
}

}  // namespace heddle
