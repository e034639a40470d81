#include "build/numbered_code.h"

#include <fmt/core.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <sstream>

#include "base/clang.h"
#include "base/files.h"
#include "base/process.h"

namespace heddle {
namespace {

constexpr std::string_view kBlockName = "heddle_block_";

// The name of the block in a comment such as "# %heddle_block_3".
uint32_t block_of_comment(std::string_view line) {
  const size_t at = line.find("# %");
  if (at == std::string_view::npos) return UINT32_MAX;
  std::string_view name = line.substr(at + 3);
  if (name.starts_with("bb.")) {  // "# %bb.3:    # %name"
    const size_t next = name.find("# %");
    if (next == std::string_view::npos) return UINT32_MAX;
    name = name.substr(next + 3);
  }
  if (!name.starts_with(kBlockName)) return UINT32_MAX;
  name.remove_prefix(kBlockName.size());
  uint32_t number = 0;
  size_t digits = 0;
  while (digits < name.size() && name[digits] >= '0' && name[digits] <= '9')
    number = number * 10 + static_cast<uint32_t>(name[digits++] - '0');
  // What the compiler split off has more behind the number: it is no block of the program.
  return digits != 0 && (digits == name.size() || name[digits] == ' ') ? number : UINT32_MAX;
}

}  // namespace

Result<std::string> number_bitcode(const std::string& bitcode, const std::string& name) {
  llvm::LLVMContext context;
  context.setDiscardValueNames(false);
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, name), context);
  if (!module)
    return Error{.what = "cannot read the model", .where = name, .why = llvm::toString(module.takeError())};
  for (llvm::Function& function : **module) {
    llvm::DISubprogram* scope = function.getSubprogram();
    unsigned block_number = 0, number = 0;
    for (llvm::BasicBlock& block : function) {
      block.setName(fmt::format("{}{}", kBlockName, block_number++));
      for (llvm::Instruction& instruction : block) {
        ++number;
        if (scope != nullptr)
          instruction.setDebugLoc(llvm::DILocation::get(context, number, kNumberedColumn, scope));
      }
    }
  }
  std::string out;
  llvm::raw_string_ostream stream(out);
  llvm::WriteBitcodeToFile(**module, stream, /*ShouldPreserveUseListOrder=*/true);
  return out;
}

std::string block_label(size_t number) {
  return fmt::format("heddle.machine_block.{}", number);
}

std::string label_blocks(const std::string& assembly, std::vector<LabelledBlock>& blocks) {
  std::string out, function;
  std::istringstream in(assembly);
  for (std::string line; std::getline(in, line);) {
    out += line;
    out += '\n';
    // "name:     # @name"
    if (const size_t at = line.find("# @"); at != std::string::npos && !line.starts_with('\t'))
      if (const size_t colon = line.find(':'); colon < at) {
        function = line.substr(0, colon);
        if (function.size() > 2 && function.front() == '"') function = function.substr(1, function.size() - 2);
      }
    if (!line.starts_with(".LBB") && !line.starts_with("# %bb.")) continue;
    if (line.find(':') == std::string::npos) continue;
    out += block_label(blocks.size()) + ":\n";
    blocks.push_back({.function = function, .block = block_of_comment(line)});
  }
  return out;
}

std::vector<std::string> code_options(const std::vector<std::string>& args) {
  std::vector<std::string> out;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg == "-mllvm" && i + 1 < args.size()) {
      out.insert(out.end(), {arg, args[i + 1]});
      ++i;
    } else if (arg.starts_with("-O") || arg.starts_with("-m") || arg.starts_with("--target")) {
      out.push_back(arg);
    } else if (arg.starts_with("-f") && !arg.starts_with("-fplugin") && !arg.starts_with("-fpass-plugin") &&
               !arg.starts_with("-flto") && arg != "-fsyntax-only" && !arg.starts_with("-fverbose-asm")) {
      out.push_back(arg);
    }
  }
  return out;
}

Result<NumberedObject> compile_numbered(const std::string& bitcode, const TranslationUnit& unit,
                                        const std::filesystem::path& scratch) {
  const fs::path numbered = scratch / "numbered.bc", assembly = scratch / "numbered.s",
                 labelled = scratch / "labelled.s", object = scratch / "numbered.o";
  const std::string with_numbers = HEDDLE_TRY(number_bitcode(bitcode, unit.source));
  HEDDLE_TRY(write_file(numbered, with_numbers));
  const std::vector<std::string> options = code_options(unit.args);
  const auto run = [&](std::vector<std::string> command) -> Result<void> {
    command.insert(command.begin() + 1, options.begin(), options.end());
    const ProcessEnd end = HEDDLE_TRY(run_process(command, {.output = ProcessOptions::Output::capture}));
    if (end.exit_code == 0) return {};
    return Error{.what = fmt::format("the code of {} cannot be generated again", unit.source),
                 .where = shell_quote(command),
                 .why = end.output.substr(0, 2000)};
  };
  const auto compile = [&](const char* how, const fs::path& to) {
    return run({clang_path(CompilerMode::c), "-Qunused-arguments", "-w", "-fno-discard-value-names", "-Xclang",
                "-disable-llvm-passes", "-x", "ir", how, numbered, "-o", to});
  };
  NumberedObject out;
  HEDDLE_TRY(compile("-c", object));
  out.bytes = HEDDLE_TRY(read_file(object));
  HEDDLE_TRY(compile("-S", assembly));
  const std::string text = HEDDLE_TRY(read_file(assembly));
  HEDDLE_TRY(write_file(labelled, label_blocks(text, out.blocks)));
  HEDDLE_TRY(run({clang_path(CompilerMode::c), "-Qunused-arguments", "-w", "-x", "assembler", "-c", labelled,
                  "-o", object}));
  out.labelled = HEDDLE_TRY(read_file(object));
  return out;
}

}  // namespace heddle
