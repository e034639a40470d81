// From a module to an object file.
#pragma once

#include <llvm/IR/Module.h>

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "program/program.h"

namespace heddle {

// What the translation units asked of code generation and the module itself does not say.
struct CodeGenOptions {
  unsigned optimisation = 0;  // 0 to 3; functions compiled with -O0 carry that as an attribute
  bool fuse_multiply_add = false;
  // Generated side by side; 0: as the environment says (HEDDLE_BUILD_PARTS), or the module's size and the
  // machine.
  unsigned parts = 0;
};
CodeGenOptions code_generation_options(const std::vector<TranslationUnit>& units);

// Writes a position-independent x86-64 object, whatever the program was: it can be linked either way. Takes the
// module apart.
Result<void> generate_object(llvm::Module& module, const CodeGenOptions& options,
                             const std::filesystem::path& object);

}  // namespace heddle
