#include "build/code_map_builder.h"

#include <fmt/core.h>
#include <llvm/BinaryFormat/ELF.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include <map>
#include <set>

#include "abi/model_section.h"
#include "base/files.h"
#include "build/numbered_code.h"
#include "image/elf_file.h"
#include "image/model_record.h"

namespace heddle {
namespace {

namespace elf = llvm::ELF;
using ObjectFile = llvm::object::ELFObjectFileBase;

Result<std::unique_ptr<ObjectFile>> open_object(llvm::MemoryBufferRef bytes) {
  auto object = llvm::object::ObjectFile::createELFObjectFile(bytes);
  if (!object)
    return Error{.what = "cannot read",
                 .where = bytes.getBufferIdentifier().str(),
                 .why = llvm::toString(object.takeError())};
  return std::unique_ptr<ObjectFile>(llvm::cast<ObjectFile>(object->release()));
}

template <class T>
std::optional<T> value_of(llvm::Expected<T> expected) {
  if (expected) return *expected;
  llvm::consumeError(expected.takeError());
  return std::nullopt;
}

struct FunctionBytes {
  uint64_t address = 0, section = 0;
  std::string_view bytes;
};

// Functions of an object or binary, in the order of the symbol table.
std::multimap<std::string, FunctionBytes> functions_of(const ObjectFile& object) {
  std::multimap<std::string, FunctionBytes> out;
  for (const llvm::object::ELFSymbolRef symbol : object.symbols()) {
    if (symbol.getELFType() != elf::STT_FUNC || symbol.getSize() == 0) continue;
    const auto name = value_of(symbol.getName());
    const auto section = value_of(symbol.getSection());
    const auto address = value_of(symbol.getAddress());
    if (!name || !section || *section == object.section_end() || !address) continue;
    const auto content = value_of((*section)->getContents());
    const uint64_t at = *address - (*section)->getAddress();
    if (!content || at > content->size() || symbol.getSize() > content->size() - at) continue;
    out.emplace(name->str(), FunctionBytes{.address = *address,
                                           .section = (*section)->getIndex(),
                                           .bytes = std::string_view(*content).substr(at, symbol.getSize())});
  }
  return out;
}

// Bytes that the linker fills in or rewrites, by section: from, to.
using Holes = std::map<uint64_t, std::vector<std::pair<uint64_t, uint64_t>>>;
Holes holes_of(const ObjectFile& object) {
  Holes out;
  for (const llvm::object::SectionRef& relocations : object.sections()) {
    const auto section = value_of(relocations.getRelocatedSection());
    if (!section || *section == object.section_end()) continue;
    for (const llvm::object::RelocationRef& each : relocations.relocations()) {
      const uint64_t at = each.getOffset();
      uint64_t before = 0, behind = 4;
      switch (each.getType()) {
        case elf::R_X86_64_64:
        case elf::R_X86_64_PC64:
          behind = 8;
          break;
        case elf::R_X86_64_GOTPCRELX:  // the instruction may become another one
        case elf::R_X86_64_REX_GOTPCRELX:
        case elf::R_X86_64_GOTTPOFF:
          before = 3;
          break;
        case elf::R_X86_64_TLSGD:  // a sequence of 16 bytes does
        case elf::R_X86_64_TLSLD:
          before = 4;
          behind = 12;
          break;
        default:
          break;
      }
      out[(*section)->getIndex()].emplace_back(at - std::min(at, before), at + behind);
    }
  }
  for (auto& [section, holes] : out) std::ranges::sort(holes);
  return out;
}

bool same_code(const FunctionBytes& ours, const FunctionBytes& theirs, const Holes& holes,
               uint64_t section_address) {
  if (ours.bytes.size() != theirs.bytes.size()) return false;
  const auto found = holes.find(ours.section);
  const uint64_t begin = ours.address - section_address;
  uint64_t at = 0;
  const auto same = [&](uint64_t to) {
    return at >= to || ours.bytes.substr(at, to - at) == theirs.bytes.substr(at, to - at);
  };
  if (found != holes.end()) {
    auto hole =
        std::ranges::lower_bound(found->second, begin, {}, [](const auto& each) { return each.second; });
    for (; hole != found->second.end() && hole->first < begin + ours.bytes.size(); ++hole) {
      if (hole->first > begin && !same(hole->first - begin)) return false;
      at = std::max(at, std::min<uint64_t>(hole->second - begin, ours.bytes.size()));
    }
  }
  return same(ours.bytes.size());
}

class Builder {
 public:
  Builder(const std::filesystem::path& binary, const Program& program) : binary_(binary), program_(program) {}

  Result<CodeMap> build() {
    app_bytes_ = HEDDLE_TRY(read_file(binary_));
    app_ = HEDDLE_TRY(open_object(llvm::MemoryBufferRef(app_bytes_, binary_.string())));
    app_functions_ = functions_of(*app_);
    if (app_functions_.empty())
      return Error{
          .what = "the program has no symbol table, so its functions cannot be found",
          .where = binary_,
          .why = "it is stripped",
          .next = "give the program as it was linked (heddle ... --program FILE): its code is the same"};
    for (size_t i = 0; i < program_.function_count(); ++i) {
      const llvm::Function& function = program_.function(FunctionId(static_cast<uint32_t>(i)));
      if (const auto origin = origin_of(function)) wanted_[origin->unit][origin->name] = &function;
    }
    const ElfFile file = HEDDLE_TRY(ElfFile::open(binary_));
    const std::vector<ModelRecord> records =
        HEDDLE_TRY(decode_records(file.section(HEDDLE_SECTION_MODULE).value_or(""), binary_.string()));
    const TempFolder scratch = HEDDLE_TRY(TempFolder::create());
    for (size_t unit = 0; unit < records.size() && unit < program_.units().size(); ++unit) {
      if (!wanted_.contains(unit)) continue;
      const NumberedObject object =
          HEDDLE_TRY(compile_numbered(records[unit].body, program_.units()[unit], scratch.path()));
      HEDDLE_TRY(add_unit(unit, object));
    }
    std::ranges::sort(out_.functions, {}, &MappedFunction::begin);
    return std::move(out_);
  }

 private:
  Result<void> add_unit(size_t unit, const NumberedObject& compiled) {
    const std::unique_ptr<ObjectFile> object =
        HEDDLE_TRY(open_object(llvm::MemoryBufferRef(compiled.bytes, program_.units()[unit].source)));
    const Holes holes = holes_of(*object);
    const std::multimap<std::string, FunctionBytes> functions = functions_of(*object);
    const std::unique_ptr<ObjectFile> labelled =
        HEDDLE_TRY(open_object(llvm::MemoryBufferRef(compiled.labelled, program_.units()[unit].source)));
    const std::multimap<std::string, FunctionBytes> labelled_functions = functions_of(*labelled);
    std::map<std::string, std::pair<uint64_t, uint64_t>> labels;  // section, address
    for (const llvm::object::ELFSymbolRef symbol : labelled->symbols()) {
      const auto name = value_of(symbol.getName());
      const auto section = value_of(symbol.getSection());
      const auto address = value_of(symbol.getAddress());
      if (name && section && *section != labelled->section_end() && address)
        labels[name->str()] = {(*section)->getIndex(), *address};
    }
    const std::unique_ptr<llvm::DWARFContext> debug = llvm::DWARFContext::create(*object);
    for (const auto& [name, function] : wanted_[unit]) {
      const auto ours = functions.find(name);
      const auto with_labels = labelled_functions.find(name);
      if (ours == functions.end() || with_labels == labelled_functions.end())
        continue;  // the compiler dropped it
      if (ours->second.bytes.size() != with_labels->second.bytes.size()) {
        out_.different.push_back(name);
        continue;
      }
      const FunctionBytes* theirs = find_in_app(name, ours->second, holes);
      if (theirs == nullptr) continue;
      MappedFunction mapped{
          .function = function, .begin = theirs->address, .end = theirs->address + theirs->bytes.size()};
      const uint64_t shift = theirs->address - ours->second.address;
      for (size_t i = 0; i < compiled.blocks.size(); ++i) {
        if (compiled.blocks[i].function != name) continue;
        const auto label = labels.find(block_label(i));
        if (label == labels.end() || label->second.first != with_labels->second.section) continue;
        mapped.blocks.push_back({.address = label->second.second - with_labels->second.address + mapped.begin,
                                 .block = compiled.blocks[i].block});
      }
      std::ranges::sort(mapped.blocks, {}, &MappedFunction::MachineBlock::address);
      add_rows(*debug, ours->second, shift, mapped);
      out_.functions.push_back(std::move(mapped));
    }
    return {};
  }

  // Local functions of several objects may have the same name; they follow each other as the objects do.
  const FunctionBytes* find_in_app(const std::string& name, const FunctionBytes& ours, const Holes& holes) {
    const auto [first, last] = app_functions_.equal_range(name);
    for (auto each = first; each != last; ++each) {
      if (used_.contains(each->second.address) || !same_code(ours, each->second, holes, 0)) continue;
      used_.insert(each->second.address);
      return &each->second;
    }
    if (first != last) out_.different.push_back(name);
    return nullptr;
  }

  static void add_rows(llvm::DWARFContext& debug, const FunctionBytes& ours, uint64_t shift,
                       MappedFunction& mapped) {
    for (const std::unique_ptr<llvm::DWARFUnit>& unit : debug.compile_units()) {
      const llvm::DWARFDebugLine::LineTable* table = debug.getLineTableForUnit(unit.get());
      if (table == nullptr) continue;
      for (const llvm::DWARFDebugLine::Row& row : table->Rows) {
        if (row.EndSequence || row.Address.SectionIndex != ours.section) continue;
        if (row.Address.Address < ours.address || row.Address.Address >= ours.address + ours.bytes.size())
          continue;
        const bool numbered = row.Column == kNumberedColumn && row.Line != 0;
        mapped.rows.push_back({.address = row.Address.Address + shift,
                               .instruction = numbered ? row.Line - 1 : MappedFunction::kNone});
      }
    }
    // Of several rows with one address the last one holds.
    std::vector<MappedFunction::Row> rows;
    for (size_t i = 0; i < mapped.rows.size(); ++i) {
      if (!rows.empty() && rows.back().address == mapped.rows[i].address) rows.pop_back();
      rows.push_back(mapped.rows[i]);
    }
    mapped.rows = std::move(rows);
  }

  const std::filesystem::path& binary_;
  const Program& program_;
  std::string app_bytes_;
  std::unique_ptr<ObjectFile> app_;
  std::multimap<std::string, FunctionBytes> app_functions_;
  std::set<uint64_t> used_;
  std::map<size_t, std::map<std::string, const llvm::Function*>> wanted_;  // by unit, by name there
  CodeMap out_;
};

}  // namespace

Result<CodeMap> build_code_map(const std::filesystem::path& binary, const Program& program) {
  return Builder(binary, program).build();
}

}  // namespace heddle
