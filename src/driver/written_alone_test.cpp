#include "driver/written_alone.h"

#include <gtest/gtest.h>

#include "abi/sync_kind.h"

namespace heddle {
namespace {

constexpr uint64_t kHead = 0x1000, kTail = 0x1008, kTotals = 0x1010;

// The main thread creates a producer and two consumers.
struct Ring {
  std::vector<heddle_event> events;
  std::vector<heddle_thread_entry> threads = std::vector<heddle_thread_entry>(4);

  Ring() {
    for (uint32_t i = 1; i < threads.size(); ++i) {
      threads[i].child = i - 1;
      threads[i].start = i == 1 ? 1 : 2;
      heddle_event& create = add(0, 0, 0, 0);
      create.kind = HEDDLE_EVENT_sync + uint32_t{HEDDLE_SYNC_thread_create};
    }
  }
  heddle_event& add(uint32_t thread, uint32_t site, uint64_t address, uint64_t value) {
    heddle_event event{};
    event.thread = static_cast<decltype(event.thread)>(thread);
    event.site = site;
    event.kind = HEDDLE_EVENT_write;
    event.address = address;
    event.size = 4;
    event.value = value;
    event.after = value - 1;
    events.push_back(event);
    return events.back();
  }
  size_t different(uint32_t thread, uint64_t address, uint64_t in_core, uint64_t events_of_thread) const {
    return WrittenAlone(events, threads, thread,
                        {{.path = "", .address = address, .size = 4, .failing = in_core}})
        .different(events_of_thread);
  }
};

TEST(WrittenAlone, TellsHowFarTheThreadHadCome) {
  Ring ring;
  for (uint64_t i = 1; i <= 4; ++i) ring.add(1, 10, kHead, i);
  for (uint64_t performed = 0; performed <= 4; ++performed)
    EXPECT_EQ(ring.different(1, kHead, 3, performed), performed == 3 ? 0u : 1u) << performed;
  EXPECT_EQ(ring.different(1, kHead, 0, 0), 0u) << "what was there before";
}

TEST(WrittenAlone, WhatOthersWriteTellsNothing) {
  Ring ring;
  ring.add(1, 10, kHead, 1);
  ring.add(2, 20, kHead, 2);
  EXPECT_EQ(ring.different(1, kHead, 7, 1), 0u);
}

TEST(WrittenAlone, WhatTheCreatorWroteBeforeDoesNotCount) {
  Ring ring;
  ring.add(0, 1, kHead, 0);
  std::ranges::rotate(ring.events, ring.events.end() - 1);
  ring.add(1, 10, kHead, 1);
  EXPECT_EQ(ring.different(1, kHead, 7, 1), 1u);
}

TEST(WrittenAlone, OfThreadsThatDoTheSameOnlyWhatEachHasForItself) {
  Ring ring;
  ring.add(2, 20, kTotals, 1);
  ring.add(2, 21, kTail, 1);  // the other one had nothing to take
  ring.add(3, 20, kTotals + 4, 1);
  EXPECT_EQ(ring.different(2, kTotals, 7, 1), 1u);
  EXPECT_EQ(ring.different(2, kTail, 7, 2), 0u);
}

}  // namespace
}  // namespace heddle
