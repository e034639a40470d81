#include "build/numbered_module.h"

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

namespace heddle {
namespace {

class Numbering {
 public:
  explicit Numbering(llvm::Module& module) : module_(module), builder_(module) {
    file_ = builder_.createFile("numbered", ".");
    unit_ = builder_.createCompileUnit(llvm::dwarf::DW_LANG_C, file_, "heddle", false, "", 0, "",
                                       llvm::DICompileUnit::FullDebug);
    word_ = builder_.createBasicType("word", 64, llvm::dwarf::DW_ATE_unsigned);
    type_ = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  }

  std::vector<NumberedInstruction> run() {
    module_.setModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    for (llvm::Function& function : module_)
      if (!function.isDeclaration()) number(function);
    builder_.finalize();
    return std::move(numbered_);
  }

 private:
  void number(llvm::Function& function) {
    llvm::DISubprogram* scope = builder_.createFunction(
        unit_, function.getName(), function.getName(), file_, 0, type_, 0, llvm::DINode::FlagZero,
        llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
    function.setSubprogram(scope);
    uint32_t position = 0;
    std::vector<std::pair<llvm::Instruction*, uint32_t>> named;
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : block) {
        numbered_.push_back({&function, position++});
        const auto line = static_cast<uint32_t>(numbered_.size());
        instruction.setDebugLoc(llvm::DILocation::get(module_.getContext(), line, 0, scope));
        if (wants_name(instruction)) named.emplace_back(&instruction, line);
      }
    for (const auto& [instruction, line] : named) name(*instruction, line, scope);
    if (keeps_all_in_memory(function)) return;
    for (llvm::Argument& argument : function.args())
      if (fits_a_word(*argument.getType())) name(argument, scope);
  }

  // Without optimisation: there, names of values would change the code that is generated.
  static bool keeps_all_in_memory(const llvm::Function& function) {
    return function.hasFnAttribute(llvm::Attribute::OptimizeNone);
  }

  static bool fits_a_word(const llvm::Type& type) {
    return type.isPointerTy() || (type.isIntegerTy() && type.getIntegerBitWidth() <= 64);
  }

  static bool wants_name(const llvm::Instruction& instruction) {
    if (llvm::isa<llvm::AllocaInst>(instruction)) return true;
    if (!fits_a_word(*instruction.getType()) || instruction.isTerminator() ||
        llvm::isa<llvm::IntrinsicInst>(instruction))
      return false;
    if (llvm::isa<llvm::PHINode>(instruction)) return true;
    if (keeps_all_in_memory(*instruction.getFunction())) return false;
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return !call->isMustTailCall();
    return llvm::isa<llvm::LoadInst>(instruction) || steps_a_phi(instruction) || becomes_a_phi(instruction);
  }

  // What a variable of a loop will be in the next round.
  static bool steps_a_phi(const llvm::Instruction& instruction) {
    const bool adds = instruction.getOpcode() == llvm::Instruction::Add &&
                      llvm::isa<llvm::ConstantInt>(instruction.getOperand(1));
    const auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
    return (adds || (element != nullptr && element->hasAllConstantIndices())) &&
           llvm::isa<llvm::PHINode>(instruction.getOperand(0));
  }

  // What a variable of a loop begins with, or that plus a constant does (program/counting_variables.h).
  static bool becomes_a_phi(const llvm::Instruction& instruction) {
    return llvm::any_of(instruction.users(), [](const llvm::User* user) {
      if (llvm::isa<llvm::BinaryOperator, llvm::GetElementPtrInst>(user))
        return llvm::any_of(user->users(),
                            [](const llvm::User* next) { return llvm::isa<llvm::PHINode>(next); });
      return llvm::isa<llvm::PHINode>(user);
    });
  }

  void name(llvm::Instruction& instruction, uint32_t line, llvm::DISubprogram* scope) {
    llvm::DILocalVariable* variable =
        builder_.createAutoVariable(scope, std::to_string(line), file_, 1, word_, /*AlwaysPreserve=*/true);
    llvm::DILocation* at = llvm::DILocation::get(module_.getContext(), 0, 0, scope);
    llvm::BasicBlock* block = instruction.getParent();
    if (llvm::isa<llvm::AllocaInst>(instruction))
      builder_.insertDeclare(&instruction, variable, builder_.createExpression(), at,
                             instruction.getNextNode());
    else
      builder_.insertDbgValueIntrinsic(
          &instruction, variable, builder_.createExpression(), at,
          llvm::isa<llvm::PHINode>(instruction) ? &*block->getFirstInsertionPt() : instruction.getNextNode());
  }

  void name(llvm::Argument& argument, llvm::DISubprogram* scope) {
    llvm::DILocalVariable* variable = builder_.createAutoVariable(
        scope, "a" + std::to_string(argument.getArgNo()), file_, 1, word_, /*AlwaysPreserve=*/true);
    llvm::DILocation* at = llvm::DILocation::get(module_.getContext(), 0, 0, scope);
    builder_.insertDbgValueIntrinsic(&argument, variable, builder_.createExpression(), at,
                                     &*argument.getParent()->getEntryBlock().getFirstInsertionPt());
  }

  llvm::Module& module_;
  llvm::DIBuilder builder_;
  llvm::DIFile* file_;
  llvm::DICompileUnit* unit_;
  llvm::DIBasicType* word_;
  llvm::DISubroutineType* type_;
  std::vector<NumberedInstruction> numbered_;
};

}  // namespace

std::vector<const llvm::Instruction*> counted_instructions(const llvm::Function& function) {
  std::vector<const llvm::Instruction*> counted;
  for (const llvm::BasicBlock& block : function)
    for (const llvm::Instruction& instruction : block)
      if (!llvm::isa<llvm::DbgInfoIntrinsic>(instruction)) counted.push_back(&instruction);
  return counted;
}

std::vector<NumberedInstruction> number_instructions(llvm::Module& module) {
  llvm::StripDebugInfo(module);
  return Numbering(module).run();
}

}  // namespace heddle
