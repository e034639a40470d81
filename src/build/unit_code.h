// The modules of the translation units inside an executable, as code generation saw them, and what their
// functions have become in the canonical program. For who compiles them again: to map machine code
// (code_map.h, machine_blocks.h), and to make the variant "ptwrite" (instrument/ptwrite.h), which has the same
// units with more instructions in them.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "build/match_instructions.h"
#include "image/model_record.h"
#include "program/program.h"
#include "program/record_plan.h"

namespace heddle {

// The executable with PTWRITE instructions, and the plan by which they were put in.
struct PtwriteCode {
  std::filesystem::path executable;
  const RecordPlan& plan;
};

// A function of a translation unit in the program.
struct LinkedFunction {
  const llvm::Function* function = nullptr;
  std::vector<MatchedInstruction> instructions;  // by counted_instructions() of the unit's
  std::vector<const llvm::BasicBlock*> blocks;   // by their numbers in the unit
};

struct UnitModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::unordered_map<std::string, LinkedFunction> linked;  // by name in the unit

  std::string bitcode() const;  // keeps the order of uses, which code generation depends on
};

class UnitCode {
 public:
  // `ptwrite`: null for the units as they are.
  static Result<UnitCode> open(const Program& program, const RecordPlan* ptwrite = nullptr);

  size_t size() const;
  // One behind the other, from the first on: local functions of the same name are told apart by their order.
  Result<UnitModule> load(size_t number);

 private:
  UnitCode(const Program& program, const RecordPlan* ptwrite);
  LinkedFunction find_linked(const llvm::Function& function);
  void add_ptwrites(UnitModule& unit) const;

  const Program& program_;
  const RecordPlan* ptwrite_;
  std::vector<ModelRecord> records_;
  std::unordered_multimap<std::string, const llvm::Function*> by_name_;
  std::set<const llvm::Function*> taken_;
};

// An object file of each unit with PTWRITE instructions.
Result<std::vector<std::filesystem::path>> compile_units_with_ptwrite(const Program& program,
                                                                      const std::filesystem::path& folder);

}  // namespace heddle
