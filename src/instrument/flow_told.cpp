#include "instrument/flow_told.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include "abi/flow.h"
#include "instrument/instrument.h"

namespace heddle {
namespace {

bool asks_processor(const llvm::CallBase& call) {
  if (const auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call.getCalledOperand())) {
    const llvm::StringRef text = assembly->getAsmString();
    return llvm::isa<llvm::CallInst>(call) &&
           (text.contains("rdtsc") || text.contains("rdrand") || text.contains("rdseed"));
  }
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::readcyclecounter:
    case llvm::Intrinsic::x86_rdtsc:
    case llvm::Intrinsic::x86_rdtscp:
    case llvm::Intrinsic::x86_rdrand_16:
    case llvm::Intrinsic::x86_rdrand_32:
    case llvm::Intrinsic::x86_rdrand_64:
    case llvm::Intrinsic::x86_rdseed_16:
    case llvm::Intrinsic::x86_rdseed_32:
    case llvm::Intrinsic::x86_rdseed_64:
      return true;
    default:
      return false;
  }
}

// Values of up to 64 bits; a call with several results gives a structure of them.
class ToldValues {
 public:
  explicit ToldValues(llvm::CallBase& call)
      : call_(call), builder_(call.getNextNode()), old_uses_(call.user_begin(), call.user_end()) {
    builder_.SetCurrentDebugLocation(hook_location(call));
    llvm::Type* word = builder_.getInt64Ty();
    told_ = call.getModule()->getOrInsertFunction(HEDDLE_HOOK_FLOW_TOLD, word, word);
  }

  void add() {
    llvm::Value* result = &call_;
    if (auto* structure = llvm::dyn_cast<llvm::StructType>(call_.getType())) {
      for (unsigned i = 0; i < structure->getNumElements(); ++i)
        if (fits(*structure->getElementType(i)))
          result = builder_.CreateInsertValue(result, told(builder_.CreateExtractValue(&call_, i)), i);
    } else if (fits(*call_.getType())) {
      result = told(&call_);
    }
    if (result != &call_)
      call_.replaceUsesWithIf(result, [&](const llvm::Use& use) { return old_uses_.contains(use.getUser()); });
  }

 private:
  static bool fits(const llvm::Type& type) { return type.isIntegerTy() && type.getIntegerBitWidth() <= 64; }

  llvm::Value* told(llvm::Value* value) {
    llvm::Value* wide = builder_.CreateZExt(value, builder_.getInt64Ty());
    return builder_.CreateTrunc(builder_.CreateCall(told_, wide), value->getType());
  }

  llvm::CallBase& call_;
  llvm::IRBuilder<> builder_;
  llvm::FunctionCallee told_;
  llvm::SmallPtrSet<const llvm::User*, 4> old_uses_;
};

}  // namespace

void add_told_values(llvm::Function& function) {
  std::vector<llvm::CallBase*> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function))
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call != nullptr && asks_processor(*call))
      calls.push_back(call);
  for (llvm::CallBase* call : calls) ToldValues(*call).add();
}

}  // namespace heddle
