// The way of a thread that died of a signal, behind what its log is certain of: nothing was told of the
// branches since, but they led to the instruction that it died of. Branches that can be computed say where; of
// the others, the way to the line of the failure is taken, and that it was taken is a constraint.
#include <llvm/IR/CFG.h>
#include <llvm/IR/DebugInfoMetadata.h>

#include <deque>
#include <optional>

#include "symex/thread_interpreter.h"

namespace heddle {
namespace {

constexpr unsigned kMostSteps = 1000;

bool may_die(const llvm::Instruction& instruction, bool of_access) {
  if (!of_access) return instruction.isIntDivRem();
  return llvm::getLoadStorePointerOperand(&instruction) != nullptr || llvm::isa<llvm::CallBase>(instruction);
}

}  // namespace

bool ThreadInterpreter::is_where_it_died(const llvm::Instruction& instruction) const {
  const llvm::DebugLoc& where = instruction.getDebugLoc();
  if (!where || where.getLine() != around_.death->line) return false;
  if (!may_die(instruction, around_.death->address.has_value())) return false;
  const auto name = [](llvm::StringRef path) {
    return path.rsplit('/').second.empty() ? path : path.rsplit('/').second;
  };
  return name(where->getFilename()) == name(around_.death->file);
}

// How many blocks it is there, from `block` on in the frame of this depth; behind its return, in those below.
std::optional<unsigned> ThreadInterpreter::way_to_death(const llvm::BasicBlock& block, size_t depth) const {
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> distances = {{&block, 0}};
  std::deque<const llvm::BasicBlock*> next = {&block};
  std::optional<unsigned> returns;
  for (; !next.empty(); next.pop_front()) {
    const unsigned distance = distances.lookup(next.front());
    if (llvm::any_of(*next.front(), [&](const auto& instruction) { return is_where_it_died(instruction); }))
      return distance;
    if (!returns && llvm::isa<llvm::ReturnInst>(next.front()->getTerminator())) returns = distance + 1;
    for (const llvm::BasicBlock* successor : llvm::successors(next.front()))
      if (distances.try_emplace(successor, distance + 1).second) next.push_back(successor);
  }
  if (!returns || depth < 2 || machine_.frames[depth - 2].block == nullptr) return std::nullopt;
  const auto behind = way_to_death(*machine_.frames[depth - 2].block->block, depth - 1);
  return behind ? std::optional(*returns + *behind) : std::nullopt;
}

// Where a computed branch goes, or the successor from which it is nearest: rounds of loops since would have
// been told.
const llvm::BasicBlock* ThreadInterpreter::next_to_death(const llvm::Instruction& terminator) {
  if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&terminator); branch && branch->isConditional()) {
    const Cell* condition = machine_.get(next_op().a);
    if (!condition->expression) return branch->getSuccessor(condition->bits != 0 ? 0 : 1);
  }
  const llvm::BasicBlock* found = nullptr;
  std::optional<unsigned> nearest;
  for (const llvm::BasicBlock* successor : llvm::successors(&terminator)) {
    const auto distance = way_to_death(*successor, machine_.frames.size());
    if (successor == found || !distance || (nearest && *nearest < *distance)) continue;
    found = nearest && *nearest == *distance ? nullptr : successor;
    nearest = distance;
  }
  return found;
}

void ThreadInterpreter::go_on_to_death() {
  const Program& program = machine_.code.program();
  for (unsigned i = 0; i < kMostSteps && active(); ++i) {
    advance();
    if (!active()) return;
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(next_op().instruction);
        call != nullptr && next_op().stop == Stop::call) {
      const llvm::Function* callee = call->getCalledFunction();
      if (callee == nullptr || callee->isDeclaration()) return;
      enter_function(program.id_of(*callee), EnteredBy::call);
      block(program.id_of(callee->getEntryBlock()));
      continue;
    }
    if (next_op().stop != Stop::end) return;
    const llvm::Instruction& terminator = *next_op().instruction;
    if (llvm::isa<llvm::ReturnInst>(terminator)) {
      const bool by_call = entered_.back() == EnteredBy::call || entered_.back() == EnteredBy::pointer;
      if (machine_.frames.size() < 2 || !by_call) return;
      leave_function(program.id_of(*terminator.getFunction()), LeftBy::returned);
      continue;
    }
    const llvm::BasicBlock* next = next_to_death(terminator);
    if (next == nullptr || !way_to_death(*next, machine_.frames.size())) return;
    block(program.id_of(*next));
  }
}

}  // namespace heddle
