#include "build/code_generation.h"

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>

#include <algorithm>

namespace heddle {
namespace {

unsigned optimisation_of(const std::vector<std::string>& args) {
  unsigned level = 0;
  for (const std::string& arg : args) {
    if (!arg.starts_with("-O")) continue;
    const std::string name = arg.substr(2);
    if (name == "0")
      level = 0;
    else if (name.empty() || name == "1" || name == "g")
      level = 1;
    else if (name == "3" || name == "4" || name == "fast")
      level = 3;
    else
      level = 2;
  }
  return level;
}

llvm::CodeGenOptLevel llvm_level(unsigned level) {
  constexpr llvm::CodeGenOptLevel kLevels[] = {llvm::CodeGenOptLevel::None, llvm::CodeGenOptLevel::Less,
                                               llvm::CodeGenOptLevel::Default,
                                               llvm::CodeGenOptLevel::Aggressive};
  return kLevels[std::min(level, 3u)];
}

const llvm::Target* find_target(const std::string& triple, std::string& problem) {
  static const bool ready = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmParser();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  (void)ready;
  return llvm::TargetRegistry::lookupTarget(triple, problem);
}

}  // namespace

CodeGenOptions code_generation_options(const std::vector<TranslationUnit>& units) {
  CodeGenOptions options;
  for (const TranslationUnit& unit : units) {
    options.optimisation = std::max(options.optimisation, optimisation_of(unit.args));
    options.fuse_multiply_add |=
        std::find(unit.args.begin(), unit.args.end(), "-ffp-contract=fast") != unit.args.end();
  }
  return options;
}

Result<void> generate_object(llvm::Module& module, const CodeGenOptions& options,
                             const std::filesystem::path& object) {
  std::string problem;
  const llvm::Target* target = find_target(module.getTargetTriple(), problem);
  if (target == nullptr)
    return Error{.what = "cannot generate code: " + problem, .where = module.getTargetTriple()};
  llvm::TargetOptions target_options;
  target_options.AllowFPOpFusion =
      options.fuse_multiply_add ? llvm::FPOpFusion::Fast : llvm::FPOpFusion::Standard;
  const std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(module.getTargetTriple(), "x86-64", "", target_options, llvm::Reloc::PIC_,
                                  module.getCodeModel(), llvm_level(options.optimisation)));
  HEDDLE_CHECK(machine != nullptr);
  module.setDataLayout(machine->createDataLayout());
  // The program may have been compiled for a fixed address; the variant is not.
  module.setPICLevel(llvm::PICLevel::BigPIC);

  std::error_code code;
  llvm::raw_fd_ostream stream(object.string(), code, llvm::sys::fs::OF_None);
  if (code) return Error{.what = "cannot create: " + code.message(), .where = object};
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return Error{.what = "this LLVM cannot write object files for " + module.getTargetTriple()};
  passes.run(module);
  stream.close();
  if (stream.has_error()) {
    code = stream.error();
    stream.clear_error();
    return Error{.what = "cannot write: " + code.message(),
                 .where = object,
                 .next = "free some space there, then run the same command again"};
  }
  return {};
}

}  // namespace heddle
