#include "program/definition_lines.h"

#include <llvm/IR/DebugInfo.h>

#include "program/function_name.h"
#include "program/source_place.h"

namespace heddle {

DefinitionLines::DefinitionLines(const llvm::Module& module) {
  llvm::DebugInfoFinder finder;
  finder.processModule(module);
  for (const llvm::DISubprogram* function : finder.subprograms())
    if (function->isDefinition() && function->getLine() != 0)
      begins_[{source_file(*function), FunctionName::of(function->getName().str()).own}].insert(
          function->getLine());
}

unsigned DefinitionLines::begin_of(const std::string& file, unsigned line, const std::string& name) const {
  const auto found = begins_.find({file, name});
  if (found == begins_.end()) return 0;
  const auto behind = found->second.upper_bound(line);
  return behind != found->second.begin() ? *std::prev(behind) : 0;
}

}  // namespace heddle
