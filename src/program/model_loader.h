// From a file to the linked module: reads the records out of an ELF file and links the modules they hold.
#pragma once

#include "program/program.h"

namespace heddle {

struct LoadedModel {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::string identity, build_id;
  std::vector<TranslationUnit> units;
  std::optional<LinkPlan> link_plan;
  std::vector<std::string> foreign_functions;
  bool foreign_functions_known = false;
};

Result<LoadedModel> load_model(const std::filesystem::path& binary);

// The part behind the ELF file: `modules` and `links` are the sections' bytes.
Result<LoadedModel> link_model(std::string_view modules, std::string_view links, const std::string& name);

}  // namespace heddle
