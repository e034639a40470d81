#include "symex/written_pointers.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

WrittenPointers pointers(const ThreadTrace& thread) {
  const ThreadTrace* const threads[] = {&thread};
  return written_pointers(threads, [](uint64_t at) { return at == 0x1000 ? uint64_t{7} : 0; });
}

Event write(uint64_t address, Expr value, uint32_t size = 8) {
  return {.kind = EventKind::write, .size = size, .address = address, .value = value};
}

TEST(WrittenPointers, AreAllThatIsEverThere) {
  ThreadTrace thread;
  const Expr block = thread.pool.constant(0x5000, 64), null = thread.pool.constant(0, 64);
  thread.events = {write(0x1000, block), write(0x2000, block), write(0x2000, null)};
  EXPECT_EQ(pointers(thread), (WrittenPointers{{0x1000, {7, 0x5000}}, {0x2000, {0, 0x5000}}}));
}

TEST(WrittenPointers, AreNotKnownWhereSomethingElseIsWritten) {
  ThreadTrace thread;
  const Expr block = thread.pool.constant(0x5000, 64), byte = thread.pool.constant(1, 8);
  const Expr read = thread.pool.read(0, 64);
  thread.events = {{.kind = EventKind::read, .size = 8, .address = 0x1000},
                   write(0x1000, block),
                   write(0x1000, read),
                   write(0x2000, block),
                   write(0x2007, byte, 1),
                   write(0x3000, block),
                   write(0x3008, byte, 1),
                   write(0x4000, block),
                   write(0x4004, block)};
  EXPECT_EQ(pointers(thread), (WrittenPointers{{0x3000, {0, 0x5000}}}));
}

TEST(WrittenPointers, AreNotKnownWhereAnIndexIsNot) {
  ThreadTrace thread;
  const Expr block = thread.pool.constant(0x5000, 64);
  thread.events = {
      {.kind = EventKind::read, .size = 8, .address = 0x9000}, write(0x1000, block), write(0x2000, block)};
  Event indexed = write(0x1000, block);
  indexed.address_expression = thread.pool.read(0, 64);
  indexed.object = 0x1000;
  indexed.object_size = 64;
  thread.events.push_back(indexed);
  EXPECT_EQ(pointers(thread), (WrittenPointers{{0x2000, {0, 0x5000}}}));
  thread.events.back().object_size = 0;
  EXPECT_EQ(pointers(thread), WrittenPointers{});
}

}  // namespace
}  // namespace heddle
