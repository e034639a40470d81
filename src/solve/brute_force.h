// The oracle of the engines' tests: carries out all orders of a small problem, one by one.
//
// It knows nothing but TraceExecution, and tries each next event and each flush everywhere. All it leaves out
// is to go on twice from the same point: two prefixes are the same point if each location has seen the same
// operations in the same order, which is a fact about the machine and needs no values.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>

#include "solve/order_needs.h"
#include "trace/execution.h"

namespace heddle {

struct BruteForceAnswer {
  enum class Kind : uint8_t { found, impossible, too_large };
  Kind kind = Kind::impossible;
  uint32_t preemptions = 0;  // fewest
  std::vector<OrderItem> order;
};

class BruteForce {
 public:
  enum class Points : uint8_t { once, every_time };  // every_time: for tests of this

  explicit BruteForce(const Problem& problem, Points points = Points::once)
      : problem_(problem), points_(points), needs_(problem) {
    find_locations();
  }

  BruteForceAnswer solve(size_t most_points) {
    BruteForceAnswer answer;
    const bool complete =
        each_answer(most_points, [&](const std::vector<OrderItem>& order, uint32_t preemptions) {
          answer = {.kind = BruteForceAnswer::Kind::found, .preemptions = preemptions, .order = order};
          return true;
        });
    return complete ? answer : BruteForceAnswer{.kind = BruteForceAnswer::Kind::too_large};
  }

  // All answers, those with few preemptions first, until `visit` says that it is enough. False: too many
  // points.
  template <class Visit>
  bool each_answer(size_t most_points, const Visit& visit) {
    std::deque<Point> now{start()};
    for (uint32_t preemptions = 0; !now.empty(); ++preemptions) {
      std::deque<Point> next;  // of those with one preemption more
      while (!now.empty()) {
        if (++points_seen_ > most_points) return false;
        const Point point = std::move(now.back());
        now.pop_back();
        if (points_ == Points::once && !seen_.insert(key_of(point)).second) continue;
        TraceExecution end = point.execution;
        if (end.finish().kind == Evaluation::Kind::holds && visit(point.order, preemptions)) return true;
        for (uint32_t t = 0; t < problem_.trace->threads.size(); ++t) {
          const uint32_t position = point.execution.next_event(t);
          for (uint32_t write = 0; write < position; ++write)
            if (std::optional<Point> after = gone_on(point, {t, write, true})) now.push_back(*after);
          const bool preempts =
              point.running && *point.running != t && point.execution.can_go_on(*point.running);
          if (!facts_allow(point, t, position)) continue;
          if (std::optional<Point> after = gone_on(point, {t, position}))
            (preempts ? next : now).push_back(*after);
        }
      }
      now = std::move(next);
    }
    return true;
  }

 private:
  struct Point {
    TraceExecution execution;
    std::optional<uint32_t> running;
    std::vector<OrderItem> order;
  };

  Point start() const { return {.execution = TraceExecution(*problem_.trace, problem_.model)}; }

  bool facts_allow(const Point& point, uint32_t thread, uint32_t event) const {
    if (event >= problem_.trace->threads[thread].events.size()) return false;
    return std::ranges::all_of(needs_.of({thread, event}), [&](const OrderNeed& need) {
      return point.execution.next_event(need.thread) >= need.events;
    });
  }

  static std::optional<Point> gone_on(const Point& from, const OrderItem& item) {
    if (from.execution.refusal(item)) return std::nullopt;
    Point to = from;
    if (to.execution.perform(item)) return std::nullopt;
    to.order.push_back(item);
    if (!item.flush) to.running = item.thread;
    return to;
  }

  // ---- the same point

  using Location = uint64_t;  // memory that may be touched together, an object, all blocks; names them

  static constexpr Location kBlocks = ~uint64_t{0};
  static constexpr Location kObject = uint64_t{1} << 63;

  struct Range {
    uint64_t begin, end;  // last byte
  };

  static Range range_of(const Event& event) {
    if (!event.address_expression) return {event.address, event.address + event.size - 1};
    if (event.object_size == 0) return {0, kObject - 1};
    // An uncertain address is the recorded one, wherever that is.
    return {std::min(event.object, event.address),
            std::max(event.object + event.object_size, event.address + event.size) - 1};
  }

  void find_locations() {
    std::vector<Range> ranges;
    for (const ThreadTrace& thread : problem_.trace->threads)
      for (const Event& event : thread.events)
        if (is_access(event.kind)) ranges.push_back(range_of(event));
    std::ranges::sort(ranges, {}, &Range::begin);
    for (const Range& range : ranges) {
      if (!memory_.empty() && range.begin <= memory_.back().end)
        memory_.back().end = std::max(memory_.back().end, range.end);
      else
        memory_.push_back(range);
    }
  }

  std::vector<Location> locations_of(const Event& event) const {
    if (is_access(event.kind)) {
      const uint64_t begin = range_of(event).begin;
      for (const Range& range : memory_)
        if (begin >= range.begin && begin <= range.end) return {range.begin};
    }
    if (event.kind == EventKind::allocate || event.kind == EventKind::release) return {kBlocks};
    const bool waits = event.kind == EventKind::wait_begin || event.kind == EventKind::wait_end ||
                       event.kind == EventKind::wait_timeout;
    if (waits) return {event.address | kObject, event.second | kObject};
    return {event.address | kObject};
  }

  // For each location: what changed it, in order. For each read: how many changes came before it.
  std::string key_of(const Point& point) const {
    std::map<Location, std::string> changes;
    std::map<EventRef, std::string> reads;
    for (const OrderItem& item : point.order) {
      const Event& event = problem_.event({item.thread, item.event});
      const bool enters_buffer = !item.flush && event.kind == EventKind::write &&
                                 problem_.model != MemoryModel::sc && !event.direct &&
                                 event.order != AccessOrder::seq_cst;
      for (const Location location : locations_of(event)) {
        std::string& seen = changes[location];
        if (event.kind == EventKind::read)
          reads[{item.thread, item.event}] += std::to_string(seen.size()) + ' ';
        // A fence has seen which of the thread's stores were flushed.
        if (event.kind == EventKind::read || enters_buffer || event.kind == EventKind::fence) continue;
        seen += std::to_string(item.thread) + ':' + std::to_string(item.event) + ' ';
      }
      if (event.kind == EventKind::fence) {
        std::string& seen = reads[{item.thread, item.event}];
        for (const OrderItem& before : point.order) {
          if (&before == &item) break;
          if (before.flush && before.thread == item.thread) seen += std::to_string(before.event) + ' ';
        }
      }
    }
    std::string key;
    if (point.running) key += std::to_string(*point.running);
    for (uint32_t t = 0; t < problem_.trace->threads.size(); ++t)
      key += '@' + std::to_string(point.execution.next_event(t));
    for (const auto& [location, seen] : changes) key += '|' + std::to_string(location) + '=' + seen;
    for (const auto& [event, seen] : reads)
      key += '/' + std::to_string(event.thread) + ':' + std::to_string(event.event) + '=' + seen;
    return key;
  }

  const Problem& problem_;
  Points points_;
  OrderNeeds needs_;
  std::vector<Range> memory_;  // growing, apart from each other
  std::set<std::string> seen_;
  size_t points_seen_ = 0;
};

}  // namespace heddle
