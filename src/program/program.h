// The canonical program (decision D1): the modules inside a finished executable, linked in memory, with stable
// ids.
//
// Ids are positions: functions with a body in module order, blocks and instructions in the order they stand in.
// They depend on nothing but the stored modules, so two heddle processes, and a recording made last week, mean
// the same by them as long as Program::identity() is the same.
//
// Invariant: a Program never changes its module, and threads may share it. Variants are made from a Program of
// their own (take_module()).
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "image/link_plan.h"

namespace heddle {

using FunctionId = Id<struct FunctionTag>;
using BlockId = Id<struct BlockTag>;
using InstructionId = Id<struct InstructionTag>;

// One source file that was compiled into the program.
struct TranslationUnit {
  std::string source;             // as given to the compiler
  std::string folder;             // where the compiler ran
  std::vector<std::string> args;  // of the compiler
};

// Metadata of the functions of a program that came from its source files: in which unit (Program::units) and
// under which name the body stands.
inline constexpr char kFunctionOrigin[] = "heddle.origin";
struct FunctionOrigin {
  size_t unit = 0;
  std::string name;
};
std::optional<FunctionOrigin> function_origin(const llvm::Function& function);

class Program {
 public:
  // Executable, shared library or object file made by heddle cc.
  static Result<std::unique_ptr<Program>> load(const std::filesystem::path& binary);
  // For tests and tools that have a module already.
  static std::unique_ptr<Program> from_module(std::unique_ptr<llvm::LLVMContext> context,
                                              std::unique_ptr<llvm::Module> module);

  const std::filesystem::path& binary() const { return binary_; }
  const std::string& identity() const { return identity_; }  // names the model's content: 32 hexadecimal digits
  const std::string& build_id() const { return build_id_; }  // the linker's; may be empty
  const std::vector<TranslationUnit>& units() const { return units_; }
  const std::optional<LinkPlan>& link_plan() const { return link_plan_; }
  const llvm::Module& module() const { return *module_; }

  // Functions of the binary that no module defines, and whether the list can be trusted (a stripped binary
  // has no names to compare).
  const std::vector<std::string>& foreign_functions() const { return foreign_functions_; }
  bool foreign_functions_known() const { return foreign_functions_known_; }
  // May code that heddle cannot see call functions of the program by their names?
  bool has_foreign_callers() const;

  size_t function_count() const { return functions_.size(); }
  size_t block_count() const { return blocks_.size(); }
  size_t instruction_count() const { return instructions_.size(); }
  const llvm::Function& function(FunctionId id) const { return *functions_[id.index()]; }
  const llvm::BasicBlock& block(BlockId id) const { return *blocks_[id.index()]; }
  const llvm::Instruction& instruction(InstructionId id) const { return *instructions_[id.index()]; }
  // Of things that belong to this program's module.
  FunctionId id_of(const llvm::Function& f) const { return FunctionId(function_ids_.at(&f)); }
  BlockId id_of(const llvm::BasicBlock& b) const { return BlockId(block_ids_.at(&b)); }
  InstructionId id_of(const llvm::Instruction& i) const { return InstructionId(instruction_ids_.at(&i)); }

  // The module for a pass pipeline to change; this object is finished afterwards. The context stays here.
  std::unique_ptr<llvm::Module> take_module() { return std::move(module_); }

 private:
  Program() = default;
  void assign_ids();

  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> module_;
  std::filesystem::path binary_;
  std::string identity_, build_id_;
  std::vector<TranslationUnit> units_;
  std::optional<LinkPlan> link_plan_;
  std::vector<std::string> foreign_functions_;
  bool foreign_functions_known_ = false;

  std::vector<const llvm::Function*> functions_;
  std::vector<const llvm::BasicBlock*> blocks_;
  std::vector<const llvm::Instruction*> instructions_;
  llvm::DenseMap<const llvm::Function*, uint32_t> function_ids_;
  llvm::DenseMap<const llvm::BasicBlock*, uint32_t> block_ids_;
  llvm::DenseMap<const llvm::Instruction*, uint32_t> instruction_ids_;
};

}  // namespace heddle
