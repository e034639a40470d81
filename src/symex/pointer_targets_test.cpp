#include "symex/pointer_targets.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

// Objects of 16 bytes at 0x1000, 0x2000, 0x3000, ...
std::vector<TargetObject> objects_at(uint64_t address) {
  if (address < 0x1000 || address >= 0x9000 || address % 0x1000 >= 16) return {};
  return {{address / 0x1000 * 0x1000, 16}};
}

Event& add(ThreadTrace& thread, EventKind kind, uint64_t address) {
  Event& event = thread.events.emplace_back();
  event.kind = kind;
  event.address = address;
  event.size = 8;
  return event;
}

PointerTargets::Memory memory() {
  return {.objects_at = objects_at,
          .initial_word = [](uint64_t at) { return at == 0x4008 ? uint64_t{0x7000} : 0; },
          .is_elsewhere = [](uint64_t at) { return at >= 0x9000; },
          .is_garbage = [](uint32_t approximation) { return approximation == 1; }};
}

bool is_complete(const ThreadTrace& a, const ThreadTrace& b) {
  const ThreadTrace* const threads[] = {&a, &b};
  PointerTargets found(threads, memory());
  found.find();
  return found.is_complete();
}

std::vector<uint64_t> targets(const ThreadTrace& a, const ThreadTrace& b) {
  const ThreadTrace* const threads[] = {&a, &b};
  PointerTargets found(threads, memory());
  std::vector<uint64_t> out;
  for (const auto& [begin, size] : found.find()) out.push_back(begin);
  return out;
}

TEST(PointerTargets, WhatWasWrittenWhereThePointerWasRead) {
  ThreadTrace a, b;
  add(a, EventKind::read, 0x1000);
  add(a, EventKind::read, 0).address_expression =
      a.pool.binary(ExprOp::add, a.pool.read(0, 64), a.pool.constant(8, 64));
  add(b, EventKind::write, 0x1000).value = b.pool.constant(0x2000, 64);
  add(b, EventKind::write, 0x1008).value = b.pool.constant(0x3000, 64);  // elsewhere
  EXPECT_EQ(targets(a, b), std::vector<uint64_t>{0x2000});
}

TEST(PointerTargets, ThroughOtherPointersAndWhatWasThereFromTheBeginning) {
  ThreadTrace a, b;
  add(a, EventKind::read, 0x1000);
  add(a, EventKind::read, 0).address_expression = a.pool.read(0, 64);
  add(a, EventKind::read, 0).address_expression = a.pool.read(1, 64);
  add(b, EventKind::write, 0x1000).value = b.pool.constant(0x4000, 64);
  add(b, EventKind::write, 0x4000).value = b.pool.constant(0x5004, 64);
  EXPECT_EQ(targets(a, b), (std::vector<uint64_t>{0x4000, 0x5000, 0x7000}));
}

TEST(PointerTargets, OneOfTwo) {
  ThreadTrace a, b;
  add(a, EventKind::read, 0x1000);
  const Expr odd = a.pool.extract(a.pool.read(0, 64), 0, 1);
  Event& event = add(a, EventKind::write, 0);
  event.address_expression = a.pool.ite(odd, a.pool.constant(0x2000, 64), a.pool.constant(0x3008, 64));
  event.value = a.pool.constant(1, 64);
  EXPECT_EQ(targets(a, b), (std::vector<uint64_t>{0x2000, 0x3000}));
}

TEST(PointerTargets, TwoPointersThatAreWrittenAtOnce) {
  ThreadTrace a, b;
  add(a, EventKind::read, 0x1000).size = 16;
  add(a, EventKind::read, 0).address_expression = a.pool.extract(a.pool.read(0, 128), 64, 64);
  Event& both = add(b, EventKind::write, 0x1000);
  both.size = 16;
  both.value = b.pool.concat(b.pool.constant(0x3000, 64), b.pool.constant(0x2000, 64));
  EXPECT_EQ(targets(a, b), (std::vector<uint64_t>{0x2000, 0x3000}));
}

TEST(PointerTargets, NotOfAddressesInAKnownObject) {
  ThreadTrace a, b;
  add(a, EventKind::read, 0x1000);
  Event& event = add(a, EventKind::read, 0x2000);
  event.address_expression = a.pool.binary(ExprOp::add, a.pool.read(0, 64), a.pool.constant(0x2000, 64));
  event.object = 0x2000;
  event.object_size = 16;
  EXPECT_TRUE(targets(a, b).empty());
}

TEST(PointerTargets, NotAllIfAPointerIsUnknown) {
  const auto complete_with = [](auto pointer) {
    ThreadTrace a, b;
    add(a, EventKind::read, 0x1000);
    add(a, EventKind::read, 0).address_expression = a.pool.read(0, 64);
    add(b, EventKind::write, 0x1000).value = pointer(b.pool);
    return is_complete(a, b);
  };
  EXPECT_TRUE(complete_with([](ExprPool& pool) { return pool.constant(0x2000, 64); }));
  EXPECT_TRUE(complete_with([](ExprPool& pool) { return pool.constant(0, 64); }));
  EXPECT_TRUE(complete_with([](ExprPool& pool) { return pool.constant(0xa000, 64); }));
  EXPECT_FALSE(complete_with([](ExprPool& pool) { return pool.unknown(0, 64); }));
  EXPECT_TRUE(complete_with([](ExprPool& pool) { return pool.unknown(1, 64); }));
}

TEST(PointerTargets, MemoryOfLibraries) {
  ThreadTrace a, b;
  add(a, EventKind::read, 0x1000);
  add(a, EventKind::read, 0).address_expression = a.pool.read(0, 64);
  add(b, EventKind::write, 0x1000).value = b.pool.constant(0xa000, 64);
  add(b, EventKind::write, 0x1000).value = b.pool.constant(0x2000, 64);
  const ThreadTrace* const threads[] = {&a, &b};
  PointerTargets found(threads, memory());
  EXPECT_EQ(found.find().size(), 1u);
  EXPECT_EQ(found.elsewhere(), std::set<uint64_t>{0xa000});
}

TEST(PointerTargets, AllObjectsThatLayThere) {
  ThreadTrace a, b;
  add(a, EventKind::read, 0x1000);
  add(a, EventKind::read, 0).address_expression = a.pool.read(0, 64);
  add(b, EventKind::write, 0x1000).value = b.pool.constant(0x8004, 64);
  const ThreadTrace* const threads[] = {&a, &b};
  PointerTargets::Memory with_two = memory();
  with_two.objects_at = [](uint64_t at) {
    return at == 0x8004 ? std::vector<TargetObject>{{0x7ff0, 64}, {0x8000, 16}} : std::vector<TargetObject>{};
  };
  const std::map<uint64_t, uint64_t> both = {{0x7ff0, 64}, {0x8000, 16}};
  EXPECT_EQ(PointerTargets(threads, with_two).find(), both);
}

}  // namespace
}  // namespace heddle
