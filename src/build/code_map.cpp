#include "build/code_map.h"

#include <fmt/core.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/ELFObjectFile.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_map>

#include "base/files.h"
#include "build/compile_module.h"
#include "build/numbered_module.h"
#include "image/debug_file.h"
#include "image/elf_file.h"

namespace heddle {

namespace {

using llvm::object::ELF64LEObjectFile;
using llvm::object::ELFSectionRef;

// A function of an object file, and what of its bytes the linker decides.
struct ObjectFunction {
  std::string name;
  uint64_t section = 0, offset = 0;
  std::string bytes;
  std::vector<bool> open;  // by byte: filled in or rewritten by the linker
};

// How far before and behind its place a relocation lets the linker write: calls and loads by the global offset
// table and accesses to thread-local storage are rewritten whole where the symbol turns out to be near.
std::pair<int, int> reach_of(uint64_t type) {
  switch (type) {
    case llvm::ELF::R_X86_64_64:
    case llvm::ELF::R_X86_64_TPOFF64:
    case llvm::ELF::R_X86_64_DTPOFF64:
      return {0, 8};
    case llvm::ELF::R_X86_64_GOTPCREL:
    case llvm::ELF::R_X86_64_GOTPCRELX:
    case llvm::ELF::R_X86_64_REX_GOTPCRELX:
    case llvm::ELF::R_X86_64_GOTTPOFF:
      return {3, 4};
    case llvm::ELF::R_X86_64_TLSGD:
    case llvm::ELF::R_X86_64_TLSLD:
    case llvm::ELF::R_X86_64_GOTPC32_TLSDESC:
    case llvm::ELF::R_X86_64_TLSDESC_CALL:
      return {4, 12};
    default:
      return {0, 4};
  }
}

template <class T>
bool is_missing(llvm::Expected<T>& value) {
  if (value) return false;
  llvm::consumeError(value.takeError());
  return true;
}

std::vector<ObjectFunction> functions_of(const ELF64LEObjectFile& object) {
  std::vector<ObjectFunction> functions;
  std::multimap<uint64_t, std::pair<uint64_t, uint64_t>> relocations;  // section: offset, type
  for (const ELFSectionRef section : object.sections()) {
    llvm::Expected<llvm::object::section_iterator> target = section.getRelocatedSection();
    if (is_missing(target) || *target == object.section_end()) continue;
    for (const auto& relocation : section.relocations())
      relocations.emplace((*target)->getIndex(), std::pair(relocation.getOffset(), relocation.getType()));
  }
  for (const llvm::object::ELFSymbolRef symbol : object.symbols()) {
    if (symbol.getELFType() != llvm::ELF::STT_FUNC) continue;
    llvm::Expected<llvm::object::section_iterator> section = symbol.getSection();
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    llvm::Expected<uint64_t> value = symbol.getValue();
    if (is_missing(section) || is_missing(name) || is_missing(value) || *section == object.section_end())
      continue;
    llvm::Expected<llvm::StringRef> contents = (*section)->getContents();
    if (is_missing(contents)) continue;
    ObjectFunction function{.name = name->str(),
                            .section = (*section)->getIndex(),
                            .offset = *value,
                            .bytes = contents->substr(*value, symbol.getSize()).str(),
                            .open = {}};
    function.open.resize(function.bytes.size());
    const auto [first, last] = relocations.equal_range(function.section);
    for (auto at = first; at != last; ++at) {
      const auto [before, behind] = reach_of(at->second.second);
      for (int i = -before; i < behind; ++i) {
        const uint64_t place = at->second.first + static_cast<uint64_t>(i) - function.offset;
        if (place < function.open.size()) function.open[place] = true;
      }
    }
    functions.push_back(std::move(function));
  }
  return functions;
}

bool same_code(const ObjectFunction& function, std::string_view code) {
  if (function.bytes.size() != code.size()) return false;
  for (size_t i = 0; i < code.size(); ++i)
    if (!function.open[i] && function.bytes[i] != code[i]) return false;
  return true;
}

}  // namespace

class CodeMapBuilder {
 public:
  CodeMapBuilder(const Program& program, const ElfFile& symbols) : program_(program) {
    for (ElfSymbol& symbol : symbols.functions())
      if (symbol.size != 0) symbols_.emplace(symbol.name, std::pair(symbol.address, symbol.size));
  }

  Result<void> set_text(const fs::path& executable) {
    file_ = HEDDLE_TRY(read_file(executable));
    auto object =
        llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(file_, executable.string()));
    if (!object) return Error{.what = llvm::toString(object.takeError()), .where = executable};
    for (const ELFSectionRef section : (*object)->sections()) {
      if ((section.getFlags() & llvm::ELF::SHF_EXECINSTR) == 0) continue;
      if (auto contents = section.getContents())
        map_.sections_.emplace(section.getAddress(), contents->str());
      else
        llvm::consumeError(contents.takeError());
    }
    return {};
  }

  Result<void> add_unit(UnitModule unit, const TranslationUnit& origin, const fs::path& folder) {
    const std::vector<NumberedInstruction> numbered = number_instructions(*unit.module);
    const fs::path bitcode = folder / "unit.bc", object = folder / "unit.o";
    HEDDLE_TRY(write_file(bitcode, unit.bitcode()));
    HEDDLE_TRY(compile_module(bitcode, origin, object));
    return add_object(HEDDLE_TRY(read_file(object)), origin, numbered, unit.linked);
  }

  CodeMap finish() {
    std::ranges::sort(map_.functions_, {}, [](const MachineFunction& f) { return f.range.begin; });
    std::ranges::sort(map_.rows_, {}, [](const CodeMap::Row& row) { return row.range.begin; });
    for (const CodeMap::Row& row : map_.rows_) map_.code_.emplace(row.instruction, row.range);
    return std::move(map_);
  }

 private:
  struct Placed {
    uint64_t section, offset, size, address;
    FunctionId function;
    const std::vector<MatchedInstruction>* instructions;
  };

  // The first place that nobody has taken: units, and what each of them brings, stand in the order of the link.
  std::optional<uint64_t> place_of(const ObjectFunction& function) {
    std::vector<uint64_t> addresses;
    const auto [first, last] = symbols_.equal_range(function.name);
    for (auto at = first; at != last; ++at) addresses.push_back(at->second.first);
    std::ranges::sort(addresses);
    for (const uint64_t address : addresses)
      if (!placed_.contains(address) &&
          same_code(function, map_.bytes_of({address, address + function.bytes.size()}))) {
        placed_.insert(address);
        return address;
      }
    return std::nullopt;
  }

  Result<void> add_object(const std::string& bytes, const TranslationUnit& unit,
                          const std::vector<NumberedInstruction>& numbered,
                          const std::unordered_map<std::string, LinkedFunction>& linked) {
    auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(bytes, unit.source));
    if (!file) return Error{.what = llvm::toString(file.takeError()), .where = unit.source};
    const auto* object = llvm::dyn_cast<ELF64LEObjectFile>(file->get());
    if (object == nullptr) return Error{.what = "clang made no x86-64 object", .where = unit.source};
    std::vector<Placed> placed;
    for (const ObjectFunction& function : functions_of(*object)) {
      const auto found = linked.find(function.name);
      if (found == linked.end()) continue;  // another unit's body was linked
      const std::optional<uint64_t> address = place_of(function);
      if (address)
        placed.push_back({function.section, function.offset, function.bytes.size(), *address,
                          program_.id_of(*found->second.function), &found->second.instructions});
      else if (symbols_.contains(function.name) && !known_.contains(found->second.function))
        map_.differing_.push_back(function.name);
      if (!address) continue;
      known_.insert(found->second.function);
      map_.blocks_[program_.id_of(*found->second.function).value] = found->second.blocks;
    }
    read_debug_information(*object, numbered, placed);
    return {};
  }

  const Placed* placed_at(const std::vector<Placed>& placed, uint64_t section, uint64_t offset) const {
    for (const Placed& function : placed)
      if (function.section == section && offset >= function.offset && offset - function.offset < function.size)
        return &function;
    return nullptr;
  }

  static MatchedInstruction matched(const NumberedInstruction& numbered, const Placed& place) {
    return numbered.position < place.instructions->size() ? (*place.instructions)[numbered.position]
                                                          : MatchedInstruction{};
  }

  void read_debug_information(const ELF64LEObjectFile& object, const std::vector<NumberedInstruction>& numbered,
                              const std::vector<Placed>& placed) {
    const std::unique_ptr<llvm::DWARFContext> dwarf = llvm::DWARFContext::create(object);
    for (const std::unique_ptr<llvm::DWARFUnit>& unit : dwarf->compile_units()) {
      if (const llvm::DWARFDebugLine::LineTable* lines = dwarf->getLineTableForUnit(unit.get()))
        read_lines(*lines, numbered, placed);
      read_functions(unit->getUnitDIE(false), numbered, placed);
    }
  }

  void read_lines(const llvm::DWARFDebugLine::LineTable& lines,
                  const std::vector<NumberedInstruction>& numbered, const std::vector<Placed>& placed) {
    for (size_t i = 0; i + 1 < lines.Rows.size(); ++i) {
      const auto& row = lines.Rows[i];
      const auto& next = lines.Rows[i + 1];
      if (row.EndSequence || row.Line == 0 || row.Line > numbered.size() ||
          next.Address.Address <= row.Address.Address)
        continue;
      const Placed* function = placed_at(placed, row.Address.SectionIndex, row.Address.Address);
      if (function == nullptr) continue;
      const MatchedInstruction match = matched(numbered[row.Line - 1], *function);
      if (match.instruction == nullptr) continue;
      const uint64_t shift = function->address - function->offset;
      map_.rows_.push_back({{row.Address.Address + shift, next.Address.Address + shift},
                            program_.id_of(*match.instruction).value,
                            match.replaced,
                            program_.id_of(match.last != nullptr ? *match.last : *match.instruction).value,
                            match.ptwrite});
    }
  }

  static std::vector<uint8_t> block_of(const llvm::DWARFFormValue& value) {
    const auto block = value.getAsBlock();
    return block ? std::vector<uint8_t>(block->begin(), block->end()) : std::vector<uint8_t>();
  }

  void read_functions(const llvm::DWARFDie& unit, const std::vector<NumberedInstruction>& numbered,
                      const std::vector<Placed>& placed) {
    for (const llvm::DWARFDie& function : unit.children()) {
      uint64_t low = 0, high = 0, section = 0;
      if (function.getTag() != llvm::dwarf::DW_TAG_subprogram || !function.getLowAndHighPC(low, high, section))
        continue;
      const Placed* place = placed_at(placed, section, low);
      if (place == nullptr) continue;
      MachineFunction code{.range = {place->address, place->address + place->size},
                           .function = place->function,
                           .frame_base = {}};
      if (const auto base = function.find(llvm::dwarf::DW_AT_frame_base)) code.frame_base = block_of(*base);
      map_.functions_.push_back(std::move(code));
      const uint64_t shift = place->address - place->offset;
      for (const llvm::DWARFDie& child : function.children()) read_variable(child, numbered, *place, shift);
    }
  }

  void read_variable(const llvm::DWARFDie& variable, const std::vector<NumberedInstruction>& numbered,
                     const Placed& place, uint64_t shift) {
    const char* name = variable.getShortName();
    if (variable.getTag() != llvm::dwarf::DW_TAG_variable || name == nullptr) return;
    std::vector<ValueLocation>* known = nullptr;
    if (*name == 'a') {
      const auto argument = static_cast<unsigned>(std::strtoul(name + 1, nullptr, 10));
      known = &map_.argument_locations_[{place.function.value, argument}];
    } else {
      const auto number = static_cast<size_t>(std::strtoull(name, nullptr, 10));
      if (number == 0 || number > numbered.size()) return;
      const llvm::Instruction* value = matched(numbered[number - 1], place).instruction;
      if (value == nullptr) return;
      known = &map_.locations_[program_.id_of(*value).value];
    }
    auto locations = variable.getLocations(llvm::dwarf::DW_AT_location);
    if (is_missing(locations)) return;
    for (const llvm::DWARFLocationExpression& location : *locations) {
      ValueLocation out{.range = {place.address, place.address + place.size},
                        .expression = {location.Expr.begin(), location.Expr.end()}};
      if (location.Range) out.range = {location.Range->LowPC + shift, location.Range->HighPC + shift};
      known->push_back(std::move(out));
    }
  }

  const Program& program_;
  std::string file_;
  std::unordered_multimap<std::string, std::pair<uint64_t, uint64_t>> symbols_;
  std::set<const llvm::Function*> known_;
  std::set<uint64_t> placed_;
  CodeMap map_;
};

Result<CodeMap> CodeMap::make(const Program& program, const CodeMapFiles& files) {
  const fs::path& executable = files.ptwrite != nullptr ? files.ptwrite->executable : program.binary();
  const fs::path file = HEDDLE_TRY(file_with_symbols(executable, files.symbols));
  const ElfFile symbols = HEDDLE_TRY(ElfFile::open(file));
  UnitCode units =
      HEDDLE_TRY(UnitCode::open(program, files.ptwrite != nullptr ? &files.ptwrite->plan : nullptr));
  CodeMapBuilder builder(program, symbols);
  HEDDLE_TRY(builder.set_text(executable));
  const TempFolder folder = HEDDLE_TRY(TempFolder::create());
  for (size_t i = 0; i < units.size(); ++i) {
    UnitModule unit = HEDDLE_TRY(units.load(i));
    HEDDLE_TRY(builder.add_unit(std::move(unit), program.units()[i], folder.path()));
  }
  return builder.finish();
}

std::string_view CodeMap::bytes_of(const CodeRange& range) const {
  auto section = sections_.upper_bound(range.begin);
  if (section == sections_.begin()) return {};
  --section;
  const uint64_t offset = range.begin - section->first, size = range.end - range.begin;
  if (offset > section->second.size() || size > section->second.size() - offset) return {};
  return std::string_view(section->second).substr(offset, size);
}

const MachineFunction* CodeMap::code_at(uint64_t address) const {
  const auto behind =
      std::ranges::upper_bound(functions_, address, {}, [](const MachineFunction& f) { return f.range.begin; });
  if (behind == functions_.begin() || address >= std::prev(behind)->range.end) return nullptr;
  return &*std::prev(behind);
}

std::optional<FunctionId> CodeMap::function_at(uint64_t address) const {
  const MachineFunction* code = code_at(address);
  return code != nullptr ? std::optional(code->function) : std::nullopt;
}

const CodeMap::Row* CodeMap::row_at(uint64_t address) const {
  const auto behind =
      std::ranges::upper_bound(rows_, address, {}, [](const Row& row) { return row.range.begin; });
  if (behind == rows_.begin() || address >= std::prev(behind)->range.end) return nullptr;
  return &*std::prev(behind);
}

std::optional<InstructionId> CodeMap::instruction_at(uint64_t address) const {
  const Row* row = row_at(address);
  return row != nullptr ? std::optional(InstructionId(row->instruction)) : std::nullopt;
}

bool CodeMap::is_replaced_call(uint64_t address) const {
  const Row* row = row_at(address);
  return row != nullptr && row->replaced;
}

std::optional<InstructionId> CodeMap::end_of_replacement(uint64_t address) const {
  const Row* row = row_at(address);
  return row != nullptr && row->replaced ? std::optional(InstructionId(row->last)) : std::nullopt;
}

PtwriteSite CodeMap::ptwrite_at(uint64_t address) const {
  const Row* row = row_at(address);
  return row != nullptr ? row->ptwrite : PtwriteSite();
}

const llvm::BasicBlock* CodeMap::block_of(FunctionId function, uint32_t number) const {
  const auto found = blocks_.find(function.value);
  return found != blocks_.end() && number < found->second.size() ? found->second[number] : nullptr;
}

std::vector<CodeRange> CodeMap::code_of(InstructionId instruction) const {
  std::vector<CodeRange> ranges;
  const auto [first, last] = code_.equal_range(instruction.value);
  for (auto at = first; at != last; ++at) ranges.push_back(at->second);
  return ranges;
}

const std::vector<ValueLocation>& CodeMap::locations_of_argument(FunctionId function, unsigned argument) const {
  static const std::vector<ValueLocation> none;
  const auto found = argument_locations_.find({function.value, argument});
  return found != argument_locations_.end() ? found->second : none;
}

const std::vector<ValueLocation>& CodeMap::locations_of(InstructionId value) const {
  static const std::vector<ValueLocation> none;
  const auto found = locations_.find(value.value);
  return found != locations_.end() ? found->second : none;
}

}  // namespace heddle
