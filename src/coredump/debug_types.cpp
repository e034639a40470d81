#include "coredump/debug_types.h"

#include <fmt/core.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DebugInfo.h>

#include <algorithm>
#include <bit>

namespace heddle {
namespace {

namespace dwarf = llvm::dwarf;

bool is_qualifier(unsigned tag) {
  switch (tag) {
    case dwarf::DW_TAG_typedef:
    case dwarf::DW_TAG_const_type:
    case dwarf::DW_TAG_volatile_type:
    case dwarf::DW_TAG_restrict_type:
    case dwarf::DW_TAG_atomic_type:
    case dwarf::DW_TAG_member:
    case dwarf::DW_TAG_inheritance:
      return true;
    default:
      return false;
  }
}

bool is_pointer_tag(unsigned tag) {
  return tag == dwarf::DW_TAG_pointer_type || tag == dwarf::DW_TAG_reference_type ||
         tag == dwarf::DW_TAG_rvalue_reference_type;
}

}  // namespace

const llvm::DIType* DebugTypes::resolve(const llvm::DIType* type) const {
  for (const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type);
       derived != nullptr && is_qualifier(derived->getTag());
       derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type))
    type = derived->getBaseType();
  const auto* composite = llvm::dyn_cast_or_null<llvm::DICompositeType>(type);
  if (composite == nullptr || !composite->isForwardDecl()) return type;
  const llvm::StringRef name =
      composite->getIdentifier().empty() ? composite->getName() : composite->getIdentifier();
  const llvm::DICompositeType* definition = defined(name.str());
  return definition != nullptr ? definition : type;
}

const llvm::DICompositeType* DebugTypes::defined(const std::string& name) const {
  if (!searched_) {
    searched_ = true;
    llvm::DebugInfoFinder finder;
    finder.processModule(module_);
    for (const llvm::DIType* type : finder.types()) {
      const auto* composite = llvm::dyn_cast<llvm::DICompositeType>(type);
      if (composite == nullptr || composite->isForwardDecl() || composite->getName().empty()) continue;
      const bool cxx = !composite->getIdentifier().empty();
      const auto [found, fresh] =
          definitions_.try_emplace((cxx ? composite->getIdentifier() : composite->getName()).str(), composite);
      if (!fresh && !cxx && found->second != nullptr &&
          found->second->getSizeInBits() != composite->getSizeInBits())
        found->second = nullptr;
    }
  }
  const auto found = definitions_.find(name);
  return found != definitions_.end() ? found->second : nullptr;
}

const llvm::DICompositeType* DebugTypes::of_vtable(std::string_view symbol) const {
  constexpr std::string_view kTable = "_ZTV";
  return symbol.starts_with(kTable) ? defined("_ZTS" + std::string(symbol.substr(kTable.size()))) : nullptr;
}

bool DebugTypes::is_pointer(const llvm::DIType* type) const {
  type = resolve(type);
  return type != nullptr && is_pointer_tag(type->getTag());
}

const llvm::DIType* DebugTypes::pointee(const llvm::DIType* type) const {
  const auto* pointer = llvm::dyn_cast_or_null<llvm::DIDerivedType>(resolve(type));
  if (pointer == nullptr || !is_pointer_tag(pointer->getTag())) return nullptr;
  const llvm::DIType* to = resolve(pointer->getBaseType());
  return to == nullptr || llvm::isa<llvm::DISubroutineType>(to) ? nullptr : to;
}

uint64_t DebugTypes::size(const llvm::DIType* type) const {
  type = resolve(type);
  return type != nullptr ? type->getSizeInBits() / 8 : 0;
}

uint64_t DebugTypes::alignment(const llvm::DIType* type) const {
  type = resolve(type);
  if (type == nullptr) return 1;
  if (type->getAlignInBytes() != 0) return type->getAlignInBytes();
  const auto* composite = llvm::dyn_cast<llvm::DICompositeType>(type);
  if (composite != nullptr && composite->isForwardDecl()) return 8;
  if (composite == nullptr || composite->getTag() == dwarf::DW_TAG_enumeration_type)
    return std::clamp<uint64_t>(std::bit_floor(type->getSizeInBits() / 8), 1, 16);
  if (composite->getTag() == dwarf::DW_TAG_array_type) return alignment(composite->getBaseType());
  uint64_t most = 1;
  for (const DebugMember& member : members(*composite)) most = std::max(most, alignment(member.type));
  return most;
}

std::vector<DebugMember> DebugTypes::members(const llvm::DICompositeType& type) const {
  std::vector<DebugMember> out;
  for (const llvm::DINode* node : type.getElements()) {
    const auto* member = llvm::dyn_cast_or_null<llvm::DIDerivedType>(node);
    if (member == nullptr || member->isStaticMember() || member->isVirtual()) continue;
    const bool inherited = member->getTag() == dwarf::DW_TAG_inheritance;
    if (!inherited && member->getTag() != dwarf::DW_TAG_member) continue;
    DebugMember found{.name = inherited ? "" : member->getName().str(),
                      .type = member->getBaseType(),
                      .offset = member->getOffsetInBits() / 8,
                      .size = member->getSizeInBits() / 8};
    if (member->isBitField()) {
      found.bit = static_cast<unsigned>(member->getOffsetInBits() % 8);
      found.bits = static_cast<unsigned>(member->getSizeInBits());
      found.size = (found.bit + found.bits + 7) / 8;
    } else if (found.size == 0) {
      found.size = size(found.type);
    }
    out.push_back(std::move(found));
  }
  return out;
}

std::vector<uint64_t> dimensions(const llvm::DICompositeType& array) {
  std::vector<uint64_t> out;
  for (const llvm::DINode* node : array.getElements()) {
    const auto* range = llvm::dyn_cast_or_null<llvm::DISubrange>(node);
    if (range == nullptr) continue;
    const auto* constant = llvm::dyn_cast_if_present<llvm::ConstantInt*>(range->getCount());
    out.push_back(constant != nullptr && constant->getSExtValue() > 0 ? constant->getZExtValue() : 0);
  }
  return out;
}

std::string type_text(const llvm::DIType* type) {
  if (type == nullptr) return "";
  if (const auto* derived = llvm::dyn_cast<llvm::DIDerivedType>(type)) {
    if (derived->getTag() == dwarf::DW_TAG_typedef) return derived->getName().str();
    std::string base = derived->getBaseType() == nullptr ? "void" : type_text(derived->getBaseType());
    if (derived->getTag() == dwarf::DW_TAG_pointer_type) return base + "*";
    if (is_pointer_tag(derived->getTag())) return base + "&";
    if (derived->getTag() == dwarf::DW_TAG_const_type) return "const " + base;
    return base;
  }
  if (llvm::isa<llvm::DISubroutineType>(type)) return "function";
  if (type->getTag() == dwarf::DW_TAG_array_type)
    return type_text(llvm::cast<llvm::DICompositeType>(type)->getBaseType()) + "[]";
  return type->getName().str();
}

std::string value_text(const llvm::DIType* type, uint64_t value, uint64_t size) {
  const unsigned unused = size >= 8 ? 0 : 64 - static_cast<unsigned>(size) * 8;
  const auto number = static_cast<int64_t>(value << unused) >> unused;
  const uint64_t natural = value << unused >> unused;
  if (const auto* composite = llvm::dyn_cast_or_null<llvm::DICompositeType>(type);
      composite != nullptr && composite->getTag() == dwarf::DW_TAG_enumeration_type) {
    for (const llvm::DINode* node : composite->getElements())
      if (const auto* named = llvm::dyn_cast_or_null<llvm::DIEnumerator>(node);
          named != nullptr && named->getValue().getSExtValue() == number)
        return fmt::format("{} ({})", named->getName().str(), number);
    return std::to_string(number);
  }
  const auto* basic = llvm::dyn_cast_or_null<llvm::DIBasicType>(type);
  if (basic == nullptr) return std::to_string(number);
  switch (basic->getEncoding()) {
    case dwarf::DW_ATE_boolean:
      return natural == 0 ? "false" : natural == 1 ? "true" : std::to_string(natural);
    case dwarf::DW_ATE_float:
      if (size == 4) return fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(value)));
      if (size == 8) return fmt::format("{}", std::bit_cast<double>(value));
      return fmt::format("{:#x}", natural);
    case dwarf::DW_ATE_unsigned:
      return std::to_string(natural);
    case dwarf::DW_ATE_signed_char:
    case dwarf::DW_ATE_unsigned_char:
      return natural >= 32 && natural < 127 ? fmt::format("'{}' ({})", static_cast<char>(natural), natural)
                                            : std::to_string(number);
    default:
      return std::to_string(number);
  }
}

}  // namespace heddle
