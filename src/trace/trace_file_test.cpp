#include "trace/trace_file.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "trace/trace_check.h"
#include "trace/trace_fixture.h"
#include "trace/trace_text.h"

namespace heddle {
namespace {

class TraceFile : public testing::Test {
 protected:
  TempFolder folder = *TempFolder::create();
  fs::path path = folder.path() / "trace";
};

TEST_F(TraceFile, RoundTrip) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Trace trace = random_trace(seed);
    const Result<void> fits = check_trace(trace);
    ASSERT_TRUE(fits) << fits.error().text();
    ASSERT_TRUE(save_trace(trace, path));
    const Result<Trace> loaded = load_trace(path);
    ASSERT_TRUE(loaded) << loaded.error().text();
    EXPECT_EQ(trace_parts(*loaded), trace_parts(trace));
    EXPECT_EQ(trace_text(*loaded), trace_text(trace));
    ASSERT_EQ(loaded->threads.size(), trace.threads.size());
    EXPECT_EQ(loaded->initial, trace.initial);
    EXPECT_EQ(loaded->failure, trace.failure);
    EXPECT_EQ(loaded->approximations, trace.approximations);
    for (size_t t = 0; t < trace.threads.size(); ++t) {
      EXPECT_EQ(loaded->threads[t].events, trace.threads[t].events);
      EXPECT_EQ(loaded->threads[t].constraints, trace.threads[t].constraints);
      EXPECT_EQ(loaded->threads[t].places, trace.threads[t].places);
    }
  }
}

TEST_F(TraceFile, LoadedPoolsGoOn) {
  TraceBuilder builder(1);
  const Expr x = builder.read(0, 0x1000, 16);
  const Expr wide = builder.pool(0).constant(std::vector<uint64_t>{1, 2}, 128);
  builder.write(0, 0x1000, builder.pool(0).binary(ExprOp::add, x, wide));
  ASSERT_TRUE(save_trace(builder.trace, path));
  Result<Trace> loaded = load_trace(path);
  ASSERT_TRUE(loaded);
  ExprPool& pool = loaded->threads[0].pool;
  EXPECT_EQ(pool.read(0, 128), x);
  EXPECT_EQ(pool.constant(std::vector<uint64_t>{1, 2}, 128), wide);
  EXPECT_EQ(pool.size(), builder.pool(0).size());
}

TEST_F(TraceFile, DamageIsSaid) {
  const Trace trace = random_trace(1);
  ASSERT_TRUE(save_trace(trace, path));
  const std::vector<std::string> parts = trace_parts(trace);
  const std::string whole = *read_file(path);
  for (size_t size = 0; size < whole.size(); size += 1 + size / 8) {
    ASSERT_TRUE(write_file(path, whole.substr(0, size)));
    const Result<Trace> loaded = load_trace(path);
    ASSERT_FALSE(loaded) << size;
    EXPECT_EQ(loaded.error().where, path);
  }
  size_t said = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1 << at % 8);
    ASSERT_TRUE(write_file(path, changed));
    const Result<Trace> loaded = load_trace(path);  // some bits of a frame's head mean nothing
    if (loaded) {
      EXPECT_EQ(trace_parts(*loaded), parts) << at;
    }
    said += !loaded;
  }
  EXPECT_GT(said, whole.size() - 20);
  std::string newer = whole;
  newer[12] = kTraceVersion + 1;
  ASSERT_TRUE(write_file(path, newer));
  EXPECT_NE(load_trace(path).error().what.find(fmt::format("version {}", kTraceVersion + 1)),
            std::string::npos);
  ASSERT_TRUE(write_file(path, "something else"));
  EXPECT_EQ(load_trace(path).error().what, "this is not a trace");
}

TEST(TraceCheck, FindsWhatDoesNotFit) {
  const auto fits = [](const std::function<void(TraceBuilder&)>& change) {
    TraceBuilder builder(2);
    const Expr x = builder.read(0, 0x1000);
    builder.write(0, 0x1004, x);
    builder.require(0, builder.pool(0).extract(x, 0, 1));
    change(builder);
    return bool(check_trace(builder.trace));
  };
  const auto event = [](TraceBuilder& b, uint32_t number) -> Event& {
    return b.trace.threads[0].events[number];
  };
  EXPECT_TRUE(fits([](TraceBuilder&) {}));
  EXPECT_FALSE(fits([&](TraceBuilder& b) { event(b, 1).size = 2; }));
  EXPECT_FALSE(fits([&](TraceBuilder& b) { event(b, 0).size = 0; }));
  EXPECT_FALSE(fits([&](TraceBuilder& b) { event(b, 0).address = ~uint64_t{0}; }));
  EXPECT_FALSE(fits([&](TraceBuilder& b) { event(b, 0).kind = EventKind::fence; }));
  EXPECT_FALSE(fits([&](TraceBuilder& b) { event(b, 1).value = Expr{1000}; }));
  EXPECT_FALSE(fits([&](TraceBuilder& b) { event(b, 0).place = 1; }));
  EXPECT_FALSE(fits([&](TraceBuilder& b) { std::swap(event(b, 0), event(b, 1)); }));  // a write before its read
  EXPECT_FALSE(fits([&](TraceBuilder& b) { b.trace.threads[0].constraints[0].events = 0; }));
  EXPECT_FALSE(fits([&](TraceBuilder& b) { b.trace.threads[0].constraints[0].events = 3; }));
  EXPECT_FALSE(fits([](TraceBuilder& b) { b.add(0, EventKind::create, 7); }));
  EXPECT_TRUE(fits([](TraceBuilder& b) { b.add(0, EventKind::create, 1); }));
  EXPECT_FALSE(fits([](TraceBuilder& b) { b.add(0, EventKind::create, 1), b.add(0, EventKind::create, 1); }));
  EXPECT_FALSE(fits([](TraceBuilder& b) { b.pool(0).unknown(0, 8); }));
  EXPECT_FALSE(
      fits([](TraceBuilder& b) { b.trace.failure = {.kind = FailurePredicate::Kind::reached, .thread = 2}; }));
}

TEST(TraceText, OneLineEach) {
  TraceBuilder builder(2);
  builder.trace.instruction_texts = {{7, "bank.c:12 deposit"}, {3, "bank.c:30 main"}};
  builder.trace.threads[0].places = {{}, {.instruction = 3}, {.instruction = 7, .caller = 1}};
  builder.add(0, EventKind::create, 1);
  const Expr x = builder.read(0, 0x1000);
  builder.require(0, builder.pool(0).binary(ExprOp::ult, x, builder.pool(0).constant(5, 32)));
  builder.write(0, 0x1000, builder.pool(0).binary(ExprOp::add, x, builder.pool(0).constant(1, 32)),
                AccessOrder::release);
  builder.trace.threads[0].events[2].place = 2;
  builder.add(1, EventKind::wait_begin, 0x2000, 0x3000);
  builder.trace.failure = {.kind = FailurePredicate::Kind::reached, .thread = 0, .text = "assertion"};
  EXPECT_EQ(trace_text(builder.trace),
            "trace of test (0123), policy default\n"
            "0 of 0 accesses are shared\n"
            "failure: reached, thread 0 (assertion)\n"
            "\n"
            "thread 0: 3 events, 1 constraints\n"
            "    0 create 0.0\n"
            "    1 read 4 bytes at 0x1000\n"
            "        branch: (read 1) < 5\n"
            "    2 write release 4 bytes at 0x1000: (read 1) + 1 @ bank.c:12 deposit < bank.c:30 main\n"
            "\n"
            "thread 0.0: 1 events, 0 constraints\n"
            "    0 wait 0x2000, mutex 0x3000\n");
}

}  // namespace
}  // namespace heddle
