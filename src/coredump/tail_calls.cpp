#include "coredump/tail_calls.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <deque>
#include <map>

#include "coredump/alignment.h"

namespace heddle {
namespace {

constexpr size_t kMostFunctions = 10'000;  // that are looked at

class TailCalls {
 public:
  TailCalls(const Program& program, const ObservedCalls& observed) : program_(program), observed_(observed) {}

  // Functions of the program that a call can enter: the one it names, or what its function called in the run.
  std::vector<const llvm::Function*> callees(const llvm::Instruction& instruction) const {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (call == nullptr || llvm::isa<llvm::IntrinsicInst>(call) || call->isInlineAsm()) return {};
    const llvm::Function* named = call->getCalledFunction();
    if (named != nullptr && !named->isDeclaration()) return {named};
    std::vector<const llvm::Function*> out;
    if (const auto found = observed_.find(program_.id_of(*call->getFunction())); found != observed_.end())
      for (const FunctionId callee : found->second) out.push_back(&program_.function(callee));
    return out;
  }

  // From `from`, which is included, to `to`, which is not; the shortest way.
  std::vector<IndexFrame> between(const llvm::Function& from, const llvm::Function& to) const;

 private:
  const Program& program_;
  const ObservedCalls& observed_;
};

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

std::vector<IndexFrame> TailCalls::between(const llvm::Function& from, const llvm::Function& to) const {
  std::map<const llvm::Function*, const llvm::Instruction*> called_by = {{&from, nullptr}};
  std::deque<const llvm::Function*> open = {&from};
  while (!open.empty() && !called_by.contains(&to) && called_by.size() < kMostFunctions) {
    for (const llvm::BasicBlock& block : *open.front())
      for (const llvm::Instruction& instruction : block)
        if (is_last(instruction))
          for (const llvm::Function* callee : callees(instruction))
            if (called_by.try_emplace(callee, &instruction).second) open.push_back(callee);
    open.pop_front();
  }
  std::vector<IndexFrame> out;
  const auto found = called_by.find(&to);
  if (found == called_by.end()) return out;
  for (const llvm::Instruction* call = found->second; call != nullptr; call = called_by.at(call->getFunction()))
    out.insert(out.begin(),
               {.function = program_.id_of(*call->getFunction()), .at = program_.id_of(*call), .counts = {}});
  return out;
}

void insert(CoreIndex& index, size_t at, const std::vector<IndexFrame>& frames) {
  const auto place = static_cast<ptrdiff_t>(at);
  index.index.frames.insert(index.index.frames.begin() + place, frames.begin(), frames.end());
  index.frames.insert(index.frames.begin() + place, frames.size(), nullptr);
}

}  // namespace

ObservedCalls observed_calls(std::span<const heddle_move> moves, const ProgramRegions& regions) {
  ObservedCalls out;
  visit_calls(moves, regions, [&](uint32_t, std::optional<FunctionId> caller, FunctionId callee) {
    if (caller) out[*caller].insert(callee);
  });
  return out;
}

void add_tail_callers(CoreIndex& index, const Program& program, const std::set<FunctionId>& beginnings,
                      const ObservedCalls& observed) {
  const TailCalls calls(program, observed);
  std::vector<IndexFrame>& frames = index.index.frames;
  for (size_t i = 0; i + 1 < frames.size(); ++i) {
    if (!frames[i].at) continue;
    const llvm::Function& next = program.function(frames[i + 1].function);
    const std::vector<const llvm::Function*> callees = calls.callees(program.instruction(*frames[i].at));
    if (std::ranges::find(callees, &next) != callees.end()) continue;
    for (const llvm::Function* callee : callees) {
      const std::vector<IndexFrame> missing = calls.between(*callee, next);
      if (missing.empty()) continue;
      insert(index, i + 1, missing);
      i += missing.size();
      break;
    }
  }
  if (frames.empty() || beginnings.contains(frames[0].function)) return;
  for (const FunctionId first : beginnings) {
    const std::vector<IndexFrame> missing =
        calls.between(program.function(first), program.function(frames[0].function));
    if (!missing.empty()) return insert(index, 0, missing);
  }
}

}  // namespace heddle
