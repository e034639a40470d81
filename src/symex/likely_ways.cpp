// What whoever tells a path asks where the path says nothing (recording/path_source.h).
#include "symex/thread_interpreter.h"

namespace heddle {

std::optional<uint64_t> ThreadInterpreter::settled_argument(const llvm::CallBase& call, unsigned number,
                                                            std::optional<uint64_t> known) {
  if (!stand_at(call, Stop::call) || number >= call.arg_size()) return std::nullopt;
  const Cell* cell = machine_.value(*call.getArgOperand(number));
  const std::optional<uint64_t> value = known && cell->expression ? known : machine_.likely_value(*cell);
  if (!value || !cell->expression) return value;
  Cell same = *cell;
  machine_.must_be(Constraint::Kind::argument, &same, machine_.pool().width(cell->expression), *value);
  return value;
}

const llvm::BasicBlock* ThreadInterpreter::next_block(const llvm::BasicBlock& block) {
  const llvm::Instruction& end = *block.getTerminator();
  if (!stand_at(end, Stop::end)) return nullptr;
  if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&end)) {
    if (branch->isUnconditional()) return branch->getSuccessor(0);
    const std::optional<uint64_t> value = machine_.likely_value(*machine_.value(*branch->getCondition()));
    return value ? branch->getSuccessor((*value & 1) != 0 ? 0 : 1) : nullptr;
  }
  if (const auto* choice = llvm::dyn_cast<llvm::SwitchInst>(&end)) {
    const std::optional<uint64_t> value = machine_.likely_value(*machine_.value(*choice->getCondition()));
    if (!value) return nullptr;
    for (const auto& way : choice->cases())
      if (way.getCaseValue()->getZExtValue() == *value) return way.getCaseSuccessor();
    return choice->getDefaultDest();
  }
  return nullptr;
}

const llvm::Function* ThreadInterpreter::called_function(const llvm::CallBase& call) {
  if (!stand_at(call, Stop::call)) return nullptr;
  const std::optional<uint64_t> target = machine_.likely_value(*machine_.get(next_op().a));
  return target ? machine_.code.image().function_at(*target) : nullptr;
}

}  // namespace heddle
