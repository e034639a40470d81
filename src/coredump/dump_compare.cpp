#include "coredump/dump_compare.h"

#include <fmt/core.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>

#include "coredump/reference_path.h"
#include "coredump/std_container.h"
#include "program/frame_values.h"

namespace heddle {
namespace {

namespace dwarf = llvm::dwarf;

constexpr uint64_t kMostCompared = 4'000'000;  // words
constexpr uint64_t kMostOfBlock = 1 << 20;     // bytes of one block
constexpr uint64_t kUnknownBlock = 64;         // bytes looked at where nobody knows how large a block is
constexpr uint64_t kShownText = 40;            // characters
constexpr size_t kMostDifferences = 10'000;
constexpr unsigned kMostDepth = 64;  // of types inside types

using Path = ReferencePath;

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kShownText))
    out += c >= 32 && c < 127 ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return out + (text.size() > kShownText ? "\"..." : "\"");
}

bool is_structure(const llvm::DIType* type) {
  return type != nullptr &&
         (type->getTag() == dwarf::DW_TAG_structure_type || type->getTag() == dwarf::DW_TAG_class_type);
}

bool is_character(const llvm::DIType* type) {
  const auto* basic = llvm::dyn_cast_or_null<llvm::DIBasicType>(type);
  return basic != nullptr && basic->getSizeInBits() == 8 &&
         (basic->getEncoding() == dwarf::DW_ATE_signed_char ||
          basic->getEncoding() == dwarf::DW_ATE_unsigned_char);
}

// Who a thread is called by the system says nothing.
bool names_thread(const llvm::DIType* type) {
  for (const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type); derived != nullptr;
       derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(derived->getBaseType()))
    if (derived->getTag() == dwarf::DW_TAG_typedef && derived->getName() == "pthread_t") return true;
  return false;
}

class Comparison {
 public:
  Comparison(const Program& program, const ComparedMemory& failing, const ComparedMemory& passing,
             const std::vector<ComparedLocal>& locals, const std::vector<MemoryRange>& left_out,
             const llvm::DIType* argument_type)
      : program_(program),
        failing_(failing),
        passing_(passing),
        locals_(locals),
        argument_type_(argument_type),
        left_out_(left_out),
        types_(program.module()) {
    index(failing_, failing_names_);
    index(passing_, passing_names_);
    std::ranges::sort(left_out_, {}, &MemoryRange::begin);
  }

  DumpComparison run() {
    for (const ComparedLocal& local : locals_)
      if (const uint64_t size = variable_size(local))
        variables_.push_back({local.failing, local.passing, size});
    for (const llvm::GlobalVariable& variable : program_.module().globals()) compare_global(variable);
    compare_blocks();  // what globals lead to is called after them
    for (const ComparedLocal& local : locals_) {
      own_ = local.own;
      compare_local(local);
    }
    own_ = true;
    if (failing_.argument && passing_.argument)
      refer_to_the_same(*failing_.argument, *passing_.argument, types_.pointee(argument_type_),
                        Path::root("argument"), 0);
    compare_blocks();
    return std::move(out_);
  }

 private:
  struct Pair {
    uint64_t failing, passing;
    std::string path;  // of the pointer
    uint64_t pointer;  // where it is in the passing run; 0: not in memory
    const llvm::DIType* type;
    bool own;
  };
  struct Met {
    uint64_t failing;
    bool typed, compared;
  };
  struct Variable {  // of a frame
    uint64_t failing, passing, size;
  };
  struct Names {
    std::unordered_map<std::string, const ElfSymbol*> unique;  // null: several of this name
    std::map<uint64_t, const ElfSymbol*> by_address;
  };
  // The same place in both.
  struct Place {
    uint64_t failing, passing;
    Place behind(uint64_t bytes) const { return {failing + bytes, passing + bytes}; }
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
    const Place place{failing->address + failing_.base, passing->address + passing_.base};
    llvm::SmallVector<llvm::DIGlobalVariableExpression*, 1> described;
    variable.getDebugInfo(described);
    const uint64_t size = program_.module().getDataLayout().getTypeAllocSize(variable.getValueType());
    for (const llvm::DIGlobalVariableExpression* one : described) {
      if (one->getExpression()->getNumElements() != 0 || types_.size(one->getVariable()->getType()) != size)
        continue;  // a part of a variable that was split
      const std::string shown = one->getVariable()->getName().str();
      compare(one->getVariable()->getType(), place, size, Path::root(shown.empty() ? name : shown));
      return;
    }
    compare_untyped(variable.getValueType(), place, 0, Path::root(name));
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
    const Path path = Path::root(name);
    const llvm::DIType* described = frame_value_type(*local.value);
    if (const auto* place = llvm::dyn_cast<llvm::AllocaInst>(local.value)) {
      const uint64_t bytes = variable_size(local);
      if (bytes == 0 || place->isArrayAllocation() || is_temporary(*place)) return;
      if (types_.size(described) == bytes)
        compare(described, {local.failing, local.passing}, bytes, path);
      else
        compare_untyped(place->getAllocatedType(), {local.failing, local.passing}, 0, path);
      return;
    }
    ++out_.compared;
    const llvm::Type* type = local.value->getType();
    const bool pointer = type->isPointerTy();
    const unsigned bits = pointer ? 64 : type->getIntegerBitWidth();
    const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    const uint64_t failing = local.failing & mask, passing = local.passing & mask;
    const bool same =
        pointer ? refer_to_the_same(failing, passing, types_.pointee(described), path, 0) : failing == passing;
    if (!same) add(path, 0, (bits + 7) / 8, failing, passing, pointer, described);
  }

  // By the type that the program itself gives it: integers are never taken for pointers.
  void compare_untyped(llvm::Type* type, Place place, uint64_t offset, const Path& path) {
    const llvm::DataLayout& layout = program_.module().getDataLayout();
    if (auto* structure = llvm::dyn_cast<llvm::StructType>(type)) {
      if (structure->isOpaque()) return;
      const llvm::StructLayout* fields = layout.getStructLayout(structure);
      for (unsigned i = 0; i < structure->getNumElements(); ++i)
        compare_untyped(structure->getElementType(i), place, offset + fields->getElementOffset(i), path);
    } else if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
      const uint64_t size = layout.getTypeAllocSize(array->getElementType());
      for (uint64_t i = 0; i < array->getNumElements() && out_.compared < kMostCompared; ++i)
        compare_untyped(array->getElementType(), place, offset + i * size, path);
    } else if (type->isSized()) {
      const uint64_t size = layout.getTypeStoreSize(type);
      for (uint64_t at = offset; at < offset + size; at += 8)
        compare_scalar(place.behind(at), std::min<uint64_t>(8, offset + size - at), type->isPointerTy(),
                       nullptr, at == 0 ? path : Path::offset(path, at));
    }
  }

  // By the type that debug information gives it. `room`: bytes of memory from here on.
  void compare(const llvm::DIType* declared, Place place, uint64_t room, const Path& path) {
    const llvm::DIType* type = types_.resolve(declared);
    const uint64_t size = types_.size(type);
    if (type == nullptr || path.depth() > kMostDepth || out_.compared >= kMostCompared ||
        names_thread(declared))
      return;
    const auto* composite = llvm::dyn_cast<llvm::DICompositeType>(type);
    if (composite == nullptr || composite->getTag() == dwarf::DW_TAG_enumeration_type) {
      if (size <= 8)
        compare_scalar(place, size, types_.is_pointer(type), declared, path);
      else
        compare_words(place, size, path);
      return;
    }
    if (composite->getTag() == dwarf::DW_TAG_array_type) {
      const std::vector<uint64_t> counts = dimensions(*composite);
      compare_array(composite->getBaseType(), counts, 0, place, room, path);
    } else if (!compare_std_class(type, place, path)) {
      if (is_structure(type) && !composite->isForwardDecl())
        compare_members(*composite, place, room, path);
      else
        compare_words(place, std::min(size, room), path);  // a union, or of an unknown type
    }
  }

  void compare_array(const llvm::DIType* element, const std::vector<uint64_t>& counts, size_t dimension,
                     Place place, uint64_t room, const Path& path) {
    uint64_t each = types_.size(element);
    for (size_t i = dimension + 1; i < counts.size(); ++i) each *= counts[i];
    if (each == 0 || dimension >= counts.size()) return;
    const uint64_t count = counts[dimension] != 0 ? std::min(counts[dimension], room / each) : room / each;
    const bool last = dimension + 1 == counts.size();
    if (last && is_character(types_.resolve(element))) return compare_text(place, count, path);
    for (uint64_t i = 0; i < count && out_.compared < kMostCompared; ++i) {
      const Path item = Path::element(path, i);
      if (last)
        compare(element, place.behind(i * each), each, item);
      else
        compare_array(element, counts, dimension + 1, place.behind(i * each), each, item);
    }
  }

  void compare_members(const llvm::DICompositeType& type, Place place, uint64_t room, const Path& path) {
    const std::vector<DebugMember> members = types_.members(type);
    const auto named = std::ranges::count_if(members, [](const DebugMember& m) { return !m.name.empty(); });
    for (const DebugMember& member : members) {
      // What only wraps something else (atomic<int>, unique_ptr<T>) is called like it.
      const bool wraps = named == 1 && member.name.starts_with("_M_");
      const Path inner = member.name.empty() || wraps ? path : Path::member(path, member.name);
      if (member.bits != 0)
        compare_bits(member, place.behind(member.offset), inner);
      else if (member.offset <= room)
        compare(member.type, place.behind(member.offset), room - member.offset, inner);
    }
  }

  void compare_bits(const DebugMember& member, Place place, const Path& path) {
    uint64_t failing = 0, passing = 0;
    if (member.size > 8 || !read(place, member.size, failing, passing)) return;
    const uint64_t mask = member.bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << member.bits) - 1;
    failing = failing >> member.bit & mask;
    passing = passing >> member.bit & mask;
    if (failing != passing)
      add(path, place.passing, member.size, failing, passing, false, member.type, member.bit);
  }

  bool read(Place place, uint64_t size, uint64_t& failing, uint64_t& passing) {
    if (is_left_out(place.passing, size) || failing_.read(place.failing, &failing, size) != size ||
        passing_.read(place.passing, &passing, size) != size)
      return false;
    ++out_.compared;
    return true;
  }

  bool is_left_out(uint64_t address, uint64_t size) const {
    const auto behind = std::ranges::upper_bound(left_out_, address, {}, &MemoryRange::begin);
    return (behind != left_out_.begin() && address < std::prev(behind)->end) ||
           (behind != left_out_.end() && behind->begin < address + size);
  }

  void compare_scalar(Place place, uint64_t size, bool pointer, const llvm::DIType* type, const Path& path) {
    uint64_t failing = 0, passing = 0;
    if (size == 0 || !read(place, size, failing, passing)) return;
    if (pointer ? refer_to_the_same(failing, passing, types_.pointee(type), path, place.passing)
                : failing == passing)
      return;
    add(path, place.passing, size, failing, passing, pointer, type);
  }

  // Without a type.
  void compare_words(Place place, uint64_t size, const Path& path, uint64_t from = 0) {
    for (uint64_t at = from; at < size && out_.compared < kMostCompared; at += 8) {
      const uint64_t bytes = std::min<uint64_t>(8, size - at);
      const Path here = at == 0 ? path : Path::offset(path, at);
      uint64_t failing = 0, passing = 0;
      if (is_left_out(place.passing + at, bytes)) continue;
      if (failing_.read(place.failing + at, &failing, bytes) != bytes ||
          passing_.read(place.passing + at, &passing, bytes) != bytes)
        return;
      const bool pointers = bytes == 8 && (is_readable(failing_, failing) || failing == 0) &&
                            (is_readable(passing_, passing) || passing == 0);
      if (bytes < 8 || (pointers && (failing != 0 || passing != 0))) {
        compare_scalar(place.behind(at), bytes, pointers, nullptr, here);
      } else {
        compare_scalar(place.behind(at), 4, false, nullptr, here);
        compare_scalar(place.behind(at + 4), 4, false, nullptr, Path::offset(path, at + 4));
      }
    }
  }

  // Characters up to the zero that ends them in both; other bytes one by one.
  void compare_text(Place place, uint64_t size, const Path& path) {
    size = std::min(size, kMostOfBlock);
    std::string failing(size, '\0'), passing(size, '\0');
    failing.resize(failing_.read(place.failing, failing.data(), size));
    passing.resize(passing_.read(place.passing, passing.data(), size));
    if (is_left_out(place.passing, size)) return;
    out_.compared += size;
    const auto printable = [](std::string_view text) {
      return std::ranges::all_of(text, [](char c) { return (c >= 32 && c < 127) || (c >= '\t' && c <= '\r'); });
    };
    const std::string failing_text = failing.substr(0, failing.find('\0')),
                      passing_text = passing.substr(0, passing.find('\0'));
    if (printable(failing_text) && printable(passing_text)) {
      if (failing_text.empty() && passing_text.empty()) return;
      return add_text(path, place.passing, failing_text, passing_text);
    }
    for (uint64_t at = 0; at < std::min(failing.size(), passing.size()); ++at)
      if (failing[at] != passing[at])
        add(Path::element(path, at), place.passing + at, 1, static_cast<uint8_t>(failing[at]),
            static_cast<uint8_t>(passing[at]), false, nullptr);
  }

  void add_text(const Path& path, uint64_t address, std::string_view failing, std::string_view passing) {
    if (failing == passing) return;
    const auto differs = std::ranges::mismatch(failing, passing);
    const auto at = static_cast<uint64_t>(differs.in1 - failing.begin());
    add(path, address + at, std::max(failing.size(), passing.size()) - at + 1, 0, 0, false, nullptr);
    if (out_.differences.empty() || out_.differences.back().address != address + at) return;
    out_.differences.back().failing_text = quoted(failing);
    out_.differences.back().passing_text = quoted(passing);
    out_.differences.back().elements = out_.differences.back().size;
  }

  // Classes of the library whose memory says more than their members. False: this is none of them.
  bool compare_std_class(const llvm::DIType* type, Place place, const Path& path) {
    const std::string name = std_class(type);
    if (name.empty()) return false;
    if (name == "basic_string") {
      const std::optional<std::string> failing = std_string_at(place.failing, failing_.read),
                                       passing = std_string_at(place.passing, passing_.read);
      uint64_t characters = 0;
      if (!failing || !passing || passing_.read(place.passing, &characters, 8) != 8) return false;
      compare_scalar(place.behind(8), 8, false, nullptr, Path::member(path, "size()"));
      add_text(path, characters, *failing, *passing);
      return true;
    }
    if (name == "shared_ptr" || name == "weak_ptr" || name == "__shared_ptr") {
      const auto* composite = llvm::cast<llvm::DICompositeType>(type);
      const llvm::DITemplateParameterArray arguments = composite->getTemplateParams();
      const auto* to = arguments && arguments.size() != 0
                           ? llvm::dyn_cast_or_null<llvm::DITemplateTypeParameter>(arguments[0])
                           : nullptr;
      uint64_t failing = 0, passing = 0;
      if (!read(place, 8, failing, passing)) return true;
      if (!refer_to_the_same(failing, passing, to != nullptr ? types_.resolve(to->getType()) : nullptr, path,
                             place.passing))
        add(path, place.passing, 8, failing, passing, true, type);
      if (!read(place.behind(8), 8, failing, passing) || failing == 0 || passing == 0) return true;
      meet(failing, passing);  // what counts the owners
      compare_scalar({failing + 8, passing + 8}, 4, false, nullptr, Path::member(path, "use_count()"));
      compare_scalar({failing + 12, passing + 12}, 4, false, nullptr, Path::member(path, "weak_count()"));
      return true;
    }
    const std::optional<StdContainer> failing = std_container_at(type, place.failing, types_, failing_.read),
                                      passing = std_container_at(type, place.passing, types_, passing_.read);
    if (!failing || !passing) return false;
    compare_items(*failing, *passing, place, path);
    return true;
  }

  void compare_items(const StdContainer& failing, const StdContainer& passing, Place place, const Path& path) {
    const uint64_t size_at = place.passing + passing.size_offset;
    ++out_.compared;
    if (failing.size != passing.size)
      add(Path::member(path, "size()"), size_at, 8, failing.size, passing.size, false, nullptr);
    std::multimap<std::string, const ContainerItem*> by_key;
    for (const ContainerItem& item : failing.items)
      if (!item.key.empty()) by_key.emplace(item.key, &item);
    struct Both {
      const ContainerItem *failing, *passing;
      uint64_t number;
    };
    std::vector<Both> both;
    for (size_t i = 0; i < passing.items.size(); ++i) {
      const ContainerItem& item = passing.items[i];
      const ContainerItem* other = nullptr;
      if (item.key.empty()) {
        other = i < failing.items.size() ? &failing.items[i] : nullptr;
      } else if (const auto found = by_key.find(item.key); found != by_key.end()) {
        other = found->second;
        by_key.erase(found);
      } else {
        add(Path::key(path, item.key), size_at, 8, 0, item.value, true, nullptr);
      }
      if (other != nullptr) both.push_back({other, &item, i});
    }
    for (const auto& [key, item] : by_key) add(Path::key(path, key), size_at, 8, item->value, 0, true, nullptr);
    // Who belongs to whom is known before the links are compared.
    for (const Both& item : both)
      if (item.passing->node != 0) meet(item.failing->node, item.passing->node);
    for (const Both& item : both) {
      const Path here =
          item.passing->key.empty() ? Path::element(path, item.number) : Path::key(path, item.passing->key);
      for (unsigned link = passing.first_link; link < passing.links; ++link)
        compare_scalar({item.failing->node + 8 * link, item.passing->node + 8 * link}, 8, true, nullptr,
                       Path::member(here, passing.links == 1   ? "(next)"
                                          : passing.links == 2 ? (link == 0 ? "(next)" : "(previous)")
                                          : link == 1          ? "(parent)"
                                          : link == 2          ? "(left)"
                                                               : "(right)"));
      compare(passing.element, {item.failing->value, item.passing->value}, types_.size(passing.element), here);
    }
    // The container's own links.
    if (passing.links == 0) return;
    for (uint64_t at = passing.first_link != 0 ? 16 : 0; at < passing.size_offset; at += 8)
      if (passing.links != 1 || at == 16)
        compare_scalar(place.behind(at), 8, true, nullptr,
                       Path::member(path, passing.links == 4 ? (at == 16   ? "(root)"
                                                                : at == 24 ? "(first)"
                                                                           : "(last)")
                                          : at == 8          ? "(last)"
                                                             : "(first)"));
  }

  void add(const Path& path, uint64_t address, uint64_t size, uint64_t failing, uint64_t passing, bool pointer,
           const llvm::DIType* type, unsigned bit = 0) {
    // Another path may have led here before.
    if (address != 0 && !reported_.emplace(address, bit).second) return;
    if (out_.differences.size() >= kMostDifferences) return;
    const auto text = [&](uint64_t value) {
      if (pointer) return value == 0 ? std::string("null") : fmt::format("{:#x}", value);
      return value_text(types_.resolve(type), value, size);
    };
    out_.differences.push_back({.path = path.text(),
                                .address = address,
                                .size = size,
                                .failing = failing,
                                .passing = passing,
                                .pointer = pointer,
                                .own = own_,
                                .type = type_text(type),
                                .failing_text = text(failing),
                                .passing_text = text(passing)});
  }

  // The variable there; null: none is known.
  static const ElfSymbol* symbol_at(const Names& names, uint64_t address) {
    const auto behind = names.by_address.upper_bound(address);
    if (behind == names.by_address.begin()) return nullptr;
    const auto& [begin, symbol] = *std::prev(behind);
    return address - begin < std::max<uint64_t>(symbol->size, 1) ? symbol : nullptr;
  }

  // Name and offset of a global variable or function; empty for everything else.
  static std::string global_at(const ComparedMemory& memory, const Names& names, uint64_t address) {
    if (address < memory.base || address >= memory.end) return "";
    const ElfSymbol* symbol = symbol_at(names, address);
    return symbol != nullptr ? fmt::format("{}+{}", symbol->name, address - memory.base - symbol->address)
                             : "?";
  }

  // `at`: where the pointer is in the passing run; 0: not in memory.
  bool refer_to_the_same(uint64_t failing, uint64_t passing, const llvm::DIType* type, const Path& path,
                         uint64_t at) {
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
    // What was never set leads nowhere, in both.
    const bool readable = is_readable(failing_, failing);
    if (readable != is_readable(passing_, passing)) return false;
    return readable ? follow(failing, passing, type, path, at) : true;
  }

  // A pair of blocks is compared once. A block that another path of the passing run led to must be the same one
  // in the failing run.
  bool follow(uint64_t failing, uint64_t passing, const llvm::DIType* type, const Path& path, uint64_t at) {
    const auto [found, fresh] = met_.try_emplace(passing, Met{failing, type != nullptr, false});
    const bool better = !fresh && !found->second.typed && !found->second.compared && type != nullptr;
    if (found->second.failing != failing) return false;
    if (!fresh && !better) return true;
    found->second.typed = type != nullptr;
    (type != nullptr ? typed_ : untyped_).push_back({failing, passing, path.text(), at, type, own_});
    return true;
  }

  // They belong together, and are compared by whoever says so.
  void meet(uint64_t failing, uint64_t passing) { met_.try_emplace(passing, Met{failing, true, true}); }

  bool is_readable(const ComparedMemory& memory, uint64_t value) const {
    char byte;
    return value >= 65536 && value < (uint64_t{1} << 47) && memory.read(value, &byte, 1) == 1;
  }

  // Those with a type first: the same block may be known by another path only as some memory.
  void compare_blocks() {
    while (out_.compared < kMostCompared && !(typed_.empty() && untyped_.empty())) {
      std::deque<Pair>& open = typed_.empty() ? untyped_ : typed_;
      const Pair pair = std::move(open.front());
      open.pop_front();
      bool& compared = met_.at(pair.passing).compared;
      if (compared) continue;
      compared = true;
      own_ = pair.own;
      const size_t first = out_.differences.size();
      compare_block(pair);
      if (pair.pointer != 0 && out_.differences.size() != first)
        out_.blocks_that_differ.push_back({.pointer = {.path = pair.path,
                                                       .address = pair.pointer,
                                                       .size = 8,
                                                       .failing = pair.failing,
                                                       .passing = pair.passing,
                                                       .pointer = true,
                                                       .own = pair.own,
                                                       .type = {},
                                                       .failing_text = fmt::format("{:#x}", pair.failing),
                                                       .passing_text = fmt::format("{:#x}", pair.passing)},
                                           .first = first,
                                           .end = out_.differences.size()});
    }
    out_.complete = typed_.empty() && untyped_.empty();
  }

  void compare_block(const Pair& pair) {
    ++out_.blocks;
    const uint64_t known_failing = failing_.block_size(pair.failing),
                   known_passing = passing_.block_size(pair.passing);
    const bool known = known_failing != 0 && known_passing != 0;
    const uint64_t room =
        known ? std::min({known_failing, known_passing, kMostOfBlock}) : uint64_t{kUnknownBlock};
    const Place place{pair.failing, pair.passing};
    const Path path = Path::pointer(pair.path);
    const llvm::DIType* type = is_structure(pair.type) ? dynamic_type(pair.type, place) : pair.type;
    const uint64_t size = types_.size(type);
    // Where the block is inside another (a list head in a struct on a stack), what lies behind it may be
    // anything.
    if (size == 0 && !is_character(type)) return compare_words(place, room / 8 * 8, path);
    if (is_character(type)) return compare_text(place, known ? room : 256, path);
    // Elements behind the first; but nodes of linked structures come one by one, and what is behind the type of
    // one is the rest of a larger type.
    const bool node = is_structure(type) && is_node(type);
    const uint64_t count = known && !node ? std::max<uint64_t>(room / size, 1) : 1;
    for (uint64_t i = 0; i < count && out_.compared < kMostCompared; ++i) {
      const bool plain = i == 0 && !types_.is_pointer(type);
      compare(type, place.behind(i * size), count == 1 && known ? std::max(room, size) : size,
              plain ? path : Path::element(path, i));
    }
    if (node && known) compare_words(place, room / 8 * 8, path, (size + 7) / 8 * 8);
  }

  // Has pointers to its like.
  bool is_node(const llvm::DIType* type, unsigned depth = 0) const {
    if (depth > 4) return false;
    for (const DebugMember& member : types_.members(*llvm::cast<llvm::DICompositeType>(type))) {
      if (types_.is_pointer(member.type) && types_.pointee(member.type) == type) return true;
      const llvm::DIType* inner = types_.resolve(member.type);
      if (member.name.empty() && is_structure(inner) && is_node(inner, depth + 1)) return true;
    }
    return false;
  }

  bool has_vtable(const llvm::DIType* type, unsigned depth = 0) const {
    const std::vector<DebugMember> members = types_.members(*llvm::cast<llvm::DICompositeType>(type));
    return std::ranges::any_of(members, [&](const DebugMember& member) {
      if (member.offset != 0) return false;
      const llvm::DIType* inner = types_.resolve(member.type);
      return member.name.starts_with("_vptr") ||
             (member.name.empty() && depth < 16 && is_structure(inner) && has_vtable(inner, depth + 1));
    });
  }

  // Of an object of a class that others are derived from: the class that it is of.
  const llvm::DIType* dynamic_type(const llvm::DIType* type, Place place) {
    uint64_t failing = 0, passing = 0;
    if (!has_vtable(type) || failing_.read(place.failing, &failing, 8) != 8 ||
        passing_.read(place.passing, &passing, 8) != 8)
      return type;
    const ElfSymbol* one = symbol_at(failing_names_, failing);
    const ElfSymbol* other = symbol_at(passing_names_, passing);
    if (one == nullptr || other == nullptr || one->name != other->name) return type;
    const llvm::DICompositeType* derived = types_.of_vtable(one->name);
    return derived != nullptr && types_.size(derived) >= types_.size(type) ? derived : type;
  }

  const Program& program_;
  const ComparedMemory& failing_;
  const ComparedMemory& passing_;
  const std::vector<ComparedLocal>& locals_;
  const llvm::DIType* argument_type_;
  std::vector<Variable> variables_;
  std::vector<MemoryRange> left_out_;
  DebugTypes types_;
  Names failing_names_, passing_names_;
  bool own_ = false;                                  // what is compared now
  std::unordered_map<uint64_t, Met> met_;             // by address in the passing run
  std::set<std::pair<uint64_t, unsigned>> reported_;  // address and bit
  std::deque<Pair> typed_, untyped_;
  DumpComparison out_;
};

}  // namespace

DumpComparison compare_memory(const Program& program, const ComparedMemory& failing,
                              const ComparedMemory& passing, const std::vector<ComparedLocal>& locals,
                              const std::vector<MemoryRange>& left_out, const llvm::DIType* argument_type) {
  return Comparison(program, failing, passing, locals, left_out, argument_type).run();
}

}  // namespace heddle
