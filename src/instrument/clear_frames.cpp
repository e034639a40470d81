#include "instrument/clear_frames.h"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "instrument/instrument.h"

namespace heddle {
namespace {

constexpr uint64_t kMostBytes = 64 << 10;

void clear_at(llvm::Instruction& place, llvm::AllocaInst& variable, llvm::Value* size) {
  llvm::IRBuilder<> builder(&place);
  builder.SetCurrentDebugLocation(hook_location(place));
  builder.CreateMemSet(&variable, builder.getInt8(0), size, variable.getAlign());
}

// Of a size that is known when the function runs.
void clear_dynamic(llvm::AllocaInst& variable, uint64_t element) {
  llvm::IRBuilder<> builder(variable.getNextNode());
  llvm::Value* count = builder.CreateZExtOrTrunc(variable.getArraySize(), builder.getInt64Ty());
  llvm::Value* size = builder.CreateMul(count, builder.getInt64(element));
  llvm::Value* least = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, size, builder.getInt64(kMostBytes));
  clear_at(*builder.GetInsertPoint(), variable, least);
}

llvm::Instruction& behind_variables(llvm::AllocaInst& variable) {
  llvm::Instruction* at = variable.getNextNode();
  while (llvm::isa<llvm::AllocaInst>(at)) at = at->getNextNode();
  return *at;
}

void clear(llvm::AllocaInst& variable) {
  const llvm::DataLayout& layout = variable.getDataLayout();
  const llvm::TypeSize element = layout.getTypeAllocSize(variable.getAllocatedType());
  if (element.isScalable() || variable.isSwiftError() || variable.isUsedWithInAlloca()) return;
  const std::optional<llvm::TypeSize> size = variable.getAllocationSize(layout);
  if (!size) return clear_dynamic(variable, element);
  if (size->getFixedValue() == 0 || size->getFixedValue() > kMostBytes) return;
  llvm::Value* bytes = llvm::ConstantInt::get(llvm::Type::getInt64Ty(variable.getContext()), *size);
  std::vector<llvm::Instruction*> starts;
  for (llvm::User* user : variable.users())
    if (auto* start = llvm::dyn_cast<llvm::IntrinsicInst>(user);
        start != nullptr && start->getIntrinsicID() == llvm::Intrinsic::lifetime_start)
      starts.push_back(start);
  if (starts.empty()) return clear_at(behind_variables(variable), variable, bytes);
  for (llvm::Instruction* start : starts) clear_at(*start->getNextNode(), variable, bytes);
}

}  // namespace

std::vector<llvm::AllocaInst*> local_variables(llvm::Function& function) {
  std::vector<llvm::AllocaInst*> out;
  for (llvm::Instruction& instruction : llvm::instructions(function))
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) out.push_back(variable);
  return out;
}

void clear_frames(const std::vector<llvm::AllocaInst*>& variables) {
  for (llvm::AllocaInst* variable : variables) clear(*variable);
}

}  // namespace heddle
