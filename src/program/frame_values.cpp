#include "program/frame_values.h"

#include <fmt/core.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DebugProgramInstruction.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "program/source_place.h"

namespace heddle {
namespace {

bool fits_a_word(const llvm::Type& type) {
  return type.isPointerTy() || (type.isIntegerTy() && type.getIntegerBitWidth() <= 64);
}

bool is_wanted(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::AllocaInst>(instruction)) return true;
  if (!fits_a_word(*instruction.getType()) || instruction.isTerminator() ||
      llvm::isa<llvm::IntrinsicInst>(instruction))
    return false;
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return !call->isMustTailCall();
  return llvm::isa<llvm::PHINode>(instruction) || llvm::isa<llvm::LoadInst>(instruction);
}

// Variables of the source that have this value, or this place.
std::vector<const llvm::DILocalVariable*> source_variables(const llvm::Value& value) {
  std::vector<const llvm::DILocalVariable*> out;
  if (const auto* declared = llvm::dyn_cast<llvm::AllocaInst>(&value)) {
    for (const llvm::DbgVariableRecord* record : llvm::findDVRDeclares(const_cast<llvm::AllocaInst*>(declared)))
      out.push_back(record->getVariable());
    for (const llvm::DbgDeclareInst* record : llvm::findDbgDeclares(const_cast<llvm::AllocaInst*>(declared)))
      out.push_back(record->getVariable());
    // With -g and optimisation (assignment tracking) the place is linked with its variable instead; one of a
    // part of it does not have its type.
    const auto link = [&](const auto* record) {
      if (!record->getExpression()->getFragmentInfo()) out.push_back(record->getVariable());
    };
    for (const llvm::DbgVariableRecord* record : llvm::at::getDVRAssignmentMarkers(declared)) link(record);
    for (const llvm::DbgAssignIntrinsic* record : llvm::at::getAssignmentMarkers(declared)) link(record);
  }
  // Optimised code says of a place that its content is the variable.
  const bool place = llvm::isa<llvm::AllocaInst>(value);
  const auto is_it = [&](const llvm::DIExpression* expression) {
    return place ? expression->isDeref() : expression->getNumElements() == 0;
  };
  llvm::SmallVector<llvm::DbgValueInst*, 4> values;
  llvm::SmallVector<llvm::DbgVariableRecord*, 4> records;
  llvm::findDbgValues(values, const_cast<llvm::Value*>(&value), &records);
  for (const llvm::DbgVariableRecord* record : records)
    if (is_it(record->getExpression())) out.push_back(record->getVariable());
  for (const llvm::DbgValueInst* record : values)
    if (is_it(record->getExpression())) out.push_back(record->getVariable());
  return out;
}

bool is_void_pointer(const llvm::DIType* type) {
  while (const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type)) {
    type = derived->getBaseType();
    if (derived->getTag() == llvm::dwarf::DW_TAG_pointer_type && type == nullptr) return true;
  }
  return type == nullptr;
}

}  // namespace

std::vector<const llvm::Value*> frame_values(const llvm::Function& function) {
  std::vector<const llvm::Value*> out;
  for (const llvm::Argument& argument : function.args())
    if (fits_a_word(*argument.getType()) && out.size() < kMostFrameValues) out.push_back(&argument);
  for (const llvm::BasicBlock& block : function)
    for (const llvm::Instruction& instruction : block)
      if (is_wanted(instruction) && out.size() < kMostFrameValues) out.push_back(&instruction);
  return out;
}

std::string frame_value_name(const llvm::Value& value) {
  for (const llvm::DILocalVariable* variable : source_variables(value))
    if (!variable->getName().empty()) return variable->getName().str();
  const llvm::Function* function = nullptr;
  if (const auto* argument = llvm::dyn_cast<llvm::Argument>(&value))
    function = argument->getParent();
  else
    function = llvm::cast<llvm::Instruction>(value).getFunction();
  const std::string owner = short_name(readable_name(*function));
  if (const auto* argument = llvm::dyn_cast<llvm::Argument>(&value))
    return fmt::format("{}'s argument {}", owner, argument->getArgNo() + 1);
  size_t number = 0;
  for (const llvm::Value* other : frame_values(*function)) {
    if (!llvm::isa<llvm::Argument>(other)) ++number;
    if (other == &value) break;
  }
  return fmt::format("{}'s local {}", owner, number);
}

bool is_temporary(const llvm::AllocaInst& place) {
  const llvm::DISubprogram* described = place.getFunction()->getSubprogram();
  return described != nullptr && described->getUnit() != nullptr &&
         described->getUnit()->getEmissionKind() == llvm::DICompileUnit::FullDebug &&
         source_variables(place).empty();
}

const llvm::DIType* frame_value_type(const llvm::Value& value) {
  for (const llvm::DILocalVariable* variable : source_variables(value))
    if (!is_void_pointer(variable->getType())) return variable->getType();
  return nullptr;
}

}  // namespace heddle
