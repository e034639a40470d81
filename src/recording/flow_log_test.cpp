#include "recording/flow_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <random>

#include "base/files.h"
#include "recording/flow_links.h"
#include "recording/flow_schedule.h"
#include "recording/recording_info.h"

namespace heddle {
namespace {

// A file as the runtime writes it.
class LogText {
 public:
  explicit LogText(uint32_t slot) {
    head_.magic = HEDDLE_FLOW_MAGIC;
    head_.format = HEDDLE_FLOW_FORMAT;
    head_.slot = slot;
    std::strcpy(head_.name, "0.1");
  }
  LogText& first(uint64_t events) {
    head_.first = events;
    return *this;
  }
  LogText& status(uint64_t number, heddle_flow_state state) {
    head_.status = number << HEDDLE_FLOW_STATE_BITS | state;
    return *this;
  }
  LogText& byte(uint8_t byte) {
    stream_ += static_cast<char>(byte);
    return *this;
  }
  LogText& number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<uint8_t>(value | 0x80));
    return byte(static_cast<uint8_t>(value));
  }
  LogText& edge(uint64_t step, uint64_t slot, int64_t after) {
    byte(HEDDLE_FLOW_edge);
    return number(step).number(slot).number(static_cast<uint64_t>(after) << 1 ^
                                            static_cast<uint64_t>(after >> 63));
  }
  std::string text() const {
    heddle_flow_thread head = head_;
    head.used = stream_.size();
    std::string out(HEDDLE_FLOW_PAGE, '\0');
    std::memcpy(out.data(), &head, sizeof head);
    return out + stream_ + std::string(100, '\0');
  }

 private:
  heddle_flow_thread head_{};
  std::string stream_;
};

class FlowLogTest : public testing::Test {
 protected:
  FlowLogTest() : folder_(*TempFolder::create(fs::temp_directory_path())) {}
  Result<FlowThread> read(const std::string& text) {
    EXPECT_TRUE(write_file(folder_.path() / "x.flow", text));
    return read_flow_log(folder_.path() / "x.flow");
  }
  TempFolder folder_;
};

TEST_F(FlowLogTest, ReadsEdgesAndSkipsResults) {
  LogText log(3);
  log.status(9, HEDDLE_FLOW_direct)
      .edge(2, 1, 5)
      .byte(HEDDLE_FLOW_outside)
      .number(3)
      .number(1)
      .number(4)
      .number(2);
  log.byte(7).byte(8).edge(5, 1, 300).edge(0, 2, 1).edge(1, 1, -5);
  const Result<FlowThread> thread = read(log.text());
  ASSERT_TRUE(thread);
  EXPECT_EQ(thread->slot, 3u);
  EXPECT_EQ(thread->events, 8u);  // the ninth was under way
  EXPECT_TRUE(thread->in_an_event);
  EXPECT_EQ(thread->outside_bytes, 2u);
  EXPECT_EQ(thread->damage, "");
  const std::vector<FlowEdge> expected = {{2, 1, 5}, {7, 1, 305}, {7, 2, 1}, {8, 1, 300}};
  EXPECT_EQ(thread->edges, expected);
}

TEST_F(FlowLogTest, ThreadsWithOneSlotFollowEachOther) {
  const fs::path threads = folder_.path() / kThreadsFolder;
  ASSERT_TRUE(make_folders(threads));
  const auto write = [&](const char* name, uint64_t first, uint64_t last) {
    ASSERT_TRUE(write_file(threads / name, LogText(3).first(first).status(last, HEDDLE_FLOW_done).text()));
  };
  write("0.1.flow", 0, 7);
  write("0.2.flow", 9, 12);
  EXPECT_FALSE(read_flow_logs(folder_.path()));
  write("0.3.flow", 7, 9);
  const Result<std::vector<FlowThread>> logs = read_flow_logs(folder_.path());
  ASSERT_TRUE(logs);
  EXPECT_EQ(flow_thread_of(*logs, 3, 7), &(*logs)[0]);
  EXPECT_EQ(flow_thread_of(*logs, 3, 8), &(*logs)[1]);
  EXPECT_EQ(flow_thread_of(*logs, 3, 12), &(*logs)[2]);
  EXPECT_EQ(flow_thread_of(*logs, 3, 0), nullptr);
  EXPECT_EQ(flow_thread_of(*logs, 2, 1), nullptr);
  write("0.2.flow", 12, 9);
  EXPECT_FALSE(read_flow_logs(folder_.path()));
}

TEST_F(FlowLogTest, ReadsUpToDamage) {
  LogText log(0);
  log.status(4, HEDDLE_FLOW_done).edge(1, 1, 1).byte(99).edge(1, 1, 1);
  const Result<FlowThread> thread = read(log.text());
  ASSERT_TRUE(thread);
  EXPECT_EQ(thread->edges.size(), 1u);
  EXPECT_NE(thread->damage, "");
}

TEST_F(FlowLogTest, SurvivesAnyBytes) {
  std::mt19937 random(7);
  LogText log(1);
  log.status(20, HEDDLE_FLOW_done);
  for (int i = 0; i < 40; ++i) log.edge(1, static_cast<uint64_t>(i % 5), i);
  const std::string good = log.text();
  for (int round = 0; round < 500; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    if (round % 3 == 0) bytes.resize(random() % bytes.size());
    if (const Result<FlowThread> thread = read(bytes)) {
      std::vector<FlowThread> threads = {*thread};
      (void)flow_schedule(threads);
    }
  }
}

FlowThread thread(uint32_t slot, uint64_t events, std::vector<FlowEdge> edges) {
  return {.name = std::to_string(slot), .slot = slot, .events = events, .edges = std::move(edges)};
}

// Every edge is kept, every event performed once, and no step is of two threads.
void check(const std::vector<FlowThread>& threads, const std::vector<FlowStep>& steps) {
  std::vector<uint64_t> done(HEDDLE_FLOW_SLOTS);
  for (const FlowStep& step : steps) {
    const FlowThread* self = flow_thread_of(threads, step.slot, done[step.slot] + 1);
    ASSERT_NE(self, nullptr);
    ASSERT_LE(done[step.slot] + step.count, self->events);
    for (uint64_t i = 0; i < step.count; ++i) {
      ++done[step.slot];
      for (const FlowEdge& edge : self->edges)
        if (edge.number == done[step.slot]) ASSERT_GE(done[edge.slot], edge.after);
    }
  }
  std::map<uint32_t, uint64_t> last;
  for (const FlowThread& each : threads) last[each.slot] = each.events;
  for (const auto& [slot, events] : last) EXPECT_EQ(done[slot], events);
}

// Stride: a read came after its write and before the next one there; other granules do not matter.
TEST(FlowLinks, OrderReadsBetweenTwoWrites) {
  std::vector<FlowThread> threads = {thread(0, 3, {}), thread(1, 2, {}), thread(2, 2, {})};
  threads[0].versions = {{.number = 1, .granule = 8}, {.number = 2, .granule = 9}};
  threads[1].versions = {{.number = 1, .granule = 8, .slot = 0, .after = 1, .read = true},
                         {.number = 2, .granule = 9, .slot = 0, .after = 2}};
  threads[2].versions = {{.number = 2, .granule = 8, .slot = 0, .after = 1}};
  resolve_links(threads);
  EXPECT_TRUE(threads[0].edges.empty());
  EXPECT_EQ(threads[1].edges, (std::vector<FlowEdge>{{1, 0, 1}, {2, 0, 2}}));
  EXPECT_EQ(threads[2].edges.size(), 2u);
  EXPECT_EQ(std::ranges::count(threads[2].edges, FlowEdge{2, 1, 1}), 1);
}

TEST(FlowSchedule, StaysInAThreadUntilItHasToWait) {
  const std::vector<FlowThread> threads = {thread(0, 10, {{.number = 6, .slot = 1, .after = 2}}),
                                           thread(1, 4, {{.number = 2, .slot = 0, .after = 3}})};
  const Result<std::vector<FlowStep>> steps = flow_schedule(threads);
  ASSERT_TRUE(steps);
  const std::vector<FlowStep> expected = {{0, 5}, {1, 4}, {0, 5}};
  EXPECT_EQ(*steps, expected);
}

TEST(FlowSchedule, RefusesCirclesAndUnknownEvents) {
  EXPECT_FALSE(flow_schedule({thread(0, 2, {{.number = 1, .slot = 1, .after = 1}}),
                              thread(1, 2, {{.number = 1, .slot = 0, .after = 1}})}));
  EXPECT_FALSE(flow_schedule({thread(0, 2, {{.number = 1, .slot = 1, .after = 3}}), thread(1, 2, {})}));
  EXPECT_FALSE(flow_schedule({thread(0, 2, {{.number = 1, .slot = 7, .after = 1}})}));
}

TEST(FlowSchedule, KeepsTheEdgesOfRandomRuns) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const uint32_t count = 1 + random() % 5;
    std::vector<std::vector<FlowThread>> slots;
    for (uint32_t i = 0; i < count; ++i) slots.push_back({thread(i * 3, 0, {})});
    for (int i = 0; i < 300; ++i) {  // a run: who comes after what has happened
      std::vector<FlowThread>& own = slots[random() % count];
      if (random() % 20 == 0) {  // the next thread with this slot
        own.push_back(thread(own.back().slot, own.back().events, {}));
        own.back().first = own.back().events;
      }
      FlowThread& self = own.back();
      ++self.events;
      const FlowThread& other = slots[random() % count].back();
      if (random() % 4 == 0 && other.events > 0 && &other != &self)
        self.edges.push_back({.number = self.events, .slot = other.slot, .after = 1 + random() % other.events});
    }
    std::vector<FlowThread> threads;
    for (std::vector<FlowThread>& own : slots) std::ranges::move(own, std::back_inserter(threads));
    const Result<std::vector<FlowStep>> steps = flow_schedule(threads);
    ASSERT_TRUE(steps);
    check(threads, *steps);
  }
}

}  // namespace
}  // namespace heddle
