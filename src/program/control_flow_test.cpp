// ControlFlow against hand-written functions, and against dominance, post-dominance, control dependence and
// depth-first search taken literally from their definitions on random graphs.
#include "program/control_flow.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

#include <chrono>
#include <memory>
#include <random>
#include <set>
#include <string>

namespace heddle {
namespace {

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;
using Numbers = std::vector<uint32_t>;

class ControlFlowTest : public testing::Test {
 protected:
  const llvm::Function& parse(const std::string& body) {
    std::string text = "declare void @f()\ndefine void @test(i1 %c, i32 %x, ptr %p) {\n" + body + "}\n";
    llvm::SMDiagnostic error;
    module_ = llvm::parseAssemblyString(text, error, context_);
    if (module_ == nullptr) {
      ADD_FAILURE() << error.getMessage().str();
      std::abort();
    }
    return *module_->getFunction("test");
  }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

TEST_F(ControlFlowTest, Diamond) {
  ControlFlow flow(parse(R"(
    entry: br i1 %c, label %left, label %right
    left:  br label %join
    right: br label %join
    join:  ret void
  )"));
  ASSERT_EQ(flow.size(), 4u);
  EXPECT_EQ(flow.successors(0), (Numbers{1, 2}));
  EXPECT_EQ(flow.predecessors(3), (Numbers{1, 2}));
  EXPECT_EQ(flow.immediate_dominator(0), -1);
  EXPECT_EQ(flow.immediate_dominator(3), 0);
  EXPECT_EQ(flow.immediate_post_dominator(0), 3);
  EXPECT_EQ(flow.immediate_post_dominator(3), -1);
  EXPECT_TRUE(flow.dominates(0, 3));
  EXPECT_FALSE(flow.dominates(1, 3));
  EXPECT_TRUE(flow.post_dominates(3, 0));
  EXPECT_EQ(flow.controlled_by(1), (Pairs{{0, 1}}));
  EXPECT_EQ(flow.controlled_by(2), (Pairs{{0, 2}}));
  EXPECT_EQ(flow.controlled_by(3), Pairs{});
  EXPECT_EQ(flow.exits(), Numbers{3});
}

TEST_F(ControlFlowTest, NumbersAndBlocksAreInverse) {
  const llvm::Function& function = parse("entry: br label %a\n a: br label %b\n b: ret void\n");
  ControlFlow flow(function);
  uint32_t expected = 0;
  for (const llvm::BasicBlock& block : function) {
    EXPECT_EQ(flow.number(&block), expected);
    EXPECT_EQ(flow.block(expected++), &block);
  }
}

TEST_F(ControlFlowTest, ForeignBlockIsABug) {
  const llvm::Function& function = parse("entry: ret void\n");
  ControlFlow flow(function);
  auto other = std::unique_ptr<llvm::BasicBlock>(llvm::BasicBlock::Create(context_));
  EXPECT_EXIT(flow.number(other.get()), testing::ExitedWithCode(70), "");
}

TEST_F(ControlFlowTest, SwitchNamesASuccessorOnce) {
  ControlFlow flow(parse(R"(
    entry: switch i32 %x, label %b [ i32 0, label %a
                                     i32 1, label %b
                                     i32 2, label %a ]
    a: ret void
    b: ret void
  )"));
  EXPECT_EQ(flow.successors(0), (Numbers{2, 1}));  // the default is the first operand
  EXPECT_EQ(flow.predecessors(1), Numbers{0});
  EXPECT_EQ(flow.controlled_by(1), (Pairs{{0, 1}}));
}

TEST_F(ControlFlowTest, NestedLoops) {
  ControlFlow flow(parse(R"(
    entry: br label %outer
    outer: br label %inner
    inner: br i1 %c, label %inner, label %latch
    latch: br i1 %c, label %outer, label %exit
    exit:  ret void
  )"));
  EXPECT_TRUE(flow.retreating(2, 2));
  EXPECT_TRUE(flow.retreating(3, 1));
  EXPECT_FALSE(flow.retreating(1, 2));
  EXPECT_FALSE(flow.retreating(3, 4));
  EXPECT_EQ(flow.topological_order(), (Numbers{0, 1, 2, 3, 4}));
  EXPECT_EQ(flow.controlled_by(2), (Pairs{{2, 2}, {3, 1}}));
  EXPECT_EQ(flow.controlled_by(1), (Pairs{{3, 1}}));
}

TEST_F(ControlFlowTest, IrreducibleLoopHasOneRetreatingEdge) {
  ControlFlow flow(parse(R"(
    entry: br i1 %c, label %a, label %b
    a: br label %b
    b: br i1 %c, label %a, label %exit
    exit: ret void
  )"));
  EXPECT_FALSE(flow.retreating(1, 2));
  EXPECT_TRUE(flow.retreating(2, 1));
  EXPECT_EQ(flow.immediate_dominator(1), 0);
  EXPECT_EQ(flow.immediate_dominator(2), 0);
}

TEST_F(ControlFlowTest, EndlessLoopLeavesThroughTheVirtualExit) {
  ControlFlow flow(parse(R"(
    entry: br i1 %c, label %loop, label %exit
    loop:  br label %loop
    exit:  ret void
  )"));
  EXPECT_EQ(flow.exits(), (Numbers{1, 2}));
  EXPECT_EQ(flow.immediate_post_dominator(0), -1);
  EXPECT_EQ(flow.immediate_post_dominator(1), -1);
  EXPECT_EQ(flow.controlled_by(1), (Pairs{{0, 1}}));  // not by (1, 1), which is no decision
}

TEST_F(ControlFlowTest, UnreachableBlocksStandAlone) {
  ControlFlow flow(parse(R"(
    entry: br label %exit
    exit:  ret void
    dead:  br i1 %c, label %exit, label %dead2
    dead2: br label %dead
  )"));
  EXPECT_FALSE(flow.reachable(2));
  EXPECT_EQ(flow.successors(2), (Numbers{1, 3}));
  EXPECT_EQ(flow.predecessors(1), (Numbers{0, 2}));
  EXPECT_EQ(flow.topological_order(), (Numbers{0, 1}));
  for (uint32_t b = 0; b < 4; ++b) {
    EXPECT_EQ(flow.dominates(2, b), b == 2);
    EXPECT_EQ(flow.dominates(b, 2), b == 2);
    EXPECT_EQ(flow.post_dominates(2, b), b == 2);
    EXPECT_EQ(flow.post_dominates(b, 2), b == 2);
  }
  EXPECT_EQ(flow.immediate_dominator(2), -1);
  EXPECT_EQ(flow.immediate_post_dominator(2), -1);
  EXPECT_EQ(flow.controlled_by(3), Pairs{});
  EXPECT_FALSE(flow.retreating(3, 2));
  EXPECT_EQ(flow.exits(), Numbers{1});
}

TEST_F(ControlFlowTest, DeclarationIsEmpty) {
  parse("entry: ret void\n");
  ControlFlow flow(*module_->getFunction("f"));
  EXPECT_EQ(flow.size(), 0u);
  EXPECT_TRUE(flow.topological_order().empty());
  EXPECT_TRUE(flow.exits().empty());
}

// A loop body of 100,000 blocks, each of which may start over: deep for a recursive search, and with 5*10^9
// control dependences.
TEST_F(ControlFlowTest, HundredThousandBlocks) {
  const llvm::Function& function = parse("entry: ret void\n");
  auto& f = const_cast<llvm::Function&>(function);
  f.getEntryBlock().getTerminator()->eraseFromParent();
  constexpr uint32_t count = 100'000;
  std::vector<llvm::BasicBlock*> blocks{&f.getEntryBlock()};
  for (uint32_t i = 1; i < count; ++i) blocks.push_back(llvm::BasicBlock::Create(context_, "", &f));
  llvm::BranchInst::Create(blocks[1], blocks[0]);
  for (uint32_t i = 1; i + 1 < count; ++i)
    llvm::BranchInst::Create(blocks[i + 1], blocks[1], f.getArg(0), blocks[i]);
  llvm::ReturnInst::Create(context_, blocks[count - 1]);

  auto begin = std::chrono::steady_clock::now();
  ControlFlow flow(f);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_TRUE(flow.dominates(1, count - 1));
  EXPECT_TRUE(flow.post_dominates(count - 1, 0));
  EXPECT_TRUE(flow.retreating(count / 2, 1));
  // A block runs again exactly if one at or behind it starts over.
  Pairs expected;
  for (uint32_t a = count - 100; a < count - 1; ++a) expected.emplace_back(a, 1);
  EXPECT_EQ(flow.controlled_by(count - 100), expected);
}

// ---- the definitions, literally ----

struct Graph {
  std::vector<std::set<uint32_t>> next;
  std::vector<bool> from(uint32_t start, int without) const {
    std::vector<bool> seen(next.size());
    Numbers work;
    auto visit = [&](uint32_t b) {
      if (static_cast<int>(b) == without || seen[b]) return;
      seen[b] = true;
      work.push_back(b);
    };
    visit(start);
    while (!work.empty()) {
      uint32_t b = work.back();
      work.pop_back();
      for (uint32_t s : next[b]) visit(s);
    }
    return seen;
  }
};

class RandomGraphs : public ControlFlowTest {
 protected:
  // No block branches to the entry: LLVM forbids it.
  const llvm::Function& make(uint32_t seed) {
    std::mt19937 random(seed);
    const llvm::Function& function = parse("entry: ret void\n");
    auto& f = const_cast<llvm::Function&>(function);
    f.getEntryBlock().getTerminator()->eraseFromParent();
    std::vector<llvm::BasicBlock*> blocks{&f.getEntryBlock()};
    uint32_t count = 2 + random() % 14;
    for (uint32_t i = 1; i < count; ++i) blocks.push_back(llvm::BasicBlock::Create(context_, "", &f));
    graph_.next.assign(count, {});
    ordered_.assign(count, {});
    uint32_t exits_in_ten = random() % 4;  // 0: endless loops only
    for (uint32_t b = 0; b < count; ++b) {
      llvm::IRBuilder<> builder(blocks[b]);
      auto target = [&] {
        uint32_t t = 1 + random() % (count - 1);
        graph_.next[b].insert(t);
        ordered_[b].push_back(t);
        return blocks[t];
      };
      uint32_t kind = random() % 10;
      if (kind < exits_in_ten) {
        builder.CreateRetVoid();
      } else if (kind < 5) {
        builder.CreateBr(target());
      } else if (kind < 9) {
        auto* yes = target();
        builder.CreateCondBr(f.getArg(0), yes, target());
      } else {
        auto* branch = builder.CreateSwitch(f.getArg(1), target());
        for (uint32_t i = 0; i < 3; ++i) branch->addCase(builder.getInt32(i), target());
      }
    }
    EXPECT_FALSE(llvm::verifyFunction(f, &llvm::errs()));
    return function;
  }

  void search(uint32_t b, std::vector<int>& state, std::set<std::pair<uint32_t, uint32_t>>& closing) {
    state[b] = 1;
    for (uint32_t s : ordered_[b]) {
      if (state[s] == 1) closing.insert({b, s});
      if (state[s] == 0) search(s, state, closing);
    }
    state[b] = 2;
  }

  Graph graph_;
  std::vector<Numbers> ordered_;
};

TEST_F(RandomGraphs, DominanceByRemovingABlock) {
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    ControlFlow flow(make(seed));
    std::vector<bool> reachable = graph_.from(0, -1);
    for (uint32_t a = 0; a < flow.size(); ++a) {
      ASSERT_EQ(flow.reachable(a), reachable[a]);
      std::vector<bool> without = graph_.from(0, static_cast<int>(a));
      std::set<uint32_t> strict;
      for (uint32_t b = 0; b < flow.size(); ++b) {
        bool expected = a == b || (reachable[a] && reachable[b] && !without[b]);
        ASSERT_EQ(flow.dominates(a, b), expected) << seed << ": " << a << " " << b;
        // The immediate dominator is the strict dominator that all others dominate.
        if (flow.immediate_dominator(b) >= 0 && expected && a != b) {
          ASSERT_TRUE(flow.dominates(a, static_cast<uint32_t>(flow.immediate_dominator(b))));
          ASSERT_NE(flow.immediate_dominator(b), static_cast<int32_t>(b));
        }
        ASSERT_FALSE(flow.immediate_dominator(b) < 0 && expected && a != b);
      }
    }
  }
}

TEST_F(RandomGraphs, PostDominanceAndControlDependenceByRemovingABlock) {
  size_t dependences = 0, endless = 0;
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    ControlFlow flow(make(seed));
    auto n = static_cast<uint32_t>(flow.size());
    Graph with_exit = graph_;
    with_exit.next.emplace_back();
    for (uint32_t b : flow.exits()) {
      endless += graph_.next[b].empty() ? 0 : 1;
      with_exit.next[b].insert(n);
    }
    std::vector<bool> reachable = graph_.from(0, -1);
    std::vector<std::vector<bool>> post(n, std::vector<bool>(n));
    for (uint32_t a = 0; a < n; ++a) {
      for (uint32_t b = 0; b < n; ++b) {
        bool cannot_avoid = reachable[a] && reachable[b] && !with_exit.from(b, static_cast<int>(a))[n];
        post[a][b] = a == b || cannot_avoid;
        ASSERT_EQ(flow.post_dominates(a, b), post[a][b]) << seed << ": " << a << " " << b;
        if (a == b || !post[a][b]) continue;
        ASSERT_GE(flow.immediate_post_dominator(b), 0);
        ASSERT_NE(flow.immediate_post_dominator(b), static_cast<int32_t>(b));
        ASSERT_TRUE(flow.post_dominates(a, static_cast<uint32_t>(flow.immediate_post_dominator(b))));
      }
    }
    for (uint32_t b = 0; b < n; ++b) {
      Pairs expected;
      for (uint32_t a = 0; a < n && reachable[b]; ++a) {
        if (!reachable[a] || graph_.next[a].size() < 2) continue;
        for (uint32_t s : graph_.next[a]) {
          if (post[b][s] && !(post[b][a] && a != b)) expected.emplace_back(a, s);
        }
      }
      dependences += expected.size();
      ASSERT_EQ(flow.controlled_by(b), expected) << seed << ": " << b;
      if (flow.immediate_post_dominator(b) < 0) {
        for (uint32_t a = 0; a < n; ++a) ASSERT_EQ(post[a][b], a == b);
      }
    }
  }
  EXPECT_GT(dependences, 10'000u);
  EXPECT_GT(endless, 1000u);
}

// Which block of an endless loop counts as leaving is LLVM's choice; that exactly one does is not.
TEST_F(RandomGraphs, ExitsAreFinalBlocksAndOneOfEachEndlessRegion) {
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    ControlFlow flow(make(seed));
    std::set<uint32_t> exits(flow.exits().begin(), flow.exits().end());
    std::vector<bool> reachable = graph_.from(0, -1);
    for (uint32_t b = 0; b < flow.size(); ++b) {
      if (!reachable[b]) {
        ASSERT_FALSE(exits.contains(b));
        continue;
      }
      std::vector<bool> ahead = graph_.from(b, -1);
      size_t exits_ahead = 0;
      for (uint32_t e : exits) exits_ahead += ahead[e] ? 1 : 0;
      ASSERT_GE(exits_ahead, 1u);
      if (graph_.next[b].empty()) ASSERT_TRUE(exits.contains(b));
      // Nothing but itself is ahead of an exit: it is left for good, or its region ends there.
      if (exits.contains(b)) ASSERT_EQ(exits_ahead, 1u) << seed << ": " << b;
    }
  }
}

TEST_F(RandomGraphs, RetreatingEdgesAndOrder) {
  size_t closing_edges = 0;
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    ControlFlow flow(make(seed));
    std::vector<int> state(flow.size());
    std::set<std::pair<uint32_t, uint32_t>> closing;
    search(0, state, closing);
    closing_edges += closing.size();
    std::vector<int> position(flow.size(), -1);
    int next = 0;
    for (uint32_t b : flow.topological_order()) {
      ASSERT_EQ(position[b], -1);
      position[b] = next++;
    }
    for (uint32_t b = 0; b < flow.size(); ++b) {
      ASSERT_EQ(position[b] >= 0, state[b] == 2);
      for (uint32_t s : graph_.next[b]) {
        ASSERT_EQ(flow.retreating(b, s), closing.contains({b, s})) << seed << ": " << b << " " << s;
        if (state[b] == 2 && !closing.contains({b, s})) ASSERT_LT(position[b], position[s]);
      }
    }
  }
  EXPECT_GT(closing_edges, 1000u);
}

}  // namespace
}  // namespace heddle
