// The evaluator against a naive simulation: a global map of bytes, buffers as lists that are searched,
// condition variables by trying all ways to give signals to waiters.
#include "trace/evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <set>

#include "trace/execution.h"
#include "trace/expression_values.h"
#include "trace/trace_check.h"
#include "trace/trace_fixture.h"

namespace heddle {
namespace {

struct Watched {
  uint32_t thread, event;
  std::vector<uint64_t> read, written;
  friend bool operator==(const Watched&, const Watched&) = default;
};

class Simulation {
 public:
  Simulation(const Trace& trace, MemoryModel model)
      : trace_(trace), model_(model), done_(trace.threads.size()) {
    for (const auto& [address, value] : trace.initial) memory_[address] = {value, true};
  }

  std::vector<Watched> watched;

  Evaluation run(const std::vector<OrderItem>& order) {
    for (const OrderItem& item : order) {
      if (!try_item(item)) return result_;
      if (!constraints_hold(item)) return result_;
      ++items_;
    }
    for (uint32_t t = 0; t < trace_.threads.size(); ++t)
      if (done_[t] == 0 && !constraints_hold({.thread = t})) return result_;
    fail(failure() ? Evaluation::Kind::holds : Evaluation::Kind::no_failure, {.thread = trace_.failure.thread});
    return result_;
  }

 private:
  struct Buffered {
    uint32_t thread, event;
    uint64_t address;
    std::vector<std::pair<uint64_t, bool>> bytes;
    bool release;
    unsigned fences;  // release fences before it
  };
  struct History {
    char what;  // w: begins to wait, s: signal, b: broadcast, e: woken
    uint32_t thread;
    uint64_t condition;
  };

  bool fail(Evaluation::Kind kind, const OrderItem& item, uint32_t constraint = 0) {
    result_ = {.kind = kind,
               .item = items_,
               .thread = item.thread,
               .event = item.event,
               .constraint = constraint,
               .undecided = undecided_};
    return false;
  }

  const std::vector<Event>& events(uint32_t thread) const { return trace_.threads[thread].events; }

  std::pair<std::vector<uint64_t>, bool> value(uint32_t thread, Expr e) {
    ExprValues values(trace_.threads[thread].pool, events(thread).size());
    for (const auto& [place, read] : reads_)
      if (place.first == thread) values.set_read(place.second, read.first, read.second);
    const ExprValues::Value v = values.value(e);
    return {{v.words.begin(), v.words.end()}, v.certain};
  }

  bool constraints_hold(const OrderItem& item) {
    if (item.flush) return true;
    const ThreadTrace& thread = trace_.threads[item.thread];
    for (uint32_t i = 0; i < thread.constraints.size(); ++i) {
      const bool due = thread.constraints[i].events == done_[item.thread];
      if (!due) continue;
      const auto [words, certain] = value(item.thread, thread.constraints[i].condition);
      if (!certain)
        ++undecided_;
      else if (words[0] == 0)
        return fail(Evaluation::Kind::constraint, item, i);
    }
    return true;
  }

  bool has_buffered(uint32_t thread) const {
    return std::ranges::any_of(buffer_, [&](const Buffered& b) { return b.thread == thread; });
  }

  bool try_flush(const OrderItem& item) {
    for (auto store = buffer_.begin(); store != buffer_.end(); ++store) {
      if (store->thread != item.thread || store->event != item.event) continue;
      for (auto older = buffer_.begin(); older != store; ++older) {
        if (older->thread != item.thread) continue;
        if (model_ == MemoryModel::tso || store->release || older->fences < store->fences)
          return fail(Evaluation::Kind::not_order, item);
        for (uint64_t i = 0; i < store->bytes.size(); ++i)
          for (uint64_t k = 0; k < older->bytes.size(); ++k)
            if (store->address + i == older->address + k) return fail(Evaluation::Kind::not_order, item);
      }
      for (uint64_t i = 0; i < store->bytes.size(); ++i) memory_[store->address + i] = store->bytes[i];
      buffer_.erase(store);
      return true;
    }
    return fail(Evaluation::Kind::not_order, item);
  }

  bool try_item(const OrderItem& item) {
    if (item.thread >= trace_.threads.size()) return fail(Evaluation::Kind::not_order, item);
    for (uint32_t t = 0; t < trace_.threads.size(); ++t) {
      const bool inside = done_[t] > 0 && done_[t] < events(t).size() &&
                          events(t)[done_[t]].step == events(t)[done_[t] - 1].step;
      if (inside && t != item.thread) return fail(Evaluation::Kind::not_order, item);
    }
    if (item.flush) return try_flush(item);
    if (item.event != done_[item.thread] || item.event >= events(item.thread).size())
      return fail(Evaluation::Kind::not_order, item);
    const Event& event = events(item.thread)[item.event];
    const bool buffers = event.kind == EventKind::write && event.order != AccessOrder::seq_cst && !event.direct;
    const bool waits_for_nothing = event.kind == EventKind::read || buffers ||
                                   (event.kind == EventKind::fence && event.order != AccessOrder::seq_cst);
    if (!waits_for_nothing && has_buffered(item.thread)) return fail(Evaluation::Kind::not_enabled, item);
    if (!synchronise(item.thread, event)) return fail(Evaluation::Kind::not_enabled, item);
    if (is_access(event.kind) && !access(item, event, buffers)) return fail(Evaluation::Kind::outside, item);
    ++done_[item.thread];
    return true;
  }

  bool access(const OrderItem& item, const Event& event, bool buffers) {
    uint64_t address = event.address;
    if (event.address_expression) {
      const auto [words, certain] = value(item.thread, event.address_expression);
      if (certain) address = words[0];
      if (certain && event.object_size > 0)
        for (uint64_t i = 0; i < event.size; ++i)
          if (address + i < event.object || address + i >= event.object + event.object_size) return false;
    }
    Watched seen{.thread = item.thread, .event = item.event, .read = {}, .written = {}};
    if (event.kind != EventKind::write) {
      bool all_certain = true;
      seen.read.resize((event.size + 7) / 8);
      for (uint64_t i = 0; i < event.size; ++i) {
        std::pair<uint64_t, bool> byte = {0, true};
        if (memory_.contains(address + i)) byte = memory_[address + i];
        for (const Buffered& store : buffer_)
          for (uint64_t k = 0; k < store.bytes.size(); ++k)
            if (store.thread == item.thread && store.address + k == address + i) byte = store.bytes[k];
        seen.read[i / 8] |= byte.first << 8 * (i % 8);
        all_certain = all_certain && byte.second;
      }
      reads_[{item.thread, item.event}] = {seen.read, all_certain};
    }
    if (event.kind != EventKind::read) {
      const auto [words, certain] = value(item.thread, event.value);
      seen.written = words;
      Buffered store{.thread = item.thread,
                     .event = item.event,
                     .address = address,
                     .bytes = {},
                     .release = event.order == AccessOrder::release || event.order == AccessOrder::acq_rel,
                     .fences = fences_[item.thread]};
      for (uint64_t i = 0; i < event.size; ++i)
        store.bytes.push_back({words[i / 8] >> 8 * (i % 8) & 255, certain});
      if (buffers && model_ != MemoryModel::sc)
        buffer_.push_back(store);
      else
        for (uint64_t i = 0; i < event.size; ++i) memory_[address + i] = store.bytes[i];
    }
    watched.push_back(seen);
    return true;
  }

  bool synchronise(uint32_t thread, const Event& event) {
    const uint64_t at = event.address;
    switch (event.kind) {
      case EventKind::fence:
        fences_[thread] += event.order == AccessOrder::release || event.order == AccessOrder::acq_rel;
        return true;
      case EventKind::lock:
        return locked_.insert(at).second;
      case EventKind::lock_failed:
        return locked_.contains(at);
      case EventKind::unlock:
        locked_.erase(at);
        return true;
      case EventKind::semaphore_wait:
        return counts_[at] > 0 && counts_[at]-- > 0;
      case EventKind::semaphore_failed:
        return counts_[at] == 0;
      case EventKind::semaphore_post:
        ++counts_[at];
        return true;
      case EventKind::signal:
      case EventKind::broadcast:
        history_.push_back({event.kind == EventKind::signal ? 's' : 'b', thread, at});
        return true;
      case EventKind::wait_begin:
        locked_.erase(event.second);
        history_.push_back({'w', thread, at});
        return true;
      case EventKind::wait_timeout:
        if (!locked_.insert(event.second).second) return false;
        history_.push_back({'t', thread, at});
        return true;
      case EventKind::wait_end:
        if (locked_.contains(event.second)) return false;
        history_.push_back({'e', thread, at});
        if (!has_matching()) {
          history_.pop_back();
          return false;
        }
        locked_.insert(event.second);
        return true;
      default:
        return true;
    }
  }

  // Can every thread that was woken be given a signal of its own, or a broadcast, between its beginning and its
  // end?
  bool has_matching(size_t from = 0, std::set<size_t> used = {}) const {
    size_t end = from;
    while (end < history_.size() && history_[end].what != 'e') ++end;
    if (end == history_.size()) return true;
    size_t begin = end;
    while (!(history_[begin].what == 'w' && history_[begin].thread == history_[end].thread)) --begin;
    for (size_t i = begin; i < end; ++i) {
      if (history_[i].condition != history_[end].condition) continue;
      if (history_[i].what == 'b' && has_matching(end + 1, used)) return true;
      if (history_[i].what != 's' || used.contains(i)) continue;
      std::set<size_t> more = used;
      more.insert(i);
      if (has_matching(end + 1, more)) return true;
    }
    return false;
  }

  bool failure() {
    const FailurePredicate& failure = trace_.failure;
    const auto at_end = [&](uint32_t t) { return done_[t] == events(t).size(); };
    switch (failure.kind) {
      case FailurePredicate::Kind::reached:
        return at_end(failure.thread);
      case FailurePredicate::Kind::condition: {
        if (!at_end(failure.thread)) return false;
        const auto [words, certain] = value(failure.thread, failure.condition);
        undecided_ += !certain;
        return !certain || words[0] == 1;
      }
      case FailurePredicate::Kind::deadlock:
        return at_end(failure.waiting[0].thread) && locked_.contains(failure.waiting[0].operation.address);
      default:
        return true;
    }
  }

  const Trace& trace_;
  MemoryModel model_;
  std::vector<uint32_t> done_;
  std::map<uint64_t, std::pair<uint64_t, bool>> memory_;
  std::list<Buffered> buffer_;  // of all threads
  std::map<uint32_t, unsigned> fences_;
  std::set<uint64_t> locked_;
  std::map<uint64_t, uint64_t> counts_;
  std::vector<History> history_;
  std::map<std::pair<uint32_t, uint32_t>, std::pair<std::vector<uint64_t>, bool>> reads_;
  size_t items_ = 0;
  uint64_t undecided_ = 0;
  Evaluation result_;
};

constexpr MemoryModel kModels[] = {MemoryModel::sc, MemoryModel::tso, MemoryModel::pso};

TEST(Evaluator, AgreesWithTheSimulation) {
  std::map<Evaluation::Kind, uint64_t> kinds;
  uint64_t longest = 0;
  for (uint64_t seed = 0; seed < 3'000; ++seed) {
    const Trace trace = random_trace(seed);
    for (uint64_t round = 0; round < 9; ++round) {
      const MemoryModel model = kModels[round % 3];
      const std::vector<OrderItem> order = random_order(trace, seed * 16 + round, model != MemoryModel::sc);
      std::vector<Watched> watched;
      const Evaluation found =
          evaluate(trace, model, order, [&](uint32_t t, uint32_t e, auto read, auto written, bool) {
            watched.push_back({t, e, {read.begin(), read.end()}, {written.begin(), written.end()}});
          });
      Simulation simulation(trace, model);
      const Evaluation expected = simulation.run(order);
      ASSERT_EQ(found, expected) << "seed " << seed << " round " << round << ": " << found.text(trace)
                                 << "\nexpected " << expected.text(trace);
      // A constraint that fails is found after its event was watched, in both.
      ASSERT_EQ(watched, simulation.watched) << "seed " << seed << " round " << round;
      ++kinds[found.kind];
      longest = std::max(longest, found.item);
    }
  }
  for (const auto kind :
       {Evaluation::Kind::holds, Evaluation::Kind::not_order, Evaluation::Kind::not_enabled,
        Evaluation::Kind::outside, Evaluation::Kind::constraint, Evaluation::Kind::no_failure})
    EXPECT_GT(kinds[kind], 100u) << text_of(kind);
  EXPECT_GT(longest, 15u);
}

TEST(Evaluator, ConstraintsBeforeAllEventsAreChecked) {
  TraceBuilder builder(2);
  builder.require(0, builder.pool(0).constant(0, 1));
  builder.write(0, 0x1000, 1);
  const OrderItem item{};
  EXPECT_EQ(evaluate(builder.trace, MemoryModel::sc, std::span(&item, 1)).kind, Evaluation::Kind::constraint);
  EXPECT_EQ(evaluate(builder.trace, MemoryModel::sc, {}).kind, Evaluation::Kind::constraint);
}

TEST(Evaluator, TextNamesThreadAndPlace) {
  TraceBuilder builder(1);
  const Expr x = builder.read(0, 0x1000);
  builder.require(0, builder.pool(0).binary(ExprOp::eq, x, builder.pool(0).constant(7, 32)));
  const OrderItem item{};
  const Evaluation evaluation = evaluate(builder.trace, MemoryModel::sc, std::span(&item, 1));
  EXPECT_EQ(evaluation.text(builder.trace),
            "item 0, thread 0: constraint does not hold: branch: (read 0) == 7");
}

// Time per event does not grow with what stands in buffers.
TEST(Evaluator, LongTraces) {
  TraceBuilder builder(2);
  constexpr uint32_t kEvents = 100'000;
  std::vector<OrderItem> order;
  Expr sum = builder.pool(0).constant(0, 32);
  for (uint32_t i = 0; i < kEvents; i += 2) {
    builder.write(0, 0x1000 + i % 4096 * 4, sum);
    sum = builder.pool(0).binary(ExprOp::add, builder.pool(0).binary(ExprOp::mul, sum, sum),
                                 builder.read(0, 0x1000 + i % 4096 * 4));
    order.push_back({.thread = 0, .event = i});
    order.push_back({.thread = 0, .event = i + 1});
  }
  for (uint32_t i = 0; i < kEvents; i += 2) order.push_back({.thread = 0, .event = i, .flush = true});
  EXPECT_EQ(evaluate(builder.trace, MemoryModel::pso, order).kind, Evaluation::Kind::holds);
}

}  // namespace
}  // namespace heddle
