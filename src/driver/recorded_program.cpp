#include "driver/recorded_program.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/files.h"
#include "build/variant.h"
#include "image/elf_file.h"
#include "program/source_place.h"
#include "replay/controlled_program.h"

namespace heddle {
namespace {

std::vector<std::string> source_files(const Program& program) {
  std::vector<std::string> files;
  for (const TranslationUnit& unit : program.units()) {
    const fs::path source(unit.source);
    files.push_back((source.is_absolute() ? source : fs::path(unit.folder) / source).lexically_normal());
  }
  return files;
}

// A function that is reached from outside keeps its name for its entry; its code has another
// (instrument/record_entries).
std::string without_suffix(const std::string& symbol) {
  constexpr std::string_view kBody = ".heddle";
  return symbol.ends_with(kBody) ? symbol.substr(0, symbol.size() - kBody.size()) : symbol;
}

}  // namespace

std::string record_variant_name(const RecordingOptions& options) {
  if (options.flow) return "flow";
  if (options.memory_model != "sc") return "record-buffers";
  std::string name = "record";
  if (options.policy != "standard") name += "-" + options.policy;
  if (options.chaos) name += "-chaos";
  return name;
}

RecordedProgram::RecordedProgram(fs::path executable, fs::path variant, std::string variant_name,
                                 std::unique_ptr<Program> program, CodeSymbols symbols, MemoryNames memory)
    : executable_(std::move(executable)),
      variant_(std::move(variant)),
      variant_name_(std::move(variant_name)),
      program_(std::move(program)),
      symbols_(std::move(symbols)),
      memory_(std::move(memory)),
      source_folder_(common_folder(source_files(*program_))) {}

Result<std::unique_ptr<RecordedProgram>> RecordedProgram::open(const fs::path& executable,
                                                               const std::string& variant_name) {
  const VariantRecipe* recipe = HEDDLE_TRY(find_variant(variant_name));
  const Variant variant = HEDDLE_TRY(obtain_variant(executable, *recipe));
  std::unique_ptr<Program> program = HEDDLE_TRY(Program::load(executable));
  CodeSymbols symbols = HEDDLE_TRY(CodeSymbols::open(variant.executable));
  const ElfFile elf = HEDDLE_TRY(ElfFile::open(variant.executable));
  MemoryNames memory(elf.variables(), elf.thread_local_variables(), elf.thread_local_size());
  // The kernel's names of mapped files have no symbolic links in them.
  std::error_code ignored;
  fs::path real = fs::canonical(variant.executable, ignored);
  return std::unique_ptr<RecordedProgram>(
      new RecordedProgram(executable, real.empty() ? variant.executable : real, variant_name,
                          std::move(program), std::move(symbols), std::move(memory)));
}

std::string RecordedProgram::short_file(const std::string& file) const {
  return !source_folder_.empty() && file.starts_with(source_folder_) ? file.substr(source_folder_.size())
                                                                     : file;
}

bool RecordedProgram::is_own_function(const std::string& symbol) const {
  if (symbol.empty()) return false;
  const llvm::Function* function = program_->module().getFunction(without_suffix(symbol));
  if (function != nullptr && !function->isDeclaration()) return true;
  return std::ranges::find(program_->foreign_functions(), symbol) != program_->foreign_functions().end();
}

std::vector<StackFrame> RecordedProgram::frames_of(uint64_t address, uint64_t load_base, bool exact) const {
  const uint64_t at = address - load_base - (exact ? 0 : 1);
  if (!is_own_function(symbols_.symbol_at(at))) return {};
  std::vector<StackFrame> frames;
  for (const CodeFrame& frame : symbols_.frames_at(at)) {
    StackFrame out{.function = short_name(without_suffix(frame.function))};
    if (frame.line != 0)
      out.place = CodePlace{.file = short_file(frame.file), .line = frame.line, .function = out.function};
    frames.push_back(std::move(out));
  }
  return frames;
}

std::vector<RecordedFrame> RecordedProgram::readable(const std::vector<ProcessFrame>& stack) const {
  std::vector<RecordedFrame> out;
  for (const ProcessFrame& frame : stack) {
    if (!is_inside(frame)) {
      out.push_back({.function = short_name(demangled(frame.symbol)),
                     .library = frame.module.empty() ? "?" : fs::path(frame.module).filename().string(),
                     .pc = frame.pc});
      continue;
    }
    for (const StackFrame& own : frames_of(frame.pc, frame.module_base, frame.exact))
      out.push_back({.function = own.function,
                     .file = own.place ? own.place->file : "",
                     .line = own.place ? own.place->line : 0,
                     .pc = frame.pc});
  }
  // Startup code of the C library says nothing.
  const auto own =
      std::find_if(out.rbegin(), out.rend(), [](const RecordedFrame& f) { return f.library.empty(); });
  if (own != out.rend()) out.erase(own.base(), out.end());
  return out;
}

std::string RecordedProgram::variable_at(uint64_t address, uint64_t load_base) const {
  const auto variable = memory_.variable_at(address - load_base);
  if (!variable) return "";
  const std::string name = demangled(variable->name);
  return variable->offset == 0 ? name : fmt::format("{}+{}", name, variable->offset);
}

std::string RecordedProgram::function_at(uint64_t address, uint64_t load_base) const {
  const std::string symbol = symbols_.symbol_at(address - load_base);
  return is_own_function(symbol) ? short_name(demangled(without_suffix(symbol))) : "";
}

}  // namespace heddle
