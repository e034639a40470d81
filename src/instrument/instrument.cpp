#include "instrument/instrument.h"

#include <fmt/core.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

namespace heddle {

std::vector<llvm::Function*> instrumentable_functions(llvm::Module& module) {
  llvm::SmallPtrSet<const llvm::Function*, 8> resolvers;
  for (const llvm::GlobalIFunc& ifunc : module.ifuncs()) resolvers.insert(ifunc.getResolverFunction());
  std::vector<llvm::Function*> out;
  for (llvm::Function& function : module)
    if (!function.isDeclaration() && !function.hasFnAttribute(llvm::Attribute::Naked) &&
        !resolvers.contains(&function))
      out.push_back(&function);
  return out;
}

void forget_memory_attributes(llvm::Function& function) {
  function.removeFnAttr(llvm::Attribute::Memory);
  function.removeFnAttr(llvm::Attribute::Speculatable);
  function.removeFnAttr(llvm::Attribute::NoSync);
}

void forget_memory_attributes(llvm::CallBase& call) {
  const auto* callee = llvm::dyn_cast<llvm::Function>(call.getCalledOperand()->stripPointerCastsAndAliases());
  if (call.isInlineAsm() || (callee != nullptr && callee->isDeclarationForLinker())) return;
  call.removeFnAttr(llvm::Attribute::Memory);
  call.removeFnAttr(llvm::Attribute::NoSync);
}

llvm::DebugLoc hook_location(const llvm::Instruction& at) {
  if (at.getDebugLoc()) return at.getDebugLoc();
  llvm::DISubprogram* scope = at.getFunction()->getSubprogram();
  if (scope == nullptr) return {};
  return llvm::DILocation::get(at.getContext(), 0, 0, scope);
}

Result<void> verify_instrumented(const llvm::Module& module, const char* variant) {
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (!llvm::verifyModule(module, &stream)) return {};
  return Error{.what = fmt::format("the {} variant's code is not valid: {}", variant, problems),
               .why = "this is a bug in heddle",
               .next = "please report it with the program's source",
               .exit = ExitCode::internal};
}

}  // namespace heddle
