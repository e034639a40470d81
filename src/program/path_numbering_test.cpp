// PathNumbering on hand-written and on random functions, all checked with the oracles of
// path_numbering_oracle.h.
#include "program/path_numbering.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/SourceMgr.h>

#include <chrono>
#include <memory>
#include <random>
#include <string>

#include "program/path_numbering_oracle.h"

namespace heddle {
namespace {

using namespace path_oracle;

class PathNumberingTest : public testing::Test {
 protected:
  llvm::Function& parse(const std::string& body) {
    std::string text = R"(
      declare void @plain()
      declare void @cut()
      declare i32 @twice(ptr) returns_twice
      declare void @llvm.donothing()
      declare i32 @llvm.eh.sjlj.setjmp(ptr)
      declare i32 @__gxx_personality_v0(...)
      define void @test(i1 %c, i32 %x, ptr %p) personality ptr @__gxx_personality_v0 {
    )" + body + "}\n";
    llvm::SMDiagnostic error;
    module_ = llvm::parseAssemblyString(text, error, context_);
    if (module_ == nullptr) {
      ADD_FAILURE() << error.getMessage().str() << " in line " << error.getLineNo();
      std::abort();
    }
    return *module_->getFunction("test");
  }
  // Numbers the function after checking it with the oracles.
  Numbered number(const std::string& body, uint64_t max_paths = default_max) {
    const llvm::Function& function = parse(body);
    for (uint64_t max : {max_paths, uint64_t{16}, uint64_t{1}}) check_all(function, max);
    return Numbered(function, max_paths);
  }
  llvm::Function* get(const char* name) { return module_->getFunction(name); }

  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

bool is_cut(const Numbered& n, Piece from, Piece to) {
  const PathNumbering::Edge* edge = n.paths.find_edge(from, to);
  EXPECT_NE(edge, nullptr) << from << " -> " << to;
  return edge != nullptr && edge->cut;
}

std::string diamonds(int count) {
  std::string text = "entry: br label %d0\n";
  for (int i = 0; i < count; ++i) {
    std::string k = std::to_string(i);
    text += "d" + k + ": br i1 %c, label %l" + k + ", label %r" + k + "\n";
    for (const char* side : {"l", "r"}) text += side + k + ": br label %d" + std::to_string(i + 1) + "\n";
  }
  return text + "d" + std::to_string(count) + ": ret void\n";
}

TEST_F(PathNumberingTest, SingleBlock) {
  Numbered n = number("entry: ret void\n");
  EXPECT_EQ(n.paths.path_count(), 1u);
  EXPECT_TRUE(n.paths.ends_function(0));
}

TEST_F(PathNumberingTest, DeclarationHasNoPaths) {
  parse("entry: ret void\n");
  Numbered n(*get("cut"));
  EXPECT_EQ(n.paths.path_count(), 0u);
  EXPECT_EQ(n.paths.decode(0), std::nullopt);
}

TEST_F(PathNumberingTest, DiamondHasTwoPaths) {
  Numbered n = number(diamonds(1));
  EXPECT_EQ(n.paths.path_count(), 2u);
  EXPECT_EQ(n.paths.find_edge(1, 2)->value, 0u);
  EXPECT_EQ(n.paths.find_edge(1, 3)->value, 1u);
  EXPECT_EQ(n.paths.find_edge(0, 2), nullptr);
  EXPECT_EQ(n.paths.find_edge(3, 3), nullptr);
}

// From the entry or from behind the back edge, to the back edge or the end.
TEST_F(PathNumberingTest, LoopHasFourPaths) {
  Numbered n = number("entry: br label %l\n l: br i1 %c, label %l, label %e\n e: ret void\n");
  EXPECT_EQ(n.paths.path_count(), 4u);
  EXPECT_TRUE(is_cut(n, 1, 1));
  EXPECT_FALSE(is_cut(n, 0, 1));
}

TEST_F(PathNumberingTest, NestedIrreducibleAndEndlessLoops) {
  number(R"(
    entry: br label %outer
    outer: br label %inner
    inner: br i1 %c, label %inner, label %latch
    latch: br i1 %c, label %outer, label %exit
    exit:  ret void
  )");
  Numbered irreducible = number(R"(
    entry: br i1 %c, label %a, label %b
    a: br label %b
    b: br i1 %c, label %a, label %exit
    exit: ret void
  )");
  EXPECT_TRUE(is_cut(irreducible, 2, 1));
  EXPECT_FALSE(is_cut(irreducible, 1, 2));
  Numbered endless = number("entry: br label %l\n l: br label %l\n");
  EXPECT_EQ(endless.paths.path_count(), 2u);
  EXPECT_FALSE(endless.paths.ends_function(1));
}

TEST_F(PathNumberingTest, RepeatedSwitchTargetsAreOneEdge) {
  Numbered n = number(R"(
    entry: switch i32 %x, label %b [ i32 0, label %a
                                     i32 1, label %b
                                     i32 2, label %a ]
    a: ret void
    b: ret void
  )");
  EXPECT_EQ(n.paths.edges().size(), 2u);
  EXPECT_EQ(n.paths.path_count(), 2u);
}

TEST_F(PathNumberingTest, CallsSplitBlocks) {
  Numbered n = number(R"(
    entry: call void @plain()
           call void @cut()
           call void @llvm.donothing()
           call void @cut()
           br label %next
    next:  ret void
  )");
  ASSERT_EQ(n.paths.piece_count(), 4u);
  ASSERT_NE(n.paths.cutting_call(0), nullptr);
  EXPECT_TRUE(calls(*n.paths.cutting_call(0), "cut"));
  EXPECT_NE(n.paths.cutting_call(0), n.paths.cutting_call(1));
  EXPECT_EQ(n.paths.cutting_call(2), nullptr);
  EXPECT_EQ(n.paths.block_of(2), 0u);
  EXPECT_EQ(n.paths.first_piece(1), 3u);
  EXPECT_TRUE(is_cut(n, 0, 1));
  EXPECT_TRUE(is_cut(n, 1, 2));
  EXPECT_FALSE(is_cut(n, 2, 3));
  EXPECT_EQ(n.paths.path_count(), 3u);
}

TEST_F(PathNumberingTest, NothingCutsWithoutAPredicateButWhatReturnsTwice) {
  ControlFlow flow(parse("entry: call void @cut()\n %r = call i32 @twice(ptr %p)\n ret void\n"));
  PathNumbering paths(flow, {});
  ASSERT_EQ(paths.piece_count(), 2u);
  EXPECT_TRUE(calls(*paths.cutting_call(0), "twice"));
}

TEST_F(PathNumberingTest, SetjmpIntrinsicCuts) {
  Numbered n(parse("entry: %r = call i32 @llvm.eh.sjlj.setjmp(ptr %p)\n ret void\n"));
  EXPECT_EQ(n.paths.piece_count(), 2u);
}

TEST_F(PathNumberingTest, MustTailCallBelongsToTheEnd) {
  Numbered n(parse("entry: musttail call void @test(i1 %c, i32 %x, ptr %p)\n ret void\n"));
  ASSERT_EQ(n.paths.piece_count(), 1u);
  EXPECT_TRUE(n.paths.ends_function(0));
}

TEST_F(PathNumberingTest, Invoke) {
  auto text = [](const std::string& callee) {
    return "entry: invoke void @" + callee + R"(() to label %ok unwind label %pad
      ok:  ret void
      pad: %l = landingpad { ptr, i32 } cleanup
           resume { ptr, i32 } %l
    )";
  };
  Numbered plain = number(text("plain"));
  EXPECT_FALSE(is_cut(plain, 0, 1) || is_cut(plain, 0, 2));
  EXPECT_EQ(plain.paths.cutting_terminator(0), nullptr);
  EXPECT_TRUE(plain.paths.ends_function(2));
  EXPECT_EQ(plain.paths.path_count(), 2u);
  Numbered cut = number(text("cut"));
  EXPECT_TRUE(is_cut(cut, 0, 1) && is_cut(cut, 0, 2));
  EXPECT_NE(cut.paths.cutting_terminator(0), nullptr);
  EXPECT_EQ(cut.paths.cutting_call(0), nullptr);
  EXPECT_EQ(cut.paths.piece_count(), 3u);
  EXPECT_EQ(cut.paths.path_count(), 3u);
}

// All ways into a block behind an indirectbr or callbr are cut, also ordinary branches.
TEST_F(PathNumberingTest, IndirectBranchAndAsmGoto) {
  for (const char* jump : {"indirectbr ptr %p, [label %a, label %b]",
                           "callbr void asm sideeffect \"\", \"!i\"() to label %a [label %b]"}) {
    Numbered n = number(std::string("entry: br i1 %c, label %jump, label %a\n jump: ") + jump + R"(
      a: br label %b
      b: ret void
    )");
    EXPECT_FALSE(is_cut(n, 0, 1));
    EXPECT_TRUE(is_cut(n, 0, 2));
    EXPECT_TRUE(is_cut(n, 1, 2));
    EXPECT_TRUE(is_cut(n, 1, 3));
    EXPECT_TRUE(is_cut(n, 2, 3));
  }
}

TEST_F(PathNumberingTest, UnreachableBlocksTakeNoPart) {
  Numbered n = number(R"(
    entry: br label %exit
    exit:  ret void
    dead:  call void @cut()
           br i1 %c, label %exit, label %dead2
    dead2: indirectbr ptr %p, [label %exit]
    dead3: ret void
  )");
  EXPECT_EQ(n.paths.piece_count(), 5u);
  EXPECT_EQ(n.paths.path_count(), 1u);
  EXPECT_EQ(n.paths.edges().size(), 1u);
  EXPECT_FALSE(is_cut(n, 0, 1));
  EXPECT_EQ(n.paths.find_edge(2, 1), nullptr);
  EXPECT_FALSE(n.paths.ends_function(4));
}

// ---- size ----

size_t cut_edges(const PathNumbering& paths) {
  size_t count = 0;
  for (const PathNumbering::Edge& e : paths.edges()) count += e.cut ? 1 : 0;
  return count;
}

TEST_F(PathNumberingTest, SeventyDiamondsAreCutOnce) {
  Numbered n = number(diamonds(70));
  EXPECT_TRUE(n.paths.split_for_size());
  EXPECT_LE(n.paths.path_count(), default_max);
  EXPECT_EQ(cut_edges(n.paths), 2u);
  const llvm::Function& function = *get("test");
  for (uint64_t max : {UINT64_MAX, uint64_t{1} << 32, uint64_t{1} << 16, uint64_t{256}})
    check_all(function, max);
  EXPECT_EQ(cut_edges(Numbered(function, UINT64_MAX).paths), 2u);
}

TEST_F(PathNumberingTest, ExactlyMaxPathsNeedsNoCut) {
  EXPECT_FALSE(Numbered(parse(diamonds(63))).paths.split_for_size());
  EXPECT_EQ(Numbered(*get("test")).paths.path_count(), default_max);
  EXPECT_TRUE(Numbered(*get("test"), default_max - 1).paths.split_for_size());
  EXPECT_TRUE(Numbered(parse(diamonds(64)), UINT64_MAX).paths.split_for_size());  // 2^64
}

TEST_F(PathNumberingTest, BigFunctionsAreFast) {
  auto begin = std::chrono::steady_clock::now();
  constexpr uint32_t cases = 10'000;
  llvm::Function& f = parse(diamonds(20'000));
  auto* dispatch = llvm::cast<llvm::BranchInst>(f.getEntryBlock().getTerminator());
  auto* branch =
      llvm::SwitchInst::Create(f.getArg(1), dispatch->getSuccessor(0), cases, dispatch->getIterator());
  dispatch->eraseFromParent();
  uint32_t i = 0;
  for (llvm::BasicBlock& block : f) {
    if (&block == &f.getEntryBlock() || i == cases) continue;
    branch->addCase(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context_), i++), &block);
  }
  for (uint64_t max : {default_max, uint64_t{1} << 20}) {
    Numbered n(f, max);
    EXPECT_LE(n.paths.path_count(), max);
    for (const PathNumbering::Edge& e : n.paths.edges()) ASSERT_EQ(n.paths.find_edge(e.from, e.to), &e);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

// ---- random functions ----

class RandomFunctions : public PathNumberingTest {
 protected:
  llvm::Function& make(uint32_t seed, uint32_t most_blocks) {
    random_.seed(seed);
    llvm::Function& f = parse("entry: ret void\n");
    f.getEntryBlock().getTerminator()->eraseFromParent();
    blocks_.clear();
    pads_.clear();
    for (uint32_t i = 2 + below(most_blocks - 1); i > 0; --i) blocks_.push_back(add_block(f));
    for (uint32_t i = below(3); i > 0; --i) pads_.push_back(add_block(f));
    llvm::BranchInst::Create(any(), &f.getEntryBlock());
    jumps_ = below(4) == 0;
    for (llvm::BasicBlock* pad : pads_) {
      llvm::IRBuilder<> builder(pad);
      auto* type = llvm::StructType::get(context_, {builder.getPtrTy(), builder.getInt32Ty()});
      builder.CreateLandingPad(type, 0)->setCleanup(true);
    }
    for (llvm::BasicBlock& block : f) {
      if (block.getTerminator() == nullptr) fill(f, block);
    }
    EXPECT_FALSE(llvm::verifyFunction(f, &llvm::errs()));
    return f;
  }

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  llvm::BasicBlock* add_block(llvm::Function& f) { return llvm::BasicBlock::Create(context_, "", &f); }
  llvm::BasicBlock* any() { return blocks_[below(static_cast<uint32_t>(blocks_.size()))]; }

  void fill(llvm::Function& f, llvm::BasicBlock& block) {
    llvm::IRBuilder<> builder(&block);
    for (uint32_t i = below(3); i > 0; --i) {
      switch (below(12)) {
        case 0:
          builder.CreateCall(get("twice"), {f.getArg(2)});
          break;
        case 1:
          builder.CreateCall(get("cut"));
          break;
        case 2:
          builder.CreateCall(get("llvm.donothing"));
          break;
        default:
          builder.CreateCall(get("plain"));
          break;
      }
    }
    terminate(f, builder);
  }

  void terminate(llvm::Function& f, llvm::IRBuilder<>& builder) {
    uint32_t kind = below(20);
    if (kind < 2) {
      builder.CreateRetVoid();
    } else if (kind < 3) {
      builder.CreateUnreachable();
    } else if (kind < 6) {
      builder.CreateBr(any());
    } else if (kind < 9) {
      auto* branch = builder.CreateSwitch(f.getArg(1), any());
      for (uint32_t i = below(5); i > 0; --i) branch->addCase(builder.getInt32(i), any());
    } else if (kind < 11 && !pads_.empty()) {
      auto* pad = pads_[below(static_cast<uint32_t>(pads_.size()))];
      builder.CreateInvoke(get(below(2) == 0 ? "cut" : "plain"), any(), pad);
    } else if (kind == 11 && jumps_) {
      auto* jump = builder.CreateIndirectBr(f.getArg(2));
      for (uint32_t i = below(3) + 1; i > 0; --i) jump->addDestination(any());
    } else if (kind == 12 && jumps_) {
      auto* type = llvm::FunctionType::get(builder.getVoidTy(), false);
      builder.CreateCallBr(type, llvm::InlineAsm::get(type, "", "!i", true), any(), {any()});
    } else {
      auto* yes = any();
      builder.CreateCondBr(f.getArg(0), yes, any());
    }
  }

  std::mt19937 random_;
  std::vector<llvm::BasicBlock*> blocks_, pads_;
  bool jumps_ = false;
};

TEST_F(RandomFunctions, SmallOnes) {
  for (uint32_t seed = 0; seed < 3000; ++seed) {
    const llvm::Function& function = make(seed, 9);
    for (uint64_t max : {default_max, uint64_t{16}, uint64_t{8}, uint64_t{1}, uint64_t{0}}) {
      check_all(function, max, seed);
      if (HasFailure()) return;
    }
  }
}

TEST_F(RandomFunctions, BiggerOnes) {
  size_t split = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const llvm::Function& function = make(seed, 80);
    for (uint64_t max : {default_max, uint64_t{1} << 20, uint64_t{256}, uint64_t{40}}) {
      check_all(function, max, seed);
      if (HasFailure()) return;
      split += Numbered(function, max).paths.split_for_size() ? 1 : 0;
    }
  }
  EXPECT_GT(split, 100u);  // the bounds matter
}

}  // namespace
}  // namespace heddle
