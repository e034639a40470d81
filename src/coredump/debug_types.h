// Types of variables as the debug information of the program (-g) describes them.
#pragma once

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

struct DebugMember {
  std::string name;  // empty: a base class, or an anonymous struct
  const llvm::DIType* type = nullptr;
  uint64_t offset = 0, size = 0;
  unsigned bit = 0, bits = 0;  // a bit field: its first bit in the bytes that it is in, and how many
};

class DebugTypes {
 public:
  explicit DebugTypes(const llvm::Module& module) : module_(module) {}

  // Without typedefs and qualifiers; what is only declared here is looked for elsewhere in the program. Null:
  // void, or not known.
  const llvm::DIType* resolve(const llvm::DIType* type) const;
  // What a pointer or reference leads to, resolved; null: unknown, void, or code.
  const llvm::DIType* pointee(const llvm::DIType* type) const;
  bool is_pointer(const llvm::DIType* type) const;
  uint64_t size(const llvm::DIType* type) const;       // bytes, 0: not known
  uint64_t alignment(const llvm::DIType* type) const;  // as the ABI has it
  std::vector<DebugMember> members(const llvm::DICompositeType& type) const;
  // The class whose table of virtual functions has this symbol ("_ZTV4Node"); null: none.
  const llvm::DICompositeType* of_vtable(std::string_view symbol) const;

 private:
  const llvm::DICompositeType* defined(const std::string& name) const;

  const llvm::Module& module_;
  // By identifier (C++) or name (C), found when first needed. Null: several of one name.
  mutable std::map<std::string, const llvm::DICompositeType*> definitions_;
  mutable bool searched_ = false;
};

// Elements by dimension; 0: as many as there is memory for.
std::vector<uint64_t> dimensions(const llvm::DICompositeType& array);

std::string type_text(const llvm::DIType* type);  // "struct entry*", "int"; empty: not known
// A value as its type has it: numbers, true and false, names of enumerations, fractions.
std::string value_text(const llvm::DIType* resolved, uint64_t value, uint64_t size);

}  // namespace heddle
