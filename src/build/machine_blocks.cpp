#include "build/machine_blocks.h"

#include <fmt/core.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELFObjectFile.h>

#include <algorithm>
#include <sstream>

#include "base/clang.h"
#include "base/files.h"
#include "base/process.h"
#include "build/compile_module.h"

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

void name_blocks(llvm::Module& module) {
  for (llvm::Function& function : module) {
    unsigned number = 0;
    for (llvm::BasicBlock& block : function) block.setName(fmt::format("{}{}", kBlockName, number++));
  }
}

struct Symbol {
  uint64_t section = 0, address = 0, size = 0;
};

// Where the instructions of a function begin.
std::vector<uint64_t> instruction_offsets(std::string_view code) {
  static const bool ready = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86Disassembler();
    return true;
  }();
  (void)ready;
  const LLVMDisasmContextRef disassembler =
      LLVMCreateDisasm("x86_64-unknown-linux-gnu", nullptr, 0, nullptr, nullptr);
  HEDDLE_CHECK(disassembler != nullptr);
  std::vector<uint8_t> bytes(code.begin(), code.end());
  std::vector<uint64_t> out;
  for (size_t at = 0, size = 0; at < bytes.size(); at += size) {
    char text[256];
    size = LLVMDisasmInstruction(disassembler, bytes.data() + at, bytes.size() - at, at, text, sizeof text);
    if (size == 0) break;
    out.push_back(at);
  }
  LLVMDisasmDispose(disassembler);
  return out;
}

// The assembler may choose a shorter form of an instruction than the compiler did: then places of the one are
// places of the other by the count of instructions before them. Empty: by something else.
std::map<uint64_t, uint64_t> same_instructions(std::string_view assembled, std::string_view code) {
  std::map<uint64_t, uint64_t> out;
  const std::vector<uint64_t> from = instruction_offsets(assembled), to = instruction_offsets(code);
  if (from.size() != to.size()) return out;
  for (size_t i = 0; i < from.size(); ++i) out[from[i]] = to[i];
  return out;
}

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

Result<std::string> code_of(const std::string& object, const std::string& source, const Symbol& symbol) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(object, source));
  if (!file) return Error{.what = llvm::toString(file.takeError()), .where = source};
  for (const llvm::object::SectionRef section : (*file)->sections()) {
    if (section.getIndex() != symbol.section) continue;
    auto contents = section.getContents();
    if (!contents) return Error{.what = llvm::toString(contents.takeError()), .where = source};
    return contents->substr(symbol.address, symbol.size).str();
  }
  return std::string();
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

Result<MachineBlocks> MachineBlocks::make(const Program& program, const CodeMap& code,
                                          const PtwriteCode* ptwrite) {
  UnitCode units = HEDDLE_TRY(UnitCode::open(program, ptwrite != nullptr ? &ptwrite->plan : nullptr));
  std::map<size_t, std::map<std::string, const MachineFunction*>> wanted;  // by unit, by name there
  for (const MachineFunction& each : code.functions())
    if (const auto origin = function_origin(program.function(each.function)))
      wanted[origin->unit][origin->name] = &each;
  const TempFolder folder = HEDDLE_TRY(TempFolder::create());
  const fs::path bitcode = folder.path() / "unit.bc", assembly = folder.path() / "unit.s",
                 object = folder.path() / "unit.o";
  MachineBlocks out;
  for (size_t number = 0; number < units.size(); ++number) {
    const UnitModule module = HEDDLE_TRY(units.load(number));
    const std::map<std::string, const MachineFunction*>& functions = wanted[number];
    if (functions.empty()) continue;
    const TranslationUnit& unit = program.units()[number];
    name_blocks(*module.module);
    HEDDLE_TRY(write_file(bitcode, module.bitcode()));
    HEDDLE_TRY(run_clang(unit, {"-fno-discard-value-names", "-Xclang", "-disable-llvm-passes", "-x", "ir", "-S",
                                bitcode, "-o", assembly}));
    std::vector<LabelledBlock> blocks;
    const std::string text = HEDDLE_TRY(read_file(assembly));
    HEDDLE_TRY(write_file(assembly, label_machine_blocks(text, blocks)));
    HEDDLE_TRY(run_clang(unit, {"-x", "assembler", "-c", assembly, "-o", object}));
    const std::string bytes = HEDDLE_TRY(read_file(object));
    const std::map<std::string, Symbol> symbols = HEDDLE_TRY(symbols_of(bytes, unit.source));
    std::map<std::string, std::map<uint64_t, uint64_t>> other_forms;  // by function
    for (size_t i = 0; i < blocks.size(); ++i) {
      const auto function = functions.find(blocks[i].function);
      const auto symbol = symbols.find(blocks[i].function),
                 label = symbols.find(fmt::format("{}{}", kLabel, i));
      if (function == functions.end() || symbol == symbols.end() || label == symbols.end()) continue;
      const MachineFunction& there = *function->second;
      if (label->second.section != symbol->second.section) continue;
      uint64_t offset = label->second.address - symbol->second.address;
      if (symbol->second.size != there.range.end - there.range.begin) {
        const auto [known, added] = other_forms.try_emplace(function->first);
        if (added)
          known->second = same_instructions(HEDDLE_TRY(code_of(bytes, unit.source, symbol->second)),
                                            code.bytes_of(there.range));
        const auto moved = known->second.find(offset);
        if (moved == known->second.end()) continue;
        offset = moved->second;
      }
      MachineBlock block{.address = offset + there.range.begin};
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
