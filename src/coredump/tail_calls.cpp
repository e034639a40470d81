#include "coredump/tail_calls.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <deque>
#include <map>

namespace heddle {
namespace {

constexpr size_t kMostFunctions = 10'000;  // that are looked at

// The function that a call is certain to enter; null: not known.
const llvm::Function* callee_of(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  const llvm::Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
  return callee != nullptr && !callee->isDeclaration() ? callee : nullptr;
}

// Nothing is left to do behind it but to return what it gave. (Whether code generation made a jump of it, the
// missing frame tells.)
bool is_last(const llvm::Instruction& call) {
  if (!llvm::isa<llvm::CallInst>(call)) return false;
  const llvm::Instruction* next = call.getNextNonDebugInstruction();
  for (unsigned steps = 0; next != nullptr && steps < 16; ++steps) {
    if (llvm::isa<llvm::ReturnInst>(next)) return true;
    const auto* jump = llvm::dyn_cast<llvm::BranchInst>(next);
    if (jump != nullptr && jump->isUnconditional())
      next = &*jump->getSuccessor(0)->begin();
    else if (llvm::isa<llvm::IntrinsicInst, llvm::CastInst, llvm::PHINode>(next))
      next = next->getNextNonDebugInstruction();
    else
      return false;
  }
  return false;
}

// From `from`, which is included, to `to`, which is not; the shortest way.
std::vector<IndexFrame> tail_callers(const Program& program, const llvm::Function& from,
                                     const llvm::Function& to) {
  std::map<const llvm::Function*, const llvm::Instruction*> called_by = {{&from, nullptr}};
  std::deque<const llvm::Function*> open = {&from};
  while (!open.empty() && !called_by.contains(&to) && called_by.size() < kMostFunctions) {
    for (const llvm::BasicBlock& block : *open.front())
      for (const llvm::Instruction& instruction : block)
        if (const llvm::Function* callee = callee_of(instruction); callee != nullptr && is_last(instruction))
          if (called_by.try_emplace(callee, &instruction).second) open.push_back(callee);
    open.pop_front();
  }
  std::vector<IndexFrame> out;
  const auto found = called_by.find(&to);
  if (found == called_by.end()) return out;
  for (const llvm::Instruction* call = found->second; call != nullptr; call = called_by.at(call->getFunction()))
    out.insert(out.begin(),
               {.function = program.id_of(*call->getFunction()), .at = program.id_of(*call), .counts = {}});
  return out;
}

void insert(CoreIndex& index, size_t at, const std::vector<IndexFrame>& frames) {
  const auto place = static_cast<ptrdiff_t>(at);
  index.index.frames.insert(index.index.frames.begin() + place, frames.begin(), frames.end());
  index.frames.insert(index.frames.begin() + place, frames.size(), nullptr);
}

}  // namespace

void add_tail_callers(CoreIndex& index, const Program& program, const std::set<FunctionId>& beginnings) {
  std::vector<IndexFrame>& frames = index.index.frames;
  for (size_t i = 0; i + 1 < frames.size(); ++i) {
    if (!frames[i].at) continue;
    const llvm::Function* callee = callee_of(program.instruction(*frames[i].at));
    const llvm::Function& next = program.function(frames[i + 1].function);
    if (callee == nullptr || callee == &next) continue;
    const std::vector<IndexFrame> missing = tail_callers(program, *callee, next);
    insert(index, i + 1, missing);
    i += missing.size();
  }
  if (frames.empty() || beginnings.contains(frames[0].function)) return;
  for (const FunctionId first : beginnings) {
    const std::vector<IndexFrame> missing =
        tail_callers(program, program.function(first), program.function(frames[0].function));
    if (!missing.empty()) return insert(index, 0, missing);
  }
}

}  // namespace heddle
