#include "explore/branch_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

namespace heddle {
namespace {

// A tree in which a branch is the smaller the more branches of its node came before it, as where a search knows
// again what it has visited.
struct Tree {
  std::vector<Tree> branches;
  uint64_t size = 1;
};

Tree random_tree(std::minstd_rand& random, double wanted) {
  Tree out;
  if (wanted <= 1) return out;
  const size_t branches = 1 + random() % 4;
  const double shrinks = std::uniform_real_distribution<>(0.4, 1)(random);
  double part = 1, all = 0;
  for (size_t i = 0; i < branches; ++i, part *= shrinks) all += part;
  part = 1;
  for (size_t i = 0; i < branches; ++i, part *= shrinks) {
    const double chance = std::uniform_real_distribution<>(0.7, 1.3)(random);
    out.branches.push_back(random_tree(random, (wanted - 1) * part / all * chance));
    out.size += out.branches.back().size;
  }
  return out;
}

// Goes through the tree, and calls after each node with what was foreseen then.
void go_through(const Tree& tree, const std::function<void(uint64_t done, double expected)>& told) {
  struct Frame {
    const Tree* tree;
    size_t next = 0, depth = 0;
    uint64_t done = 0;
  };
  BranchSizes sizes;
  std::vector<Frame> stack = {{.tree = &tree}};
  uint64_t done = 1;
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.next > 1) sizes.note(frame.depth, done - frame.done);
    if (frame.next == frame.tree->branches.size()) {
      stack.pop_back();
      continue;
    }
    frame.done = done++;
    const Tree& next = frame.tree->branches[frame.next++];
    stack.push_back({.tree = &next, .depth = frame.depth + (frame.tree->branches.size() > 1)});
    double expected = static_cast<double>(done);
    for (const Frame& each : stack)
      expected += static_cast<double>(each.tree->branches.size() - each.next) * sizes.expected(each.depth);
    told(done, expected);
  }
}

TEST(BranchSizes, ForeseesTheWholeFromTheMiddleOn) {
  std::minstd_rand random(1);
  unsigned good = 0, trees = 0;
  while (trees < 200) {
    const Tree tree = random_tree(random, 20000);
    if (tree.size < 5000) continue;
    ++trees;
    double smallest = 1e9, largest = 0;
    go_through(tree, [&](uint64_t done, double expected) {
      EXPECT_GE(expected, static_cast<double>(done));
      if (done < tree.size / 2) return;
      smallest = std::min(smallest, expected / static_cast<double>(tree.size));
      largest = std::max(largest, expected / static_cast<double>(tree.size));
    });
    good += smallest > 0.5 && largest < 2;
  }
  EXPECT_GE(good, 180U) << "of 200 searches that were foreseen within a factor of two";
}

// Units in any order: nothing remains when all were carried out, and the same trees are foreseen as well.
TEST(UnitSizes, ForeseesTheWholeInWhateverOrder) {
  std::minstd_rand random(2);
  unsigned good = 0, trees = 0;
  while (trees < 200) {
    const Tree tree = random_tree(random, 5000);
    if (tree.size < 1000) continue;
    ++trees;
    struct Unit {
      uint64_t id;
      const Tree* tree;
    };
    UnitSizes sizes;
    std::vector<Unit> frontier = {{.id = 1, .tree = &tree}};
    uint64_t last_id = 1, done = 0;
    double at_half = 0;
    sizes.carried_out(0, 0, {1});
    while (!frontier.empty()) {
      // Two workers: one of the last two.
      std::swap(frontier.back(),
                frontier[frontier.size() - 1 - random() % std::min<size_t>(2, frontier.size())]);
      const Unit unit = frontier.back();
      frontier.pop_back();
      std::vector<const Tree*> branches;
      for (const Tree& each : unit.tree->branches) branches.push_back(&each);
      std::ranges::shuffle(branches, random);
      std::vector<uint64_t> found;
      for (const Tree* each : branches) {
        found.push_back(++last_id);
        frontier.push_back({.id = last_id, .tree = each});
      }
      sizes.carried_out(unit.id, 1, found);
      if (++done == tree.size / 2) at_half = static_cast<double>(done) + sizes.remaining();
    }
    EXPECT_EQ(sizes.remaining(), 0);
    EXPECT_EQ(done, tree.size);
    const double part = at_half / static_cast<double>(tree.size);
    good += part > 0.5 && part < 2;
  }
  EXPECT_GE(good, 180U) << "of 200 searches that were foreseen within a factor of two";
}

TEST(BranchSizes, TakesTheNextDeeperOnesForWhatWasNeverSeen) {
  BranchSizes sizes;
  EXPECT_TRUE(sizes.knows_nothing());
  EXPECT_EQ(sizes.expected(3), 0);
  sizes.note(5, 10);
  EXPECT_EQ(sizes.expected(0), 10);
  EXPECT_EQ(sizes.expected(5), 10);
  EXPECT_EQ(sizes.expected(9), 10);
  sizes.note(2, 100);
  EXPECT_EQ(sizes.expected(0), 100);
  EXPECT_EQ(sizes.expected(3), 10);
}

}  // namespace
}  // namespace heddle
