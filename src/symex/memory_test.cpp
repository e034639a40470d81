#include "symex/memory.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>

namespace heddle {
namespace {

// Bytes 0x1000 to 0x1fff are known: each is the low byte of its address.
SymbolicMemory image() {
  return SymbolicMemory([](uint64_t page, auto bytes, auto known) {
    if (page != 1) return;
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
    for (uint64_t& word : known) word = ~uint64_t{0};
  });
}

std::optional<uint32_t> word(SymbolicMemory& memory, uint64_t address) {
  uint32_t out = 0;
  if (!memory.read(address, {reinterpret_cast<uint8_t*>(&out), sizeof out})) return std::nullopt;
  return out;
}

TEST(SymbolicMemory, HoldsWhatTheImageSaysAndNothingElse) {
  SymbolicMemory memory = image();
  EXPECT_EQ(word(memory, 0x1010), 0x13121110u);
  EXPECT_EQ(word(memory, 0x1ffe), std::nullopt);  // half of it
  EXPECT_EQ(word(memory, 0x5000), std::nullopt);
}

TEST(SymbolicMemory, WritesGoOverPages) {
  SymbolicMemory memory = image();
  const uint8_t bytes[] = {1, 2, 3, 4, 5, 6};
  memory.write(0x1ffd, bytes);
  EXPECT_EQ(word(memory, 0x1ffd), 0x04030201u);
  EXPECT_EQ(word(memory, 0x1fff), 0x06050403u);
}

TEST(SymbolicMemory, ExpressionsAreKeptByBytes) {
  SymbolicMemory memory = image();
  memory.write(0x1100, Expr{7}, 4);
  EXPECT_EQ(word(memory, 0x1100), std::nullopt);
  EXPECT_EQ(word(memory, 0x10fc), 0xfffefdfcu);
  EXPECT_EQ(memory.byte(0x1102).expression, Expr{7});
  EXPECT_EQ(memory.byte(0x1102).index, 2);
  const uint8_t plain[] = {9, 9, 9, 9};
  memory.write(0x1100, plain);
  EXPECT_EQ(word(memory, 0x1100), 0x09090909u);
  memory.forget(0x1101, 1);
  EXPECT_EQ(word(memory, 0x1100), std::nullopt);
  EXPECT_FALSE(memory.byte(0x1101).known);
}

TEST(SymbolicMemory, SnapshotsAreApart) {
  SymbolicMemory memory = image();
  memory.write(0x1200, Expr{3}, 4);
  SymbolicMemory other = memory.snapshot();
  EXPECT_TRUE(other.byte(0x1200).inherited);
  EXPECT_FALSE(memory.byte(0x1200).inherited);
  other.set(0x1500, other.byte(0x1200));
  EXPECT_TRUE(other.byte(0x1500).inherited) << "copied";
  const uint8_t mine[] = {1}, theirs[] = {2};
  memory.write(0x1300, mine);
  other.write(0x1300, theirs);
  other.write(0x1301, theirs);
  EXPECT_EQ(memory.byte(0x1300).value, 1);
  EXPECT_EQ(memory.byte(0x1301).value, 1);  // of the image
  EXPECT_EQ(other.byte(0x1300).value, 2);
}

// Against a map of bytes.
TEST(SymbolicMemory, RandomWritesAndSnapshots) {
  std::mt19937 random(1);
  const auto below = [&](uint64_t limit) {
    return std::uniform_int_distribution<uint64_t>(0, limit - 1)(random);
  };
  struct Byte {
    std::optional<uint8_t> value;
    uint32_t expression = 0;
    uint8_t index = 0;
  };
  using Model = std::map<uint64_t, Byte>;
  std::vector<std::pair<SymbolicMemory, Model>> memories;
  memories.emplace_back(SymbolicMemory([](uint64_t, auto, auto) {}), Model());
  for (int round = 0; round < 20000; ++round) {
    auto& [memory, model] = memories[below(memories.size())];
    const uint64_t at = 0x3f00 + below(0x400), size = 1 + below(20);
    switch (below(5)) {
      case 0:
      case 1: {
        std::vector<uint8_t> bytes(size);
        for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(below(256));
        memory.write(at, bytes);
        for (uint64_t i = 0; i < size; ++i) model[at + i] = {.value = bytes[i]};
        break;
      }
      case 2: {
        const auto expression = static_cast<uint32_t>(1 + below(1000));
        memory.write(at, Expr{expression}, static_cast<unsigned>(size));
        for (uint64_t i = 0; i < size; ++i)
          model[at + i] = {.value = 0, .expression = expression, .index = static_cast<uint8_t>(i)};
        break;
      }
      case 3:
        memory.forget(at, size);
        for (uint64_t i = 0; i < size; ++i) model[at + i] = {};
        break;
      default:
        if (round % 100 == 0 && memories.size() < 5) {
          SymbolicMemory copy = memory.snapshot();
          Model other = model;
          for (auto& [address, byte] : other)
            if (byte.expression != 0) byte.expression = UINT32_MAX;
          memories.emplace_back(std::move(copy), std::move(other));
        }
    }
    auto& [checked, expected] = memories[below(memories.size())];
    const uint64_t where = 0x3f00 + below(0x400);
    const SymbolicMemory::Byte byte = checked.byte(where);
    const Byte& wanted = expected[where];
    ASSERT_EQ(byte.known, wanted.value.has_value());
    ASSERT_EQ(byte.inherited, wanted.expression == UINT32_MAX);
    if (wanted.expression != 0 && wanted.expression != UINT32_MAX) {
      ASSERT_EQ(byte.expression.number, wanted.expression);
      ASSERT_EQ(byte.index, wanted.index);
    } else if (wanted.value && wanted.expression == 0) {
      ASSERT_EQ(byte.value, *wanted.value);
    }
  }
}

}  // namespace
}  // namespace heddle
