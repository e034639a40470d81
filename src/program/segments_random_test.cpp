// Segments on random functions, all checked with the oracles of segments_oracle.h.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/ProfDataUtils.h>
#include <llvm/IR/Verifier.h>

#include <random>

#include "program/segments_fixture.h"

namespace heddle {
namespace {

using namespace segments_oracle;
using Edge = Segments::Edge;

class RandomSegments : public SegmentsTest {
 protected:
  llvm::Function& make(uint32_t seed, uint32_t most_blocks) {
    random_.seed(seed);
    llvm::Function& f = parse("entry: ret void\n");
    f.getEntryBlock().getTerminator()->eraseFromParent();
    blocks_.clear();
    pads_.clear();
    knowns_ = below(3);
    shape_ = static_cast<Shape>(std::min(below(5), 3u));
    jumps_ = below(4) == 0;
    calls_ = below(3);
    for (uint32_t i = 2 + below(most_blocks - 1); i > 0; --i) blocks_.push_back(add_block(f));
    for (uint32_t i = below(3); i > 0; --i) pads_.push_back(add_block(f));
    llvm::BranchInst::Create(shape_ != Shape::wild ? blocks_[0] : any(0), &f.getEntryBlock());
    for (llvm::BasicBlock* pad : pads_) {
      llvm::IRBuilder<> builder(pad);
      auto* type = llvm::StructType::get(context_, {builder.getPtrTy(), builder.getInt32Ty()});
      builder.CreateLandingPad(type, 0)->setCleanup(true);
    }
    uint32_t i = 0;
    for (llvm::BasicBlock& block : f) {
      if (block.getTerminator() == nullptr) fill(f, block, i++);
    }
    EXPECT_FALSE(llvm::verifyFunction(f, &llvm::errs()));
    return f;
  }
  void check_and_count(uint32_t seed, uint32_t most_blocks, std::initializer_list<uint64_t> max_ways) {
    const llvm::Function& function = make(seed, most_blocks);
    for (uint64_t max : max_ways) {
      check_all(function, {.max_ways = max}, seed);
      check_all(function, {.counted_loops = false, .max_ways = max}, seed, 2);
      check_all(function, {.plain = true, .max_ways = max}, seed, 3);
    }
    Numbered n(function);
    for (const Segments::CountedLoop& loop : n.segments.counted_loops()) {
      ++loops_;
      for (Piece p : loop.pieces) loops_with_choice_ += n.segments.known(p) ? 1 : 0;
    }
    for (const Edge& e : n.segments.edges()) {
      const Segments::CountedLoop* loop = n.segments.counted_loop_of(e.to);
      middle_entries_ += e.enters_loop && !e.leaves_loop && e.to != loop->header ? 1 : 0;
      shortcuts_ += e.enters_loop && n.segments.counted_loop_of(e.from) == loop ? 1 : 0;
      kept_ += e.bits == 0 && e.value != 0 && !e.fresh ? 1 : 0;
      set_ += e.bits == 0 && e.value != 0 && e.fresh ? 1 : 0;
      known_writes_ += e.bits != 0 && n.segments.known(e.from) ? 1 : 0;
      wider_ += e.cut && e.bits != 0 && uint64_t{1} << (e.bits - 1) >= n.segments.count(e.from) ? 1 : 0;
    }
  }

  // What was there to be checked.
  size_t loops_ = 0, loops_with_choice_ = 0, middle_entries_ = 0, shortcuts_ = 0, kept_ = 0, set_ = 0,
         known_writes_ = 0, wider_ = 0;

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  llvm::BasicBlock* add_block(llvm::Function& f) {
    return llvm::BasicBlock::Create(context_, below(4) < knowns_ ? "k" : "b", &f);
  }
  // A successor of block number `from`.
  llvm::BasicBlock* any(uint32_t from) {
    auto size = static_cast<uint32_t>(blocks_.size());
    if (shape_ == Shape::loops) {
      uint32_t header = std::min(from, size - 1) / 6 * 6;
      bool round = below(from % 6 == 5 ? 2 : 6) == 0;
      return blocks_[round ? header : std::min({size - 1, header + 6, from + 1 + below(3)})];
    }
    if (shape_ == Shape::wild || below(10) == 0) return blocks_[below(size)];
    uint32_t back = std::min(from, shape_ == Shape::near ? below(3) : 0);
    return blocks_[std::min(size - 1, from - back + 1 + below(3))];
  }

  void fill(llvm::Function& f, llvm::BasicBlock& block, uint32_t number) {
    llvm::IRBuilder<> builder(&block);
    for (uint32_t i = below(calls_ + 1); i > 0; --i) {
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
    terminate(f, builder, number);
  }

  void terminate(llvm::Function& f, llvm::IRBuilder<>& builder, uint32_t number) {
    uint32_t kind = below(20);
    bool last = shape_ == Shape::forward && number + 1 >= blocks_.size();
    if (kind < 1 || last) {
      builder.CreateRetVoid();
    } else if (kind < 2) {
      builder.CreateUnreachable();
    } else if (kind < 6) {
      builder.CreateBr(any(number));
    } else if (kind < 9) {
      auto* branch = builder.CreateSwitch(f.getArg(1), any(number));
      for (uint32_t i = below(5); i > 0; --i) branch->addCase(builder.getInt32(i), any(number));
      weigh(*branch);
    } else if (kind < 10 && !pads_.empty()) {
      auto* pad = pads_[below(static_cast<uint32_t>(pads_.size()))];
      builder.CreateInvoke(get(below(2) == 0 ? "cut" : "plain"), any(number), pad);
    } else if (kind == 11 && jumps_) {
      auto* jump = builder.CreateIndirectBr(f.getArg(2));
      for (uint32_t i = below(3) + 1; i > 0; --i) jump->addDestination(any(number));
    } else if (kind == 12 && jumps_) {
      auto* type = llvm::FunctionType::get(builder.getVoidTy(), false);
      builder.CreateCallBr(type, llvm::InlineAsm::get(type, "", "!i", true), any(number), {any(number)});
    } else {
      auto* yes = any(number);
      weigh(*builder.CreateCondBr(condition(f, builder), yes, any(number)));
    }
  }

  llvm::Value* condition(llvm::Function& f, llvm::IRBuilder<>& builder) {
    llvm::Value* number = f.getArg(1);
    switch (below(8)) {
      case 0:
        return builder.CreateICmpEQ(number, builder.getInt32(3));
      case 1:
        return builder.CreateICmpNE(number, builder.getInt32(3));
      case 2:
        return builder.CreateICmpSLT(number, builder.getInt32(3));
      case 3:
        return builder.CreateICmpEQ(builder.CreateAnd(number, 4), builder.getInt32(4));
      case 4:
        return builder.CreateICmpNE(number, builder.getInt32(0));
      case 5:
        return builder.CreateICmpEQ(f.getArg(2), &f);
      default:
        return f.getArg(0);
    }
  }

  void weigh(llvm::Instruction& branch) {
    if (below(shape_ == Shape::loops ? 8 : 2) == 0) return;
    std::vector<uint32_t> weights;
    uint32_t likely = below(branch.getNumSuccessors() + 1);
    for (uint32_t i = 0; i < branch.getNumSuccessors(); ++i) weights.push_back(i == likely ? 40 : below(4));
    llvm::setBranchWeights(branch, weights, false);
  }

  std::mt19937 random_;
  std::vector<llvm::BasicBlock*> blocks_, pads_;
  uint32_t knowns_ = 0, calls_ = 0;
  // Branches lead anywhere, to blocks nearby, mostly forward (longer segments), or around loops side by side.
  enum class Shape { wild, near, forward, loops } shape_ = Shape::wild;
  bool jumps_ = false;  // indirectbr and callbr
};

TEST_F(RandomSegments, SmallOnes) {
  for (uint32_t seed = 0; seed < 4000 && !HasFailure(); ++seed)
    check_and_count(seed, 14, {SegmentOptions{}.max_ways, 8, 1});
  for (size_t seen :
       {loops_, loops_with_choice_, middle_entries_, shortcuts_, kept_, set_, known_writes_, wider_})
    EXPECT_GT(seen, 50u);
}

TEST_F(RandomSegments, BiggerOnes) {
  for (uint32_t seed = 0; seed < 300 && !HasFailure(); ++seed)
    check_and_count(seed, 60, {SegmentOptions{}.max_ways, 64, 5});
  for (size_t seen : {loops_, kept_, set_, known_writes_, wider_}) EXPECT_GT(seen, 50u);
}

}  // namespace
}  // namespace heddle
