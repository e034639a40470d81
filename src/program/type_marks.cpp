#include "program/type_marks.h"

#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Metadata.h>

namespace heddle {

// Clang's names of scalar types; unsigned types have the name of the signed one. Only names on this list count,
// so that an unknown name costs precision, not soundness.
static bool is_number_name(llvm::StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases("short", "int", "long", "long long", "__int128", true)
      .Cases("bool", "_Bool", "wchar_t", true)
      .Cases("float", "double", "long double", "__float128", true)
      .Default(false);
}

bool is_marked_number(const llvm::Instruction& access) {
  const llvm::MDNode* tag = access.getMetadata(llvm::LLVMContext::MD_tbaa);
  // A tag is (type of the object, type of the access, offset); a type is (name, parent, ...).
  if (tag == nullptr || tag->getNumOperands() < 3) return false;
  const auto* type = llvm::dyn_cast_or_null<llvm::MDNode>(tag->getOperand(1).get());
  if (type == nullptr || type->getNumOperands() < 2) return false;
  const auto* name = llvm::dyn_cast_or_null<llvm::MDString>(type->getOperand(0).get());
  return name != nullptr && is_number_name(name->getString());
}

}  // namespace heddle
