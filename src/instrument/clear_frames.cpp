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

std::vector<llvm::Instruction*> begins_of(const llvm::AllocaInst& variable) {
  std::vector<llvm::Instruction*> begins;
  for (const llvm::User* user : variable.users())
    if (auto* begin = llvm::dyn_cast<llvm::IntrinsicInst>(user);
        begin != nullptr && begin->getIntrinsicID() == llvm::Intrinsic::lifetime_start)
      begins.push_back(const_cast<llvm::IntrinsicInst*>(begin));
  return begins;
}

bool writes_whole(const llvm::Instruction& instruction, const llvm::AllocaInst& variable, uint64_t size) {
  const auto* block = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction);
  if (block == nullptr || block->getRawDest() != &variable) return false;
  const auto* length = llvm::dyn_cast<llvm::ConstantInt>(block->getLength());
  return length != nullptr && length->getZExtValue() >= size;
}

// The program itself writes all of it first, wherever it begins.
bool is_written_first(const llvm::AllocaInst& variable) {
  const std::optional<llvm::TypeSize> size = variable.getAllocationSize(variable.getDataLayout());
  const std::vector<llvm::Instruction*> begins = begins_of(variable);
  return size && !size->isScalable() && !begins.empty() &&
         llvm::all_of(begins, [&](const llvm::Instruction* begin) {
           const llvm::Instruction* at = begin->getNextNode();
           while (at->isLifetimeStartOrEnd() || (!at->mayReadOrWriteMemory() && !at->isTerminator()))
             at = at->getNextNode();
           return writes_whole(*at, variable, size->getFixedValue());
         });
}

void clear(llvm::AllocaInst& variable) {
  const llvm::DataLayout& layout = variable.getDataLayout();
  const llvm::TypeSize element = layout.getTypeAllocSize(variable.getAllocatedType());
  if (element.isScalable() || variable.isSwiftError() || variable.isUsedWithInAlloca()) return;
  const std::optional<llvm::TypeSize> size = variable.getAllocationSize(layout);
  if (!size) return clear_dynamic(variable, element);
  if (size->getFixedValue() == 0 || size->getFixedValue() > kMostBytes) return;
  llvm::Value* bytes = llvm::ConstantInt::get(llvm::Type::getInt64Ty(variable.getContext()), *size);
  const std::vector<llvm::Instruction*> begins = begins_of(variable);
  if (begins.empty()) return clear_at(behind_variables(variable), variable, bytes);
  for (llvm::Instruction* begin : begins) clear_at(*begin->getNextNode(), variable, bytes);
}

}  // namespace

std::vector<llvm::AllocaInst*> unset_variables(llvm::Function& function) {
  std::vector<llvm::AllocaInst*> out;
  for (llvm::Instruction& instruction : llvm::instructions(function))
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
        variable && !is_written_first(*variable))
      out.push_back(variable);
  return out;
}

void clear_frames(const std::vector<llvm::AllocaInst*>& variables) {
  for (llvm::AllocaInst* variable : variables) clear(*variable);
}

}  // namespace heddle
