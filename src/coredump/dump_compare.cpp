#include "coredump/dump_compare.h"

#include <fmt/core.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <unordered_map>

#include "program/frame_values.h"

namespace heddle {
namespace {

constexpr uint64_t kMostCompared = 4'000'000;  // words
constexpr uint64_t kMostOfBlock = 1 << 20;     // bytes of one block
constexpr uint64_t kUnknownBlock = 64;         // bytes looked at where nobody knows how large a block is
constexpr size_t kMostDifferences = 10'000;

std::string number_text(uint64_t value, uint64_t size, bool pointer) {
  if (pointer) return value == 0 ? "null" : fmt::format("{:#x}", value);
  const unsigned shift = size >= 8 ? 0 : 64 - static_cast<unsigned>(size) * 8;
  return std::to_string(static_cast<int64_t>(value << shift) >> shift);
}

// Fields have names where the program was compiled with -g.
std::string field_name(const llvm::DIType* type, uint64_t offset) {
  while (const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type)) type = derived->getBaseType();
  const auto* composite = llvm::dyn_cast_or_null<llvm::DICompositeType>(type);
  if (composite == nullptr) return "";
  if (composite->getTag() == llvm::dwarf::DW_TAG_array_type) {
    const llvm::DIType* element = composite->getBaseType();
    const uint64_t size = element != nullptr ? element->getSizeInBits() / 8 : 0;
    return size == 0 ? "" : fmt::format("[{}]{}", offset / size, field_name(element, offset % size));
  }
  for (const llvm::DINode* node : composite->getElements()) {
    const auto* member = llvm::dyn_cast_or_null<llvm::DIDerivedType>(node);
    if (member == nullptr || member->isStaticMember()) continue;
    const uint64_t begin = member->getOffsetInBits() / 8, size = member->getSizeInBits() / 8;
    if (offset < begin || offset >= begin + std::max<uint64_t>(size, 1)) continue;
    if (member->getTag() == llvm::dwarf::DW_TAG_inheritance)
      return field_name(member->getBaseType(), offset - begin);
    return "." + member->getName().str() + field_name(member->getBaseType(), offset - begin);
  }
  return "";
}

class Comparison {
 public:
  Comparison(const Program& program, const ComparedMemory& failing, const ComparedMemory& passing,
             const std::vector<ComparedLocal>& locals, const std::vector<MemoryRange>& left_out)
      : program_(program), failing_(failing), passing_(passing), locals_(locals), left_out_(left_out) {
    index(failing_, failing_names_);
    index(passing_, passing_names_);
    std::ranges::sort(left_out_, {}, &MemoryRange::begin);
  }

  DumpComparison run() {
    for (const ComparedLocal& local : locals_)
      if (const uint64_t size = variable_size(local))
        variables_.push_back({local.failing, local.passing, size});
    for (const llvm::GlobalVariable& variable : program_.module().globals()) compare_global(variable);
    for (const ComparedLocal& local : locals_) {
      own_ = local.own;
      compare_local(local);
    }
    own_ = true;
    if (failing_.argument && passing_.argument) follow(*failing_.argument, *passing_.argument, "argument");
    while (!open_.empty() && out_.compared < kMostCompared) {
      const Pair pair = std::move(open_.front());
      open_.pop_front();
      own_ = pair.own;
      compare_block(pair);
    }
    out_.complete = open_.empty();
    return std::move(out_);
  }

 private:
  struct Pair {
    uint64_t failing, passing;
    std::string path;
    bool own;
  };
  struct Variable {  // of a frame
    uint64_t failing, passing, size;
  };
  struct Names {
    std::unordered_map<std::string, const ElfSymbol*> unique;  // null: several of this name
    std::map<uint64_t, const ElfSymbol*> by_address;
  };

  static void index(const ComparedMemory& memory, Names& names) {
    for (const ElfSymbol& symbol : memory.variables) {
      const auto [found, fresh] = names.unique.try_emplace(symbol.name, &symbol);
      if (!fresh && found->second != nullptr && found->second->address != symbol.address)
        found->second = nullptr;
      names.by_address[symbol.address + memory.base] = &symbol;
    }
  }

  static const ElfSymbol* named(const Names& names, const std::string& name) {
    const auto found = names.unique.find(name);
    return found != names.unique.end() ? found->second : nullptr;
  }

  void compare_global(const llvm::GlobalVariable& variable) {
    if (variable.isDeclaration() || variable.isConstant() || variable.isThreadLocal() || !variable.hasName())
      return;
    const std::string name = variable.getName().str();
    const ElfSymbol* failing = named(failing_names_, name);
    const ElfSymbol* passing = named(passing_names_, name);
    if (failing == nullptr || passing == nullptr) return;
    const llvm::DIType* type = nullptr;
    llvm::SmallVector<llvm::DIGlobalVariableExpression*, 1> described;
    variable.getDebugInfo(described);
    if (!described.empty()) type = described[0]->getVariable()->getType();
    root_ = {name, type, failing->address + failing_.base, passing->address + passing_.base};
    compare_typed(variable.getValueType(), 0);
  }

  // Of a local variable that has its place in memory; 0: this is none.
  uint64_t variable_size(const ComparedLocal& local) const {
    const auto* place = llvm::dyn_cast<llvm::AllocaInst>(local.value);
    if (place == nullptr) return 0;
    const auto size = place->getAllocationSize(program_.module().getDataLayout());
    return size && !size->isScalable() ? size->getFixedValue() : 0;
  }

  void compare_local(const ComparedLocal& local) {
    const std::string name = frame_value_name(*local.value);
    if (const auto* place = llvm::dyn_cast<llvm::AllocaInst>(local.value)) {
      if (variable_size(local) == 0 || place->isArrayAllocation()) return;
      root_ = {name, nullptr, local.failing, local.passing};
      compare_typed(place->getAllocatedType(), 0);
      return;
    }
    ++out_.compared;
    const llvm::Type* type = local.value->getType();
    const uint64_t size = type->isPointerTy() ? 8 : (type->getIntegerBitWidth() + 7) / 8;
    const unsigned bits = type->isPointerTy() ? 64 : type->getIntegerBitWidth();
    const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    const uint64_t failing = local.failing & mask, passing = local.passing & mask;
    const bool same =
        type->isPointerTy() ? refer_to_the_same(failing, passing, [&] { return name; }) : failing == passing;
    if (!same) add(name, 0, size, failing, passing, type->isPointerTy());
  }

  // By the type that the program gives it: integers are never taken for pointers.
  void compare_typed(llvm::Type* type, uint64_t offset) {
    const llvm::DataLayout& layout = program_.module().getDataLayout();
    if (auto* structure = llvm::dyn_cast<llvm::StructType>(type)) {
      if (structure->isOpaque()) return;
      const llvm::StructLayout* fields = layout.getStructLayout(structure);
      for (unsigned i = 0; i < structure->getNumElements(); ++i)
        compare_typed(structure->getElementType(i), offset + fields->getElementOffset(i));
    } else if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
      const uint64_t size = layout.getTypeAllocSize(array->getElementType());
      for (uint64_t i = 0; i < array->getNumElements() && out_.compared < kMostCompared; ++i)
        compare_typed(array->getElementType(), offset + i * size);
    } else if (type->isSized()) {
      const uint64_t size = layout.getTypeStoreSize(type);
      for (uint64_t at = 0; at < size; at += 8)
        compare_scalar(root_.failing + offset + at, root_.passing + offset + at,
                       std::min<uint64_t>(8, size - at), type->isPointerTy(), [&] {
                         std::string field = field_name(root_.type, offset + at);
                         if (field.empty() && offset + at != 0) field = fmt::format("+{}", offset + at);
                         return root_.name + field;
                       });
    }
  }

  bool is_left_out(uint64_t address, uint64_t size) const {
    const auto behind = std::ranges::upper_bound(left_out_, address, {}, &MemoryRange::begin);
    return (behind != left_out_.begin() && address < std::prev(behind)->end) ||
           (behind != left_out_.end() && behind->begin < address + size);
  }

  template <class Path>
  void compare_scalar(uint64_t at_failing, uint64_t at_passing, uint64_t size, bool pointer, Path path) {
    if (is_left_out(at_passing, size)) return;
    uint64_t failing = 0, passing = 0;
    if (failing_.read(at_failing, &failing, size) != size || passing_.read(at_passing, &passing, size) != size)
      return;
    ++out_.compared;
    if (pointer) {
      if (refer_to_the_same(failing, passing, path)) return;
    } else if (failing == passing) {
      return;
    }
    add(path(), at_passing, size, failing, passing, pointer);
  }

  void add(std::string path, uint64_t address, uint64_t size, uint64_t failing, uint64_t passing,
           bool pointer) {
    if (out_.differences.size() < kMostDifferences)
      out_.differences.push_back({std::move(path), address, size, failing, passing, pointer, own_});
  }

  // Name and offset of a global variable or function; empty for everything else.
  static std::string global_at(const ComparedMemory& memory, const Names& names, uint64_t address) {
    if (address < memory.base || address >= memory.end) return "";
    const auto behind = names.by_address.upper_bound(address);
    if (behind == names.by_address.begin()) return "?";
    const auto& [begin, symbol] = *std::prev(behind);
    return address - begin < std::max<uint64_t>(symbol->size, 1)
               ? fmt::format("{}+{}", symbol->name, address - begin)
               : "?";
  }

  template <class Path>
  bool refer_to_the_same(uint64_t failing, uint64_t passing, Path path) {
    if (failing == 0 || passing == 0) return failing == passing;
    const std::string one = global_at(failing_, failing_names_, failing),
                      other = global_at(passing_, passing_names_, passing);
    if (one == "?" || other == "?") return one == other;  // code, constants without a name
    if (!one.empty() || !other.empty()) return one == other;
    for (const Variable& variable : variables_) {
      const bool here = failing - variable.failing < variable.size,
                 there = passing - variable.passing < variable.size;
      if (here || there) return here && there && failing - variable.failing == passing - variable.passing;
    }
    return follow(failing, passing, path());
  }

  // A pair of blocks is compared once. A block that another path of the passing run led to must be the same one
  // in the failing run.
  bool follow(uint64_t failing, uint64_t passing, std::string path) {
    const auto [found, fresh] = pairs_.try_emplace(passing, failing);
    if (fresh) open_.push_back({failing, passing, "*" + path, own_});
    return found->second == failing;
  }

  bool is_pointer(const ComparedMemory& memory, uint64_t value) const {
    char byte;
    return value >= 65536 && value < (uint64_t{1} << 47) && memory.read(value, &byte, 1) == 1;
  }

  void compare_block(const Pair& pair) {
    ++out_.blocks;
    const uint64_t known_failing = failing_.block_size(pair.failing),
                   known_passing = passing_.block_size(pair.passing);
    uint64_t size = kUnknownBlock;
    if (known_failing != 0 && known_passing != 0) size = std::min({known_failing, known_passing, kMostOfBlock});
    // Where the block is inside another (a list head in a struct on a stack), what lies behind it may be
    // anything.
    for (uint64_t at = 0; at + 8 <= size && out_.compared < kMostCompared; at += 8) {
      const auto path = [&] { return at == 0 ? pair.path : fmt::format("{}+{}", pair.path, at); };
      uint64_t failing = 0, passing = 0;
      if (is_left_out(pair.passing + at, 8)) continue;
      if (failing_.read(pair.failing + at, &failing, 8) != 8 ||
          passing_.read(pair.passing + at, &passing, 8) != 8)
        return;
      const bool pointers =
          (is_pointer(failing_, failing) || failing == 0) && (is_pointer(passing_, passing) || passing == 0);
      if (pointers && (failing != 0 || passing != 0)) {
        compare_scalar(pair.failing + at, pair.passing + at, 8, true, path);
      } else {
        compare_scalar(pair.failing + at, pair.passing + at, 4, false, path);
        compare_scalar(pair.failing + at + 4, pair.passing + at + 4, 4, false,
                       [&] { return fmt::format("{}+{}", pair.path, at + 4); });
      }
    }
  }

  struct Root {
    std::string name;
    const llvm::DIType* type = nullptr;
    uint64_t failing = 0, passing = 0;
  };

  const Program& program_;
  const ComparedMemory& failing_;
  const ComparedMemory& passing_;
  const std::vector<ComparedLocal>& locals_;
  std::vector<Variable> variables_;
  std::vector<MemoryRange> left_out_;
  Names failing_names_, passing_names_;
  Root root_;
  bool own_ = false;                              // what is compared now
  std::unordered_map<uint64_t, uint64_t> pairs_;  // passing: failing
  std::deque<Pair> open_;
  DumpComparison out_;
};

}  // namespace

std::string MemoryDifference::failing_text() const {
  return number_text(failing, size, pointer);
}

std::string MemoryDifference::passing_text() const {
  return number_text(passing, size, pointer);
}

DumpComparison compare_memory(const Program& program, const ComparedMemory& failing,
                              const ComparedMemory& passing, const std::vector<ComparedLocal>& locals,
                              const std::vector<MemoryRange>& left_out) {
  return Comparison(program, failing, passing, locals, left_out).run();
}

}  // namespace heddle
