#include "instrument/record_paths.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "instrument/word_registers.h"

namespace heddle {
namespace {

using Piece = Segments::Piece;

constexpr unsigned kLabelBits = 32, kExitBits = 8;
constexpr uint64_t kExitMark = 0xff;

// Where code runs on the way from one block to another, and only there. Splits the edge if it must.
llvm::Instruction& place_on_edge(llvm::Instruction& terminator, llvm::BasicBlock& target) {
  if (terminator.getNumSuccessors() == 1) return terminator;
  if (target.getUniquePredecessor() == terminator.getParent()) return *target.getFirstInsertionPt();
  for (unsigned i = 0; i < terminator.getNumSuccessors(); ++i) {
    if (terminator.getSuccessor(i) != &target) continue;
    llvm::BasicBlock* between = llvm::SplitCriticalEdge(
        &terminator, i, llvm::CriticalEdgeSplittingOptions().setMergeIdenticalEdges().setKeepOneInputPHIs());
    HEDDLE_CHECK(between != nullptr);
    return *between->getTerminator();
  }
  HEDDLE_CHECK(false);
  return terminator;
}

// Everything is looked up before anything is changed: blocks are split under way, instructions stay what they
// are.
class PathInstrumenter {
 public:
  PathInstrumenter(const RecordHooks& hooks, const FunctionPlan& plan, llvm::Function& function)
      : hooks_(hooks),
        segments_(*plan.segments),
        registers_(
            hooks, function, [&](const llvm::BasicBlock& block) { return writes(plan, block); },
            [&](const llvm::BasicBlock& block) { return others_write(plan, block); }) {
    for (uint32_t b = 0; b < plan.flow.size(); ++b) {
      blocks_.push_back(const_cast<llvm::BasicBlock*>(plan.flow.block(b)));
      terminators_.push_back(blocks_.back()->getTerminator());
    }
  }

  void run(const PathLabels& labels) {
    begin_function(labels);
    for (const Segments::Edge& edge : segments_.edges()) add_edge(edge);
    add_announcements();
    for (Piece p = 0; p < segments_.piece_count(); ++p) add_end(p, labels);
    registers_.finish();
  }

 private:
  static bool writes(const Segments::Edge& edge) {
    return edge.bits != 0 || edge.leaves_loop || edge.next_round;
  }

  // Calls that write end pieces, and so do landings.
  static bool others_write(const FunctionPlan& plan, const llvm::BasicBlock& block) {
    const std::optional<uint32_t> number = plan.flow.find(&block);
    if (!number) return true;
    const Piece p = plan.segments->first_piece(*number);
    return plan.segments->cutting_call(p) != nullptr || plan.segments->cutting_terminator(p) != nullptr ||
           plan.segments->announces(p).has_value();
  }

  static bool writes(const FunctionPlan& plan, const llvm::BasicBlock& block) {
    const std::optional<uint32_t> number = plan.flow.find(&block);
    return number && llvm::any_of(plan.segments->edges_from(plan.segments->first_piece(*number)),
                                  [](const Segments::Edge& edge) { return writes(edge); });
  }

  llvm::BasicBlock& block_of(Piece p) const { return *blocks_[segments_.block_of(p)]; }
  llvm::Instruction& terminator_of(Piece p) const { return *terminators_[segments_.block_of(p)]; }

  // First of all, so that it stands before what ends at the first instruction.
  void begin_function(const PathLabels& labels) {
    LogEmitter at(hooks_, *blocks_[0]->getFirstNonPHIOrDbgOrAlloca());
    if (labels.wanted) at.write_bits(at.builder().getInt64(labels.label + uint64_t{1}), kLabelBits);
    if (segments_.clears_path(segments_.first_piece(0))) at.set_path(at.builder().getInt64(0));
  }

  LogEmitter emitter(const Segments::Edge& edge, llvm::Instruction& place) const {
    return LogEmitter(hooks_, place, registers_.of(block_of(edge.from)));
  }

  void add_edge(const Segments::Edge& edge) {
    const bool clears = edge.cut && segments_.clears_path(edge.to);
    if (!writes(edge) && edge.value == 0 && !clears) return;
    if (const llvm::CallBase* call = segments_.cutting_call(edge.from)) {
      // The segment ends before the call, the next begins behind it.
      auto& instruction = const_cast<llvm::CallBase&>(*call);
      write(LogEmitter(hooks_, instruction), edge);
      if (clears) clear(*instruction.getNextNode());
      return;
    }
    llvm::Instruction& terminator = terminator_of(edge.from);
    llvm::BasicBlock& target = block_of(edge.to);
    if (llvm::isa<llvm::InvokeInst, llvm::CallBrInst, llvm::IndirectBrInst>(terminator)) {
      // All edges of these end the segment alike, before the terminator.
      if (ended_.insert(&terminator).second) write(LogEmitter(hooks_, terminator), edge);
      if (auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&terminator); invoke && clears) {
        const bool lands = invoke->getNormalDest() != &target;
        llvm::BasicBlock* pad = invoke->getUnwindDest();
        llvm::Instruction& place = lands ? *pad->getFirstInsertionPt() : place_on_edge(terminator, target);
        clear(place);
      }
      return;  // what targets of the others need is done at their beginning, see add_announcements
    }
    llvm::Instruction& place = place_on_edge(terminator, target);
    write(emitter(edge, place), edge);
    if (clears) clear(place);
  }

  // What ends with the edge.
  void write(LogEmitter at, const Segments::Edge& edge) {
    llvm::IRBuilder<>& builder = at.builder();
    if (edge.next_round) at.write_round();
    if (edge.leaves_loop)
      at.write_bits(builder.getInt64(uint64_t{1} << edge.exit_bits | edge.exit), edge.exit_bits + 1);
    if (edge.value == 0 && edge.bits == 0) return;
    llvm::Value* number = builder.getInt64(edge.value);
    if (!edge.fresh) number = builder.CreateAdd(at.path(), number);
    if (edge.bits != 0) {
      at.write_bits(number, edge.bits);
    } else {
      at.set_path(number);
    }
  }

  void clear(llvm::Instruction& place) {
    LogEmitter at(hooks_, place);
    at.set_path(at.builder().getInt64(0));
  }

  void add_announcements() {
    for (Piece p = 0; p < segments_.piece_count(); ++p) {
      const std::optional<uint32_t> index = segments_.announces(p);
      if (!index) continue;
      LogEmitter at(hooks_, *block_of(p).getFirstInsertionPt());
      at.write_bits(at.builder().getInt64(*index), segments_.announce_bits());
      if (segments_.clears_path(p)) at.set_path(at.builder().getInt64(0));
    }
  }

  void add_end(Piece p, const PathLabels& labels) {
    if (!segments_.ends_function(p)) return;
    llvm::Instruction* end = &terminator_of(p);
    if (llvm::CallInst* last = end->getParent()->getTerminatingMustTailCall()) end = last;
    if (const unsigned bits = segments_.end_bits(p)) {
      LogEmitter at(hooks_, *end);
      at.write_bits(at.path(), bits);
    }
    if (labels.wanted && !llvm::isa<llvm::UnreachableInst>(end)) {
      LogEmitter at(hooks_, *end);
      at.write_bits(at.builder().getInt64(kExitMark), kExitBits);
    }
  }

  const RecordHooks& hooks_;
  const Segments& segments_;
  WordRegisters registers_;
  std::vector<llvm::BasicBlock*> blocks_;        // by number, as they were
  std::vector<llvm::Instruction*> terminators_;  // of these
  llvm::DenseSet<const llvm::Instruction*> ended_;
};

}  // namespace

void instrument_paths(const RecordHooks& hooks, const FunctionPlan& plan, const PathLabels& labels,
                      llvm::Function& function) {
  if (!labels.wanted && plan.segments->silent()) return;
  PathInstrumenter(hooks, plan, function).run(labels);
}

}  // namespace heddle
