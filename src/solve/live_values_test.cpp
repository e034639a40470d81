#include "solve/live_values.h"

#include <gtest/gtest.h>

#include <random>

#include "trace/expression_values.h"
#include "trace/trace_fixture.h"

namespace heddle {
namespace {

// Carries the reads of a thread out with the values given, each as wide as its event.
class Walk {
 public:
  explicit Walk(const LivePlan& plan) : values(plan) { arrive(0, 0); }

  void arrive(uint32_t position, uint64_t read) {
    values.go_on(position, {.words = &read});
    values.arrive(changes);
  }
  LiveValues values;
  LiveValues::Changes changes;
};

TEST(LiveValues, AgreeOnceWhatDiffersIsNoLongerNeeded) {
  TraceBuilder builder(1);
  ExprPool& pool = builder.pool(0);
  const Expr first = builder.read(0, 0x1000), second = builder.read(0, 0x1000);
  const Expr sum = pool.binary(ExprOp::add, first, second);
  builder.write(0, 0x1000, sum);
  const LivePlan plan(builder.trace.threads[0], 0, {});
  const auto hashes = [&](uint64_t a, uint64_t b) {
    Walk walk(plan);
    std::vector<Hash128> out;
    walk.arrive(1, a);
    out.push_back(walk.values.hash);
    walk.arrive(2, b);
    out.push_back(walk.values.hash);
    EXPECT_EQ(walk.values.value(sum).words[0], a + b);
    walk.arrive(3, 0);
    out.push_back(walk.values.hash);
    return out;
  };
  const std::vector<Hash128> left = hashes(1, 2), right = hashes(2, 1), other = hashes(2, 2);
  EXPECT_NE(left[0], right[0]);
  EXPECT_EQ(left[1], right[1]);  // only the sum is needed from here on
  EXPECT_NE(left[1], other[1]);
  EXPECT_EQ(left[2], other[2]);  // and now nothing
}

TEST(LiveValues, AreThoseOfTheExpressions) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const Trace trace = random_trace(seed);
    std::mt19937_64 random(seed);
    for (uint32_t t = 0; t < trace.threads.size(); ++t) {
      const ThreadTrace& thread = trace.threads[t];
      const Expr failure = trace.failure.thread == t ? trace.failure.condition : Expr{};
      const LivePlan plan(thread, t, failure);
      LiveValues values(plan);
      ExprValues expected(thread.pool, thread.events.size());
      const auto check = [&](Expr e) {
        if (!e) return;
        const ExprValues::Value value = expected.value(e);
        const LiveValue live = values.value(e);
        EXPECT_EQ(live.certain, value.certain);
        EXPECT_TRUE(std::equal(value.words.begin(), value.words.end(), live.words)) << "seed " << seed;
      };
      struct Before {
        size_t changes;
        Hash128 hash;
      };
      std::vector<Before> before;
      LiveValues::Changes changes;
      std::vector<std::vector<uint64_t>> reads;
      for (uint32_t position = 0; position <= thread.events.size(); ++position) {
        before.push_back({changes.size(), values.hash});
        std::vector<uint64_t> read;
        const Event* event = position == 0 ? nullptr : &thread.events[position - 1];
        if (event != nullptr) {
          check(event->address_expression);
          if (event->kind == EventKind::write) check(event->value);
        }
        if (event != nullptr && reads_value(event->kind)) {
          for (unsigned i = 0; i < words_of(event->size * 8); ++i) read.push_back(random());
          read.back() &= low_bits((event->size * 8 - 1) % 64 + 1);
          expected.set_read(position - 1, read, seed % 3 != 0);
        }
        values.go_on(position, {.words = read.data(), .certain = seed % 3 != 0});
        if (event != nullptr) check(event->value);
        for (const Constraint& constraint : thread.constraints)
          if (constraint.events == position) check(constraint.condition);
        values.arrive(changes);
        reads.push_back(read);
      }
      check(failure);
      // All the way back, and forth again: it is the same.
      const Hash128 end = values.hash;
      for (; changes.size() > before[1].changes; changes.pop_back()) values.take_back(changes.back());
      values.hash = before[1].hash;
      for (uint32_t position = 1; position <= thread.events.size(); ++position) {
        EXPECT_EQ(values.hash, before[position].hash);
        values.go_on(position, {.words = reads[position].data(), .certain = seed % 3 != 0});
        values.arrive(changes);
      }
      EXPECT_EQ(values.hash, end);
      check(failure);
    }
  }
}

}  // namespace
}  // namespace heddle
