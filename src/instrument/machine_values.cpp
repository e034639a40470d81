#include "instrument/machine_values.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "instrument/instrument.h"

namespace heddle {
namespace {

using enum MachineValue;
using MachineValues = llvm::SmallVector<MachineValue, 4>;  // of each result

MachineValues said_by_assembly(llvm::StringRef text, size_t results) {
  const auto names = [&](llvm::StringRef name) { return text.contains(name); };
  MachineValues values;
  if (names("rdtsc"))  // often in two halves, and the processor with them (rdtscp)
    values = results == 1 ? MachineValues{clock} : MachineValues{clock_low, clock_high, processor};
  else if (names("rdrand") || names("rdseed"))
    values = {chance, success};
  else if (names("rdpid") || names("rdpmc"))
    values = {processor};
  else if (names("cpuid"))
    values = {description, description, description, description};
  return values;
}

MachineValues said_by(const llvm::CallBase& call) {
  const auto* several = llvm::dyn_cast<llvm::StructType>(call.getType());
  if (const auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand()))
    return said_by_assembly(assembly->getAsmString(), several == nullptr ? 1 : several->getNumElements());
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::readcyclecounter:
    case llvm::Intrinsic::readsteadycounter:
    case llvm::Intrinsic::x86_rdtsc:
    case llvm::Intrinsic::x86_rdpmc:
      return {clock};
    case llvm::Intrinsic::x86_rdtscp:
      return {clock, processor};
    case llvm::Intrinsic::x86_rdpid:
      return {processor};
    case llvm::Intrinsic::x86_rdrand_16:
    case llvm::Intrinsic::x86_rdrand_32:
    case llvm::Intrinsic::x86_rdrand_64:
    case llvm::Intrinsic::x86_rdseed_16:
    case llvm::Intrinsic::x86_rdseed_32:
    case llvm::Intrinsic::x86_rdseed_64:
      return {chance, success};
    default:
      return {};
  }
}

}  // namespace

bool asks_the_machine(const llvm::CallBase& call) {
  return !call.isTerminator() && !call.getType()->isVoidTy() && !said_by(call).empty();
}

void replace_machine_values(
    llvm::CallBase& call,
    llvm::function_ref<llvm::Value*(llvm::IRBuilder<>&, llvm::Value*, MachineValue)> instead) {
  llvm::IRBuilder<> builder(call.getNextNode());
  builder.SetCurrentDebugLocation(hook_location(call));
  llvm::SmallVector<llvm::Use*, 4> uses;
  for (llvm::Use& use : call.uses()) uses.push_back(&use);
  const auto replaced = [&](llvm::Value* said, MachineValue what) {
    const llvm::Type* type = said->getType();
    llvm::Value* value =
        type->isIntegerTy() && type->getIntegerBitWidth() <= 64 ? instead(builder, said, what) : nullptr;
    return value == nullptr ? said : builder.CreateZExtOrTrunc(value, said->getType());
  };
  const MachineValues values = said_by(call);
  llvm::Value* all = &call;
  if (const auto* type = llvm::dyn_cast<llvm::StructType>(call.getType())) {
    for (unsigned i = 0; i < type->getNumElements() && i < values.size(); ++i)
      all = builder.CreateInsertValue(all, replaced(builder.CreateExtractValue(&call, i), values[i]), i);
  } else {
    all = replaced(&call, values.front());
  }
  for (llvm::Use* use : uses) use->set(all);
}

}  // namespace heddle
