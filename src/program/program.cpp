#include "program/program.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/TypeFinder.h>

#include "program/model_loader.h"

namespace heddle {
namespace {

// LLVM computes layouts of structures, and types of integers, when somebody first asks, and keeps them without
// a lock. After this, asking changes nothing, so that threads can share a program.
void lay_out_types(const llvm::Module& module) {
  llvm::TypeFinder types;
  types.run(module, /*onlyNamed=*/false);
  for (llvm::StructType* type : types)
    if (type->isSized() && !type->isScalableTy()) module.getDataLayout().getStructLayout(type);
  for (unsigned bits = 8; bits <= 64; bits += 8) llvm::IntegerType::get(module.getContext(), bits);
}

}  // namespace

Result<std::unique_ptr<Program>> Program::load(const std::filesystem::path& binary) {
  LoadedModel model = HEDDLE_TRY(load_model(binary));
  std::unique_ptr<Program> program = from_module(std::move(model.context), std::move(model.module));
  program->binary_ = binary;
  program->identity_ = std::move(model.identity);
  program->build_id_ = std::move(model.build_id);
  program->units_ = std::move(model.units);
  program->link_plan_ = std::move(model.link_plan);
  program->foreign_functions_ = std::move(model.foreign_functions);
  program->foreign_functions_known_ = model.foreign_functions_known;
  return program;
}

std::unique_ptr<Program> Program::from_module(std::unique_ptr<llvm::LLVMContext> context,
                                              std::unique_ptr<llvm::Module> module) {
  std::unique_ptr<Program> program(new Program);
  program->context_ = std::move(context);
  program->module_ = std::move(module);
  program->assign_ids();
  lay_out_types(*program->module_);
  return program;
}

bool Program::has_foreign_callers() const {
  if (!foreign_functions_known_ || !foreign_functions_.empty() || !link_plan_ || link_plan_->shared)
    return true;
  // Exported to libraries that are loaded at run time.
  for (const LinkItem& item : link_plan_->items)
    for (const std::string& flag : item.flags)
      if (flag == "-rdynamic" || flag.find("-export-dynamic") != std::string::npos) return true;
  return false;
}

void Program::assign_ids() {
  for (const llvm::Function& function : *module_) {
    if (function.isDeclaration()) continue;
    functions_.push_back(&function);
    for (const llvm::BasicBlock& block : function) {
      blocks_.push_back(&block);
      for (const llvm::Instruction& instruction : block) instructions_.push_back(&instruction);
    }
  }
  auto fill = [](auto& map, const auto& list) {
    map.reserve(static_cast<unsigned>(list.size()));
    for (uint32_t i = 0; i < list.size(); ++i) map[list[i]] = i;
  };
  fill(function_ids_, functions_);
  fill(block_ids_, blocks_);
  fill(instruction_ids_, instructions_);
}

std::optional<FunctionOrigin> function_origin(const llvm::Function& function) {
  const llvm::MDNode* node = function.getMetadata(kFunctionOrigin);
  if (node == nullptr || node->getNumOperands() != 2) return std::nullopt;
  const auto* unit = llvm::mdconst::dyn_extract<llvm::ConstantInt>(node->getOperand(0));
  const auto* name = llvm::dyn_cast<llvm::MDString>(node->getOperand(1));
  if (unit == nullptr || name == nullptr) return std::nullopt;
  return FunctionOrigin{.unit = unit->getZExtValue(), .name = name->getString().str()};
}

}  // namespace heddle
