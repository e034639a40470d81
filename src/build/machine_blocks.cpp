#include "build/machine_blocks.h"

#include <fmt/core.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/Object/ELFObjectFile.h>

#include <algorithm>
#include <sstream>

#include "abi/model_section.h"
#include "base/clang.h"
#include "base/files.h"
#include "base/process.h"
#include "build/compile_module.h"
#include "image/elf_file.h"
#include "image/model_record.h"

namespace heddle {
namespace {

constexpr std::string_view kBlockName = "heddle_block_", kLabel = "heddle.machine_block.";

// The number in a comment such as "# %heddle_block_3".
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
  // What was split off has more behind the number.
  return digits != 0 && (digits == name.size() || name[digits] == ' ') ? number : UINT32_MAX;
}

Result<std::string> name_blocks(const std::string& bitcode, const std::string& source) {
  llvm::LLVMContext context;
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, source), context);
  if (!module) return Error{.what = llvm::toString(module.takeError()), .where = source};
  for (llvm::Function& function : **module) {
    unsigned number = 0;
    for (llvm::BasicBlock& block : function) block.setName(fmt::format("{}{}", kBlockName, number++));
  }
  std::string out;
  llvm::raw_string_ostream stream(out);
  llvm::WriteBitcodeToFile(**module, stream, /*ShouldPreserveUseListOrder=*/true);
  return out;
}

struct Symbol {
  uint64_t section = 0, address = 0, size = 0;
};

Result<std::map<std::string, Symbol>> symbols_of(const std::string& object, const std::string& source) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(object, source));
  if (!file) return Error{.what = llvm::toString(file.takeError()), .where = source};
  std::map<std::string, Symbol> out;
  for (const llvm::object::ELFSymbolRef symbol :
       llvm::cast<llvm::object::ELFObjectFileBase>(**file).symbols()) {
    auto name = symbol.getName();
    auto section = symbol.getSection();
    auto address = symbol.getAddress();
    if (name && section && address && *section != (*file)->section_end())
      out[name->str()] = {(*section)->getIndex(), *address, symbol.getSize()};
    if (!name) llvm::consumeError(name.takeError());
    if (!section) llvm::consumeError(section.takeError());
    if (!address) llvm::consumeError(address.takeError());
  }
  return out;
}

Result<void> run_clang(const TranslationUnit& unit, std::vector<std::string> words) {
  std::vector<std::string> argv = {clang_path(CompilerMode::c)};
  for (std::string& word : code_generation_words(unit.args)) argv.push_back(std::move(word));
  argv.insert(argv.end(), words.begin(), words.end());
  for (const char* word : {"-Qunused-arguments", "-w"}) argv.emplace_back(word);
  const ProcessEnd end = HEDDLE_TRY(run_process(argv, {.output = ProcessOptions::Output::capture}));
  if (end.exit_code == 0) return {};
  return Error{.what = fmt::format("clang cannot compile the model of {} again:\n{}", unit.source,
                                   end.output.substr(0, 2000)),
               .where = shell_quote(argv)};
}

}  // namespace

std::string label_machine_blocks(const std::string& assembly, std::vector<LabelledBlock>& blocks) {
  std::string out, function;
  std::istringstream in(assembly);
  for (std::string line; std::getline(in, line);) {
    out += line + '\n';
    // "name:     # @name"
    if (const size_t at = line.find("# @"); at != std::string::npos && !line.starts_with('\t'))
      if (const size_t colon = line.find(':'); colon < at) {
        function = line.substr(0, colon);
        if (function.size() > 2 && function.front() == '"') function = function.substr(1, function.size() - 2);
      }
    if ((!line.starts_with(".LBB") && !line.starts_with("# %bb.")) || line.find(':') == std::string::npos)
      continue;
    out += fmt::format("{}{}:\n", kLabel, blocks.size());
    blocks.push_back({.function = function, .block = block_of_comment(line)});
  }
  return out;
}

Result<MachineBlocks> MachineBlocks::make(const Program& program, const CodeMap& code) {
  const ElfFile executable = HEDDLE_TRY(ElfFile::open(program.binary()));
  const std::vector<ModelRecord> records = HEDDLE_TRY(
      decode_records(executable.section(HEDDLE_SECTION_MODULE).value_or(""), program.binary().string()));
  std::map<size_t, std::map<std::string, const MachineFunction*>> wanted;  // by unit, by name there
  for (const MachineFunction& each : code.functions())
    if (const auto origin = function_origin(program.function(each.function)))
      wanted[origin->unit][origin->name] = &each;
  const TempFolder folder = HEDDLE_TRY(TempFolder::create());
  const fs::path bitcode = folder.path() / "unit.bc", assembly = folder.path() / "unit.s",
                 object = folder.path() / "unit.o";
  MachineBlocks out;
  for (const auto& [unit_number, functions] : wanted) {
    if (unit_number >= records.size() || unit_number >= program.units().size()) continue;
    const TranslationUnit& unit = program.units()[unit_number];
    const std::string named = HEDDLE_TRY(name_blocks(records[unit_number].body, unit.source));
    HEDDLE_TRY(write_file(bitcode, named));
    HEDDLE_TRY(run_clang(unit, {"-fno-discard-value-names", "-Xclang", "-disable-llvm-passes", "-x", "ir", "-S",
                                bitcode, "-o", assembly}));
    std::vector<LabelledBlock> blocks;
    const std::string text = HEDDLE_TRY(read_file(assembly));
    HEDDLE_TRY(write_file(assembly, label_machine_blocks(text, blocks)));
    HEDDLE_TRY(run_clang(unit, {"-x", "assembler", "-c", assembly, "-o", object}));
    const std::string bytes = HEDDLE_TRY(read_file(object));
    const std::map<std::string, Symbol> symbols = HEDDLE_TRY(symbols_of(bytes, unit.source));
    for (size_t i = 0; i < blocks.size(); ++i) {
      const auto function = functions.find(blocks[i].function);
      const auto symbol = symbols.find(blocks[i].function),
                 label = symbols.find(fmt::format("{}{}", kLabel, i));
      if (function == functions.end() || symbol == symbols.end() || label == symbols.end()) continue;
      const MachineFunction& there = *function->second;
      if (label->second.section != symbol->second.section ||
          symbol->second.size != there.range.end - there.range.begin)
        continue;
      MachineBlock block{.address = label->second.address - symbol->second.address + there.range.begin};
      block.block = code.block_of(there.function, blocks[i].block);
      out.blocks_[there.function.value].push_back(block);
    }
  }
  for (auto& [function, blocks] : out.blocks_) std::ranges::sort(blocks, {}, &MachineBlock::address);
  return out;
}

const std::vector<MachineBlock>& MachineBlocks::of(FunctionId function) const {
  static const std::vector<MachineBlock> none;
  const auto found = blocks_.find(function.value);
  return found != blocks_.end() ? found->second : none;
}

}  // namespace heddle
