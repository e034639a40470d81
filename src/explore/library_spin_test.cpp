#include "explore/library_spin.h"

#include <gtest/gtest.h>

#include <string_view>

namespace heddle {
namespace {

constexpr uint32_t kLibrary = 7, kProgram = 8;
constexpr uint64_t kWord = 0x1000;

// A thread that does this, one letter for each step: r reads the word, o another one, y gives way. What it
// reads is 5.
struct Steps {
  Steps(std::string_view text, uint32_t site) {
    behaviour.set_library(&library);
    nodes.push_back(behaviour.root(0));
    for (const char each : text) {
      Operation operation{
          .kind = HEDDLE_EVENT_read, .site = site, .address = each == 'r' ? kWord : 2 * kWord, .size = 4};
      if (each == 'y') operation = {.kind = int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_yield, .site = site};
      behaviour.add_operation(nodes.back(), operation);
      nodes.push_back(behaviour.add_edge(nodes.back(), {.input = each == 'y' ? uint64_t{0} : 5}));
    }
    behaviour.add_state(nodes.back(), Behaviour::State::over);
  }
  bool spins(size_t step) const { return library_spin(behaviour, nodes[step]) == 5; }

  const std::unordered_set<uint32_t> library = {kLibrary};
  Behaviour behaviour;
  std::vector<NodeId> nodes;
};

constexpr std::string_view kSpin = "rrrrrrrrrrrrryryryry";

TEST(LibrarySpin, IsKnownFromItsFirstReadToItsEnd) {
  const Steps steps(std::string(kSpin) + "o", kLibrary);
  EXPECT_FALSE(steps.spins(0));
  for (size_t i = 1; i < kSpin.size(); ++i) EXPECT_TRUE(steps.spins(i)) << i;
  EXPECT_FALSE(steps.spins(kSpin.size()));
}

TEST(LibrarySpin, BeginsBehindAReadOfTheProgram) {
  const Steps steps("r" + std::string(kSpin) + "o", kLibrary);
  EXPECT_FALSE(steps.spins(1));
  EXPECT_TRUE(steps.spins(2));
}

TEST(LibrarySpin, IsNoLoopThatCounts) {
  for (const std::string_view text :
       {"rrrrrrrrrro", "rrrrrrrrrrrrrrrrrrrrrrrrro", "rrrrrrrrrrrrryryryo", "ryryryryryo"}) {
    const Steps steps(text, kLibrary);
    for (size_t i = 0; i < text.size(); ++i) EXPECT_FALSE(steps.spins(i)) << text << i;
  }
  const Steps own(std::string(kSpin) + "o", kProgram);
  EXPECT_FALSE(own.spins(3));
}

TEST(LibrarySpin, IsToBeLookedAtWhereItsEndIsNotKnown) {
  const Steps steps("rrr", kLibrary);
  EXPECT_FALSE(library_read_again(steps.behaviour, steps.nodes[0]));
  EXPECT_EQ(library_read_again(steps.behaviour, steps.nodes[1]), 5);
  const Steps known("rrro", kLibrary);
  EXPECT_FALSE(library_read_again(known.behaviour, known.nodes[1]));
}

}  // namespace
}  // namespace heddle
