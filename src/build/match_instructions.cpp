#include "build/match_instructions.h"

#include <fmt/core.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instructions.h>

#include "build/numbered_module.h"

namespace heddle {
namespace {

constexpr size_t kMostCells = 50'000'000;

// What an instruction is and where it comes from; linking changes neither.
std::string key_of(const llvm::Instruction& instruction) {
  std::string key = std::to_string(instruction.getOpcode());
  for (const llvm::DILocation* at = instruction.getDebugLoc(); at != nullptr; at = at->getInlinedAt())
    key += fmt::format(" {}:{}:{}", at->getFilename().str(), at->getLine(), at->getColumn());
  return key;
}

std::vector<std::string> keys_of(const std::vector<const llvm::Instruction*>& list) {
  std::vector<std::string> keys;
  for (const llvm::Instruction* instruction : list) keys.push_back(key_of(*instruction));
  return keys;
}

}  // namespace

std::vector<MatchedInstruction> match_instructions(const llvm::Function& unit, const llvm::Function& program) {
  const std::vector<const llvm::Instruction*> from = counted_instructions(unit),
                                              to = counted_instructions(program);
  const std::vector<std::string> left = keys_of(from), right = keys_of(to);
  std::vector<MatchedInstruction> out;
  if (left == right) {
    for (const llvm::Instruction* instruction : to) out.push_back({.instruction = instruction});
    return out;
  }
  if (left.size() > right.size() || (left.size() + 1) * (right.size() + 1) > kMostCells) return {};
  // The longest common subsequence, from the end.
  const size_t width = right.size() + 1;
  std::vector<uint32_t> length((left.size() + 1) * width);
  for (size_t i = left.size(); i-- > 0;)
    for (size_t j = right.size(); j-- > 0;)
      length[i * width + j] = left[i] == right[j]
                                  ? length[(i + 1) * width + j + 1] + 1
                                  : std::max(length[(i + 1) * width + j], length[i * width + j + 1]);
  size_t missing = 0;  // but for calls
  const auto ends_before = [&](size_t j) {  // what stands for the calls just before
    for (auto gone = out.rbegin(); gone != out.rend() && gone->replaced; ++gone) gone->last = to[j - 1];
  };
  for (size_t i = 0, j = 0; i < left.size(); ++i) {
    if (length[i * width + j] == length[(i + 1) * width + j]) {  // it is gone
      const bool is_call = llvm::isa<llvm::CallBase>(from[i]);
      missing += is_call ? 0 : 1;
      out.push_back({.instruction = is_call && j < to.size() ? to[j] : nullptr, .replaced = is_call});
      continue;
    }
    while (left[i] != right[j] || length[i * width + j] != length[(i + 1) * width + j + 1] + 1) ++j;
    if (j != 0) ends_before(j);
    out.push_back({.instruction = to[j++]});
  }
  ends_before(to.size());
  // Calls and what depended on them; with much more gone it is another function.
  return missing * 4 <= left.size() ? out : std::vector<MatchedInstruction>();
}

}  // namespace heddle
