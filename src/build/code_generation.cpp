#include "build/code_generation.h"

#include <fmt/core.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/Transforms/Utils/SplitModule.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/clang.h"
#include "base/files.h"
#include "base/process.h"

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

Result<void> write_object(llvm::Module& module, const CodeGenOptions& options, const fs::path& object) {
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

// One object from a module in parts. What is local to the module becomes visible to the other parts for as long
// as they are not one object again, and local afterwards: else a static function `read` of the program would be
// what other objects call. What has no symbol at all (string constants) gets a name that the linker leaves out.
class PartedObject {
 public:
  PartedObject(llvm::Module& module, const CodeGenOptions& options, const fs::path& object)
      : module_(module), options_(options), object_(object) {}

  Result<void> write(unsigned parts) {
    name_locals();
    // A context serves one thread: each part is written and read again, into one of its own.
    std::vector<llvm::SmallVector<char, 0>> bitcode;
    llvm::SplitModule(module_, parts, [&](std::unique_ptr<llvm::Module> part) {
      llvm::raw_svector_ostream stream(bitcode.emplace_back());
      llvm::WriteBitcodeToFile(*part, stream);
    });
    std::vector<Result<void>> results(bitcode.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < bitcode.size(); ++i)
      threads.emplace_back([&, i] { results[i] = write_part(bitcode[i], part_path(i)); });
    for (std::thread& thread : threads) thread.join();
    for (Result<void>& result : results) HEDDLE_TRY(std::move(result));
    return join(bitcode.size());
  }

 private:
  fs::path beside(std::string_view ending) const { return fs::path(object_).concat(ending); }
  fs::path part_path(size_t part) const { return beside(fmt::format(".{}", part)); }

  void name_locals() {
    size_t unnamed = 0;
    for (llvm::GlobalValue& value : module_.global_values()) {
      if (!value.hasLocalLinkage() || value.getName().starts_with("llvm.")) continue;
      const bool is_private = value.hasPrivateLinkage() || !value.hasName();
      if (is_private) value.setName("heddle.private." + llvm::Twine(unnamed++));
      const std::string name = value.getName().str();
      if (is_private) private_names_ += fmt::format("{0} .L{0}\n", name);
      local_names_ += fmt::format("{}{}\n", is_private ? ".L" : "", name);  // objcopy gives new names first
    }
  }

  Result<void> write_part(llvm::ArrayRef<char> bitcode, const fs::path& path) const {
    llvm::LLVMContext context;
    llvm::Expected<std::unique_ptr<llvm::Module>> part = llvm::parseBitcodeFile(
        llvm::MemoryBufferRef(llvm::StringRef(bitcode.data(), bitcode.size()), "part"), context);
    if (!part) return Error{.what = "cannot split the program: " + llvm::toString(part.takeError())};
    // Else the object would refer to all that the other parts define.
    std::vector<llvm::GlobalValue*> unused;
    for (llvm::GlobalValue& value : (*part)->global_values())
      if (value.isDeclaration() && value.use_empty()) unused.push_back(&value);
    for (llvm::GlobalValue* value : unused) value->eraseFromParent();
    return write_object(**part, options_, path);
  }

  Result<void> join(size_t parts) const {
    const fs::path locals = beside(".locals"), privates = beside(".privates");
    HEDDLE_TRY(write_file(locals, local_names_));
    HEDDLE_TRY(write_file(privates, private_names_));
    std::vector<std::string> link = {clang_path(CompilerMode::c), "-r", "-nostdlib", "-o", beside(".joined")};
    for (size_t i = 0; i < parts; ++i) link.push_back(part_path(i));
    HEDDLE_TRY(run_tool(link));
    return run_tool({"objcopy", "--localize-symbols=" + locals.string(), "--redefine-syms=" + privates.string(),
                     beside(".joined"), object_});
  }

  static Result<void> run_tool(const std::vector<std::string>& argv) {
    const ProcessEnd end = HEDDLE_TRY(run_process(argv, {.output = ProcessOptions::Output::capture}));
    if (end.exit_code == 0) return {};
    return Error{.what = "cannot put the parts of the program together:\n" + end.output.substr(0, 2000),
                 .where = shell_quote(argv),
                 .next = "heddle doctor  (says what is missing)"};
  }

  llvm::Module& module_;
  const CodeGenOptions& options_;
  const fs::path& object_;
  std::string local_names_, private_names_;  // as objcopy wants them
};

unsigned part_count(const llvm::Module& module, const CodeGenOptions& options) {
  // Assembly of the module's own may name what is local.
  if (!module.getModuleInlineAsm().empty()) return 1;
  if (options.parts != 0) return options.parts;
  if (const char* given = std::getenv("HEDDLE_BUILD_PARTS")) return std::max(1, std::atoi(given));
  constexpr size_t kWorthwhile = 100'000;  // instructions: about a second
  return static_cast<unsigned>(std::clamp<size_t>(module.getInstructionCount() / kWorthwhile, 1,
                                                  std::max(1u, std::thread::hardware_concurrency())));
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

Result<void> generate_object(llvm::Module& module, const CodeGenOptions& options, const fs::path& object) {
  const unsigned parts = part_count(module, options);
  return parts == 1 ? write_object(module, options, object)
                    : PartedObject(module, options, object).write(parts);
}

}  // namespace heddle
