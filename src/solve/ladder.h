// A synthetic problem of any size, for tests and for the table "solving" of the bench.
//
// Three threads of n accesses each on 8 shared variables that hold values from 0 to 15: half of the operations
// read; 20 % are branches that compare a value read with a constant; the rest write a value read plus a
// constant (mod 16); 10 % are inside one of 3 locks. Made from a real interleaving with random switches about
// every 20 operations and a clock stamp every 25 operations of a thread. All threads must come to their ends,
// where each waits for something that nobody does.
#pragma once

#include <algorithm>
#include <random>

#include "solve/problem.h"
#include "trace/trace_fixture.h"

namespace heddle {

class Ladder {
 public:
  explicit Ladder(uint32_t accesses, uint64_t seed = 1) : random_(seed), builder_(kThreads) {
    uint32_t running = 0;
    while (!std::ranges::all_of(threads_, [&](const Thread& thread) { return thread.is_done(accesses); })) {
      if (random_() % 20 == 0 || threads_[running].is_done(accesses)) running = next_thread(accesses);
      go_on(running, accesses);
      ++time_;
    }
    add_stamps();
    for (uint32_t t = 0; t < kThreads; ++t)
      builder_.trace.failure.waiting.push_back({t, {.kind = EventKind::once_passed, .address = kNever}});
    builder_.trace.failure.kind = FailurePredicate::Kind::deadlock;
  }

  const Trace& trace() const { return builder_.trace; }
  Problem problem(bool clocks) const { return {.trace = &builder_.trace, .clocks = clocks}; }

 private:
  static constexpr uint32_t kThreads = 3, kVariables = 8, kLocks = 3, kNobody = UINT32_MAX;
  static constexpr uint64_t kMemory = 0x1000, kMutex = 0x2000, kNever = 0x3000;
  static constexpr unsigned kStampEvery = 25;

  struct Thread {
    uint32_t accesses = 0;
    Expr last{};  // what it read last
    uint64_t last_value = 0;
    uint32_t lock = kNobody;
    uint32_t left_in_lock = 0;
    std::vector<uint64_t> times;  // of its events

    bool is_done(uint32_t all) const { return accesses >= all && lock == kNobody; }
  };

  uint32_t next_thread(uint32_t accesses) {
    uint32_t thread = static_cast<uint32_t>(random_() % kThreads);
    while (threads_[thread].is_done(accesses)) thread = (thread + 1) % kThreads;
    return thread;
  }

  void add(uint32_t t, Event event) {
    builder_.add(t, event);
    threads_[t].times.push_back(time_);
  }

  void go_on(uint32_t t, uint32_t accesses) {
    Thread& thread = threads_[t];
    if (thread.lock != kNobody && (thread.left_in_lock == 0 || thread.accesses >= accesses)) {
      add(t, {.kind = EventKind::unlock, .address = kMutex + 8 * thread.lock});
      holders_[thread.lock] = kNobody;
      thread.lock = kNobody;
      return;
    }
    if (thread.accesses >= accesses) return;
    if (thread.lock == kNobody && random_() % 36 == 0) {
      const auto lock = static_cast<uint32_t>(random_() % kLocks);
      if (holders_[lock] != kNobody) return;
      add(t, {.kind = EventKind::lock, .address = kMutex + 8 * lock});
      holders_[lock] = t;
      thread.lock = lock;
      thread.left_in_lock = static_cast<uint32_t>(2 + random_() % 5);
      return;
    }
    access(t);
    if (thread.lock != kNobody) --thread.left_in_lock;
  }

  void access(uint32_t t) {
    Thread& thread = threads_[t];
    ExprPool& pool = builder_.pool(t);
    const uint64_t choice = random_() % 10;
    if (choice >= 5 && choice < 7 && thread.last) return branch(t);
    const uint64_t variable = random_() % kVariables;
    Event event{.kind = EventKind::read, .size = 1, .address = kMemory + 8 * variable};
    ++thread.accesses;
    if (choice < 7 || !thread.last) {
      thread.last = pool.read(static_cast<uint32_t>(thread.times.size()), 8);
      thread.last_value = memory_[variable];
    } else {
      const uint64_t constant = 1 + random_() % 15;
      event.kind = EventKind::write;
      event.value =
          pool.binary(ExprOp::bit_and, pool.binary(ExprOp::add, thread.last, pool.constant(constant, 8)),
                      pool.constant(15, 8));
      memory_[variable] = (thread.last_value + constant) & 15;
    }
    add(t, event);
  }

  void branch(uint32_t t) {
    Thread& thread = threads_[t];
    ++thread.accesses;
    ExprPool& pool = builder_.pool(t);
    const uint64_t with = random_() % 16;
    const bool equal = random_() % 2 == 0;
    const Expr comparison = pool.binary(equal ? ExprOp::eq : ExprOp::ult, thread.last, pool.constant(with, 8));
    const bool held = equal ? thread.last_value == with : thread.last_value < with;
    builder_.require(t, held ? comparison : pool.logical_not(comparison));
  }

  // What lies between two stamps of a thread happened between them.
  void add_stamps() {
    for (uint32_t t = 0; t < kThreads; ++t) {
      std::vector<Event>& events = builder_.trace.threads[t].events;
      const std::vector<uint64_t>& times = threads_[t].times;
      for (size_t i = 0; i < events.size(); ++i) {
        const size_t first = i / kStampEvery * kStampEvery;
        const size_t behind = first + kStampEvery;
        events[i].tsc_low = 1 + 2 * times[first];
        events[i].tsc_high = behind < times.size() ? 1 + 2 * times[behind] : 2 + 2 * time_;
      }
    }
  }

  std::mt19937_64 random_;
  TraceBuilder builder_;
  Thread threads_[kThreads];
  uint64_t memory_[kVariables] = {};
  uint32_t holders_[kLocks] = {kNobody, kNobody, kNobody};
  uint64_t time_ = 0;
};

}  // namespace heddle
