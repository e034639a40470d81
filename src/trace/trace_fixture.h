// Traces made by hand, and at random.
#pragma once

#include <random>

#include "trace/evaluator.h"
#include "trace/trace.h"

namespace heddle {

// Each event is a step of its own unless it is said otherwise.
struct TraceBuilder {
  Trace trace;

  explicit TraceBuilder(uint32_t threads) : trace{.program = "test", .identity = "0123", .policy = "default"} {
    trace.threads.resize(threads);
    for (uint32_t i = 0; i < threads; ++i) trace.threads[i].name = i == 0 ? "0" : "0." + std::to_string(i - 1);
  }

  ExprPool& pool(uint32_t thread) { return trace.threads[thread].pool; }

  uint32_t add(uint32_t thread, Event event, bool same_step = false) {
    std::vector<Event>& events = trace.threads[thread].events;
    event.step = events.empty() ? 1 : events.back().step + !same_step;
    events.push_back(event);
    return static_cast<uint32_t>(events.size() - 1);
  }
  uint32_t add(uint32_t thread, EventKind kind, uint64_t address = 0, uint64_t second = 0) {
    return add(thread, Event{.kind = kind, .address = address, .second = second});
  }
  Expr read(uint32_t thread, uint64_t address, uint32_t size = 4) {
    const uint32_t event = add(thread, Event{.kind = EventKind::read, .size = size, .address = address});
    return pool(thread).read(event, size * 8);
  }
  uint32_t write(uint32_t thread, uint64_t address, Expr value, AccessOrder order = AccessOrder::plain) {
    const uint32_t size = pool(thread).width(value) / 8;
    return add(
        thread,
        Event{.kind = EventKind::write, .order = order, .size = size, .address = address, .value = value});
  }
  uint32_t write(uint32_t thread, uint64_t address, uint64_t value, AccessOrder order = AccessOrder::plain) {
    return write(thread, address, pool(thread).constant(value, 32), order);
  }
  void fence(uint32_t thread, AccessOrder order) {
    add(thread, Event{.kind = EventKind::fence, .order = order});
  }
  void require(uint32_t thread, Expr condition) {
    trace.threads[thread].constraints.push_back(
        {.condition = condition, .events = static_cast<uint32_t>(trace.threads[thread].events.size())});
  }
};

// A small trace of everything, with few addresses so that threads meet.
inline Trace random_trace(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto number = [&](uint64_t below) { return random() % below; };
  const auto threads = static_cast<uint32_t>(2 + number(2));
  TraceBuilder builder(threads);
  builder.trace.approximations.push_back({.what = "something unknown"});
  builder.trace.instruction_texts = {{7, "test.c:7 main"}, {9, "test.c:9 work"}};
  for (unsigned i = 0; i < 20; ++i) builder.trace.initial[0x1000 + number(24)] = static_cast<uint8_t>(random());
  const bool with_sync = number(2) == 0, with_unknown = number(4) == 0;

  for (uint32_t t = 0; t < threads; ++t) {
    ThreadTrace& thread = builder.trace.threads[t];
    ExprPool& pool = thread.pool;
    thread.places = {{}, {.instruction = 7}, {.instruction = 9, .caller = 1}};
    std::vector<Expr> reads;
    // An expression over what was read, as wide as is wanted.
    const auto value = [&](unsigned width) {
      Expr e = pool.constant(random() >> number(64), width);
      for (uint64_t terms = number(3); terms > 0 && !reads.empty(); --terms) {
        const Expr read = reads[number(reads.size())];
        const Expr part =
            pool.width(read) >= width
                ? pool.extract(read, static_cast<unsigned>(number(pool.width(read) - width + 1)), width)
                : pool.zext(read, width);
        e = pool.binary(number(2) == 0 ? ExprOp::add : ExprOp::bit_xor, e, part);
      }
      return with_unknown && number(6) == 0 ? pool.binary(ExprOp::add, e, pool.unknown(0, width)) : e;
    };
    const auto address = [&](Event& event) {
      event.address = 0x1000 + number(12);
      if (reads.empty() || number(4) != 0) return;
      event.object = 0x1000;
      event.object_size = number(4) == 0 ? 0 : 24;
      const Expr index = pool.binary(ExprOp::bit_and, value(64), pool.constant(number(4) == 0 ? 31 : 7, 64));
      event.address_expression = pool.binary(ExprOp::add, index, pool.constant(0x1000, 64));
    };
    for (uint64_t left = 1 + number(6); left > 0; --left) {
      const bool same_step = number(6) == 0;
      Event event{.place = static_cast<uint32_t>(number(3))};
      constexpr uint32_t kSizes[] = {1, 2, 4, 8, 3, 16};
      event.size = kSizes[number(6)];
      event.order = number(3) == 0 ? static_cast<AccessOrder>(number(7)) : AccessOrder::plain;
      const uint64_t choice = number(with_sync ? 14 : 8);
      if (choice < 7) {
        event.kind = choice < 3 ? EventKind::read : choice < 6 ? EventKind::write : EventKind::update;
        event.direct = event.kind == EventKind::write && number(8) == 0;
        address(event);
        const auto own = static_cast<uint32_t>(thread.events.size());
        if (reads_value(event.kind)) reads.push_back(pool.read(own, event.size * 8));
        if (writes_value(event.kind)) event.value = value(event.size * 8);
      } else if (choice == 7) {
        event = {.kind = EventKind::fence, .order = event.order, .place = event.place};
      } else {
        constexpr EventKind kKinds[] = {
            EventKind::lock,           EventKind::unlock,           EventKind::lock_failed,
            EventKind::semaphore_wait, EventKind::semaphore_failed, EventKind::semaphore_post,
            EventKind::signal,         EventKind::broadcast,        EventKind::wait_begin};
        event = {.kind = kKinds[number(std::size(kKinds))], .recursive = false, .place = event.place};
        event.address = 0x2000 + 8 * number(2);
        event.second = event.kind == EventKind::wait_begin ? 0x3000 : 0;
      }
      const uint32_t added = builder.add(t, event, same_step);
      if (event.kind == EventKind::wait_begin) {
        event.kind = number(4) == 0 ? EventKind::wait_timeout : EventKind::wait_end;
        builder.add(t, event);
        if (number(2) == 0) builder.add(t, Event{.kind = EventKind::unlock, .address = 0x3000});
      }
      if (reads_value(thread.events[added].kind) && number(3) == 0)
        builder.require(
            t, pool.binary(number(2) == 0 ? ExprOp::ult : ExprOp::ule, value(8), pool.constant(0xe0, 8)));
    }
  }
  FailurePredicate& failure = builder.trace.failure;
  failure.thread = static_cast<uint32_t>(number(threads));
  failure.text = "fails";
  switch (number(4)) {
    case 0:
      failure.kind = FailurePredicate::Kind::reached;
      break;
    case 1: {
      failure.kind = FailurePredicate::Kind::condition;
      ExprPool& pool = builder.pool(failure.thread);
      failure.condition = pool.constant(1, 1);
      const std::vector<Event>& events = builder.trace.threads[failure.thread].events;
      for (uint32_t i = 0; i < events.size(); ++i)
        if (reads_value(events[i].kind))
          failure.condition = pool.extract(pool.read(i, events[i].size * 8), 0, 1);
      break;
    }
    case 2:
      failure.kind = FailurePredicate::Kind::deadlock;
      failure.waiting.push_back(
          {.thread = failure.thread, .operation = {.kind = EventKind::lock, .address = 0x2000}});
      break;
    default:
      break;
  }
  return builder.trace;
}

// Items that mostly make sense: next events, and flushes of writes that were carried out.
inline std::vector<OrderItem> random_order(const Trace& trace, uint64_t seed, bool flushes) {
  std::mt19937_64 random(seed);
  std::vector<OrderItem> order;
  std::vector<uint32_t> next(trace.threads.size());
  std::vector<OrderItem> buffered;
  const auto flush = [&](size_t which) {
    order.push_back(buffered[which]);
    buffered.erase(buffered.begin() + static_cast<ptrdiff_t>(which));
  };
  uint32_t thread = 0;
  for (unsigned i = 0; i < 60; ++i) {
    if (random() % 3 == 0) thread = static_cast<uint32_t>(random() % trace.threads.size());
    if (random() % 100 == 0) {  // nonsense
      order.push_back({.thread = static_cast<uint32_t>(random() % 4),
                       .event = static_cast<uint32_t>(random() % 6),
                       .flush = random() % 2 != 0});
      continue;
    }
    if (flushes && !buffered.empty() && random() % 4 == 0) {
      flush(random() % 3 == 0 ? random() % buffered.size() : 0);
      continue;
    }
    const std::vector<Event>& events = trace.threads[thread].events;
    if (next[thread] == events.size()) continue;
    const Event& event = events[next[thread]];
    if (flushes && event.kind != EventKind::read && event.kind != EventKind::write && random() % 8 != 0)
      for (size_t k = 0; k < buffered.size();) buffered[k].thread == thread ? flush(k) : void(++k);
    order.push_back({.thread = thread, .event = next[thread]});
    const bool buffers = event.kind == EventKind::write && !event.direct && event.order != AccessOrder::seq_cst;
    if (flushes && buffers) buffered.push_back({.thread = thread, .event = next[thread], .flush = true});
    ++next[thread];
  }
  return order;
}

}  // namespace heddle
