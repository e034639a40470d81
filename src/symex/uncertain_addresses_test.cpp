#include "symex/uncertain_addresses.h"

#include <gtest/gtest.h>

#include "trace/execution.h"

namespace heddle {
namespace {

constexpr uint64_t kPointer = 0x1000, kTarget = 0x2000;

Event& add(ThreadTrace& thread, EventKind kind, uint64_t address) {
  Event& event = thread.events.emplace_back();
  event.kind = kind;
  event.address = address;
  event.size = 8;
  event.step = thread.events.size();
  return event;
}

// One thread that writes a pointer and a value behind it, and reads it through the pointer.
struct Pointers {
  Trace trace;

  explicit Pointers(bool known, EventKind access = EventKind::read) {
    trace.approximations.push_back({.what = "something unknown"});
    ThreadTrace& thread = trace.threads.emplace_back();
    add(thread, EventKind::write, kNowhere).value = thread.pool.unknown(0, 64);
    add(thread, EventKind::write, 0).value = thread.pool.constant(7, 64);  // where an unknown address would be
    add(thread, EventKind::write, kTarget).value = thread.pool.constant(5, 64);
    add(thread, EventKind::write, kPointer).value =
        known ? thread.pool.constant(kTarget, 64) : thread.pool.unknown(0, 64);
    add(thread, EventKind::read, kPointer);
    Event& event = add(thread, access, 0);
    event.address_expression = thread.pool.read(4, 64);
    if (access == EventKind::update) event.value = thread.pool.constant(9, 64);
  }

  UncertainAddresses lead_nowhere() {
    const ThreadTrace* const threads[] = {&trace.threads[0]};
    UncertainAddresses out(threads);
    out.lead_nowhere(trace);
    return out;
  }

  // The value that was read last, if it is certain.
  std::optional<uint64_t> last_read() const {
    std::optional<uint64_t> out;
    TraceExecution execution(trace, MemoryModel::sc,
                             [&](uint32_t, uint32_t, std::span<const uint64_t> read, auto, bool certain) {
                               if (!read.empty()) out = certain ? std::optional(read[0]) : std::nullopt;
                             });
    for (uint32_t i = 0; i < trace.threads[0].events.size(); ++i) execution.perform({.thread = 0, .event = i});
    return out;
  }
};

TEST(UncertainAddresses, NothingIsKnownOfWhatIsReadThere) {
  Pointers pointers(false);
  EXPECT_EQ(pointers.last_read(), 7u);  // as it would be
  EXPECT_EQ(pointers.lead_nowhere().nowhere(), 8u);
  EXPECT_EQ(pointers.last_read(), std::nullopt);
}

TEST(UncertainAddresses, NotOfPointersThatAreKnown) {
  Pointers pointers(true);
  EXPECT_EQ(pointers.lead_nowhere().nowhere(), 0u);
  EXPECT_EQ(pointers.last_read(), 5u);
}

TEST(UncertainAddresses, AnUpdateHasAPlaceOfItsOwn) {
  Pointers pointers(false, EventKind::update);
  ThreadTrace& thread = pointers.trace.threads[0];
  thread.events[0].size = 16;
  thread.events[0].value = thread.pool.unknown(0, 128);
  Event& event = add(thread, EventKind::read, 0);
  event.address_expression = thread.pool.read(4, 64);
  EXPECT_EQ(pointers.lead_nowhere().nowhere(), 16u);
  EXPECT_EQ(pointers.last_read(), std::nullopt);
}

TEST(UncertainAddresses, WhatIsReadThroughThemIsUncertainToo) {
  Pointers pointers(false);
  ThreadTrace& thread = pointers.trace.threads[0];
  add(thread, EventKind::write, 0x3000).value = thread.pool.read(5, 64);
  add(thread, EventKind::read, 0x3000);
  add(thread, EventKind::read, 0).address_expression = thread.pool.read(7, 64);
  pointers.lead_nowhere();
  EXPECT_EQ(thread.events[8].address, kNowhere);
}

}  // namespace
}  // namespace heddle
