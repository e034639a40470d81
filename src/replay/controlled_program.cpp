#include "replay/controlled_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "abi/hooks.h"
#include "base/files.h"
#include "build/variant.h"
#include "program/source_place.h"

namespace heddle {
namespace {

MemoryNames memory_names(const ElfFile& elf) {
  // The runtime's own variables may have names that the program's have too.
  std::vector<ElfSymbol> variables = elf.variables();
  std::erase_if(variables, [](const ElfSymbol& symbol) {
    return !symbol.file.empty() && symbol.file != HEDDLE_VARIANT_SOURCE;
  });
  return MemoryNames(std::move(variables), elf.thread_local_variables(), elf.thread_local_size());
}

std::vector<std::string> source_files(const Program& program) {
  std::vector<std::string> files;
  for (const TranslationUnit& unit : program.units()) {
    const fs::path source(unit.source);
    files.push_back((source.is_absolute() ? source : fs::path(unit.folder) / source).lexically_normal());
  }
  return files;
}

// By its runtime, which is linked in, or by what the code calls of it (names are gone when the file is
// stripped).
bool has_sanitizer(const Program& program) {
  const auto of_sanitizer = [](std::string_view name) {
    return std::ranges::any_of(std::to_array<std::string_view>({"__sanitizer_", "__asan_", "__tsan_", "__msan_",
                                                                "__hwasan_", "__ubsan_handle_"}),
                               [&](std::string_view prefix) { return name.starts_with(prefix); });
  };
  return std::ranges::any_of(program.foreign_functions(), of_sanitizer) ||
         std::ranges::any_of(program.module().functions(), [&](const llvm::Function& function) {
           return function.isDeclaration() && of_sanitizer(std::string_view(function.getName()));
         });
}

}  // namespace

Result<fs::path> find_program(const std::string& word, const fs::path& folder) {
  const Error missing{.what = fmt::format("there is no program '{}'", word),
                      .where = folder,
                      .next = "give the path of an executable built with heddle cc, such as ./app"};
  if (word.find('/') == std::string::npos && word != "." && word != "..") {
    const fs::path found = find_in_path(word);
    if (found.empty()) return missing;
    return found;
  }
  const fs::path file = (folder / word).lexically_normal();
  std::error_code ignored;
  if (fs::is_directory(file, ignored))
    return Error{
        .what = fmt::format("'{}' is a folder, not a program", word), .where = folder, .next = missing.next};
  if (!fs::is_regular_file(file, ignored)) return missing;
  return file;
}

std::string common_folder(const std::vector<std::string>& files) {
  if (files.empty()) return "";
  std::string folder = files.front().substr(0, files.front().rfind('/') + 1);
  for (const std::string& file : files)
    while (!folder.empty() && !file.starts_with(folder)) {
      folder.pop_back();
      folder.resize(folder.rfind('/') + 1);
    }
  return folder == "/" ? "" : folder;
}

ControlledProgram::ControlledProgram(fs::path executable, fs::path variant, std::unique_ptr<Program> program,
                                     CodeSymbols symbols, MemoryNames memory)
    : executable_(std::move(executable)),
      variant_(std::move(variant)),
      program_(std::move(program)),
      symbols_(std::move(symbols)),
      memory_(std::move(memory)),
      source_folder_(common_folder(source_files(*program_))) {}

Result<std::unique_ptr<ControlledProgram>> ControlledProgram::open(const fs::path& executable,
                                                                   std::string_view variant_name) {
  std::unique_ptr<Program> program = HEDDLE_TRY(Program::load(executable));
  if (has_sanitizer(*program))
    return Error{
        .what = "a controlled run needs a program without sanitizers",
        .where = executable,
        .why =
            "it was built with -fsanitize=...: the sanitizer takes over the functions that heddle must take "
            "over (malloc, pthread_create, ...)",
        .next = "build it without -fsanitize; heddle finds uses of freed memory by itself"};
  const VariantRecipe* recipe = HEDDLE_TRY(find_variant(variant_name));
  const Variant variant = HEDDLE_TRY(obtain_variant(executable, *recipe));
  CodeSymbols symbols = HEDDLE_TRY(CodeSymbols::open(variant.executable));
  const ElfFile elf = HEDDLE_TRY(ElfFile::open(variant.executable));
  return std::unique_ptr<ControlledProgram>(new ControlledProgram(
      executable, variant.executable, std::move(program), std::move(symbols), memory_names(elf)));
}

std::string ControlledProgram::short_file(const std::string& file) const {
  return !source_folder_.empty() && file.starts_with(source_folder_) ? file.substr(source_folder_.size())
                                                                     : file;
}

std::string ControlledProgram::source_path(const std::string& file) const {
  return file.starts_with('/') || file.starts_with('<') ? file : source_folder_ + file;
}

std::optional<CodePlace> ControlledProgram::place_of_site(uint32_t site) const {
  if (site >= program_->instruction_count()) return std::nullopt;
  const SourcePlace place = user_place(program_->instruction(InstructionId(site)));
  return CodePlace{.file = place.known() ? short_file(place.file) : "",
                   .line = place.line,
                   .function = short_name(place.function)};
}

bool ControlledProgram::is_own_function(const std::string& symbol) const {
  if (symbol.empty()) return false;
  if (symbol == HEDDLE_CONTROL_MAIN) return true;
  if (symbol == "main") return false;  // the runtime's
  const llvm::Function* function = program_->module().getFunction(symbol);
  if (function != nullptr && !function->isDeclaration()) return true;
  return std::ranges::find(program_->foreign_functions(), symbol) != program_->foreign_functions().end();
}

std::vector<StackFrame> ControlledProgram::frames_of(uint64_t address, uint64_t load_base, bool exact) const {
  const uint64_t at = address - load_base - (exact ? 0 : 1);
  if (!is_own_function(symbols_.symbol_at(at))) return {};
  std::vector<StackFrame> frames;
  for (CodeFrame& frame : symbols_.frames_at(at)) {
    StackFrame out{.function = short_name(frame.function == HEDDLE_CONTROL_MAIN ? "main" : frame.function)};
    if (frame.line != 0)
      out.place = CodePlace{.file = short_file(frame.file), .line = frame.line, .function = out.function};
    frames.push_back(std::move(out));
  }
  return frames;
}

std::string ControlledProgram::variable_at(uint64_t address, uint64_t load_base) const {
  const auto variable = memory_.variable_at(address - load_base);
  if (!variable) return "";
  const std::string name = demangled(variable->name);
  return variable->offset == 0 ? name : fmt::format("{}+{}", name, variable->offset);
}

namespace {

// What a std::thread calls, from the name of the function that the library calls it by:
// "std::thread::_State_impl<std::thread::_Invoker<std::tuple<main::$_0, int>>>::_M_run()" is "main::$_0", and
// so is "std::_Function_handler<void (), main::$_0>::_M_invoke(...)"; other names stay what they are.
std::string_view callable_of_state(std::string_view name) {
  const bool function = name.starts_with("std::_Function_handler<");
  if (!function && !name.starts_with("std::thread::_State_impl<")) return name;
  const std::string_view opening = function ? "_handler<" : "<std::tuple<";
  size_t begin = name.find(opening) + opening.size();
  int depth = 0;
  bool skip = function;  // its signature
  for (size_t end = begin; end < name.size(); ++end) {
    const char c = name[end];
    if (depth == 0 && skip && c == ',') {
      begin = end + 2;
      skip = false;
    } else if (depth == 0 && (c == ',' || c == '>')) {
      return name.substr(begin, end - begin);
    }
    if (c == '<' || c == '(') ++depth;
    if (c == '>' || c == ')') --depth;
  }
  return name;
}

}  // namespace

std::string ControlledProgram::function_at(uint64_t address, uint64_t load_base) const {
  const std::string symbol = symbols_.symbol_at(address - load_base);
  return is_own_function(symbol) ? short_name(callable_of_state(demangled(symbol))) : "";
}

}  // namespace heddle
