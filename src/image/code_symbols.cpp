#include "image/code_symbols.h"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "image/elf_file.h"

namespace heddle {
namespace {

constexpr uint64_t kUnsizedFunction = 1 << 16;

// A compilation unit and one of the ranges of its code.
struct UnitRange {
  uint64_t begin = 0, end = 0;
  Dwarf_Die unit{};
};

bool holds(Dwarf_Die& die, uint64_t address) {
  return dwarf_haspc(&die, address) > 0;
}

bool holds_functions(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type ||
         tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

// The function whose code holds the address, among what stands in `scope`.
bool find_function(Dwarf_Die& scope, uint64_t address, Dwarf_Die& found) {
  Dwarf_Die child;
  if (dwarf_child(&scope, &child) != 0) return false;
  do {
    const int tag = dwarf_tag(&child);
    if (tag == DW_TAG_subprogram && holds(child, address)) {
      found = child;
      return true;
    }
    if (holds_functions(tag) && find_function(child, address, found)) return true;
  } while (dwarf_siblingof(&child, &child) == 0);
  return false;
}

// The function and what is inlined in it at the address, innermost first; empty when it is not described.
// (dwarf_getscopes() of libdw 0.188 gives up on some units that clang writes.)
std::vector<Dwarf_Die> function_scopes(Dwarf_Die& unit, uint64_t address) {
  std::vector<Dwarf_Die> scopes;
  Dwarf_Die scope;
  for (bool more = find_function(unit, address, scope); more;) {
    if (dwarf_tag(&scope) != DW_TAG_lexical_block) scopes.insert(scopes.begin(), scope);
    Dwarf_Die child;
    more = dwarf_child(&scope, &child) == 0;
    while (more) {
      const int tag = dwarf_tag(&child);
      if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) && holds(child, address)) break;
      more = dwarf_siblingof(&child, &child) == 0;
    }
    scope = child;
  }
  return scopes;
}

std::string function_name(Dwarf_Die& die) {
  Dwarf_Attribute attribute;
  for (const unsigned int linkage : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (dwarf_attr_integrate(&die, linkage, &attribute) == nullptr) continue;
    if (const char* name = dwarf_formstring(&attribute); name != nullptr) return demangled(name);
  }
  const char* name = dwarf_diename(&die);
  return name != nullptr ? name : "";
}

std::string unit_folder(Dwarf_Die& unit) {
  Dwarf_Attribute attribute;
  if (dwarf_attr(&unit, DW_AT_comp_dir, &attribute) == nullptr) return "";
  const char* folder = dwarf_formstring(&attribute);
  return folder != nullptr ? folder : "";
}

std::string absolute(Dwarf_Die& unit, const char* file) {
  if (file == nullptr) return "";
  const std::filesystem::path path(file);
  return (path.is_absolute() ? path : unit_folder(unit) / path).lexically_normal();
}

// Where the inlined function stands in its caller.
void call_place(Dwarf_Die& unit, Dwarf_Die& inlined, CodeFrame& caller) {
  Dwarf_Attribute attribute;
  Dwarf_Word line = 0, file = 0;
  Dwarf_Files* files = nullptr;
  if (dwarf_formudata(dwarf_attr(&inlined, DW_AT_call_line, &attribute), &line) == 0)
    caller.line = static_cast<uint32_t>(line);
  if (dwarf_formudata(dwarf_attr(&inlined, DW_AT_call_file, &attribute), &file) == 0 &&
      dwarf_getsrcfiles(&unit, &files, nullptr) == 0)
    caller.file = absolute(unit, dwarf_filesrc(files, file, nullptr, nullptr));
}

}  // namespace

std::string demangled_type(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0) return name;
  // Where arguments of templates end, LLVM's demangler, whose names these are compared with, puts no space.
  std::string out = text.get();
  for (size_t at = 0; (at = out.find("> >", at)) != std::string::npos;) out.erase(at + 1, 1);
  return out;
}

std::string demangled(const std::string& name) {
  return name.starts_with("_Z") ? demangled_type(name) : name;
}

struct CodeSymbols::Data {
  int fd = -1;
  Dwarf* dwarf = nullptr;
  std::vector<UnitRange> units;      // by address
  std::vector<ElfSymbol> functions;  // by address
  std::mutex lock;                   // libdw reads on when it is asked, for one thread at a time

  ~Data() {
    if (dwarf != nullptr) dwarf_end(dwarf);
    if (fd >= 0) ::close(fd);
  }

  // clang writes no table of the units' addresses (.debug_aranges): made here from their ranges.
  void read_units() {
    Dwarf_CU* unit = nullptr;
    Dwarf_Die die;
    while (dwarf != nullptr && dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
      Dwarf_Addr base = 0, begin = 0, end = 0;
      for (ptrdiff_t next = 0; (next = dwarf_ranges(&die, next, &base, &begin, &end)) > 0;)
        if (begin != 0 && begin < end) units.push_back({begin, end, die});
    }
    // (Code that the linker dropped begins at 0.)
    std::ranges::sort(units, {}, &UnitRange::begin);
  }

  UnitRange* unit_at(uint64_t address) {
    const auto after = std::ranges::upper_bound(units, address, {}, &UnitRange::begin);
    if (after == units.begin() || address >= std::prev(after)->end) return nullptr;
    return &*std::prev(after);
  }

  // Frames by debug information; empty when there is none for this address.
  std::vector<CodeFrame> debug_frames(uint64_t address) {
    const std::scoped_lock held(lock);
    UnitRange* range = unit_at(address);
    if (range == nullptr) return {};
    Dwarf_Die& unit = range->unit;
    std::vector<CodeFrame> frames;
    CodeFrame next;
    if (Dwarf_Line* line = dwarf_getsrc_die(&unit, address); line != nullptr) {
      int number = 0;
      dwarf_lineno(line, &number);
      next.line = static_cast<uint32_t>(number);
      if (number != 0) next.file = absolute(unit, dwarf_linesrc(line, nullptr, nullptr));
    }
    for (Dwarf_Die& scope : function_scopes(unit, address)) {
      next.function = function_name(scope);
      frames.push_back(std::exchange(next, {}));
      if (dwarf_tag(&scope) == DW_TAG_inlined_subroutine) call_place(unit, scope, next);
    }
    // With line tables only, functions without inlined ones are not described: the symbol has the name.
    if (frames.empty() && next.line != 0) frames.push_back(next);
    return frames;
  }
};

CodeSymbols::CodeSymbols(std::unique_ptr<Data> data) : data_(std::move(data)) {}
CodeSymbols::CodeSymbols(CodeSymbols&&) noexcept = default;
CodeSymbols& CodeSymbols::operator=(CodeSymbols&&) noexcept = default;
CodeSymbols::~CodeSymbols() = default;

Result<CodeSymbols> CodeSymbols::open(const std::filesystem::path& executable) {
  auto data = std::make_unique<Data>();
  const ElfFile elf = HEDDLE_TRY(ElfFile::open(executable));
  data->functions = elf.functions();
  std::ranges::sort(data->functions, {}, [](const ElfSymbol& f) { return std::pair(f.address, f.name); });
  data->fd = ::open(executable.c_str(), O_RDONLY | O_CLOEXEC);
  if (data->fd < 0) return system_error("cannot open " + executable.string(), "");
  data->dwarf = dwarf_begin(data->fd, DWARF_C_READ);  // null when there is no debug information
  data->read_units();
  return CodeSymbols(std::move(data));
}

std::string CodeSymbols::symbol_at(uint64_t address) const {
  const auto after = std::ranges::upper_bound(data_->functions, address, {}, &ElfSymbol::address);
  for (auto at = after; at != data_->functions.begin();) {
    --at;
    // Assembly may leave the size out: then the function reaches to the next one, but not everywhere.
    const uint64_t distance = address - at->address;
    const bool unsized = at->size == 0 && std::next(at) == after && distance < kUnsizedFunction;
    if (distance < at->size || unsized) return at->name;
    if (at->address != std::prev(after)->address) break;
  }
  return "";
}

std::vector<CodeFrame> CodeSymbols::frames_at(uint64_t address) const {
  std::vector<CodeFrame> frames = data_->debug_frames(address);
  const std::string symbol = symbol_at(address);
  if (frames.empty() && !symbol.empty()) frames.push_back({.function = demangled(symbol)});
  if (!frames.empty() && frames.back().function.empty()) frames.back().function = demangled(symbol);
  return frames;
}

}  // namespace heddle
