// Linker options that change which definition a name means. The linker follows them between object files; here
// the modules become one, so they are followed while the modules are linked.
#pragma once

#include <llvm/IR/Module.h>

#include <string>
#include <vector>

#include "image/link_plan.h"

namespace heddle {

class LinkRules {
 public:
  LinkRules() = default;
  explicit LinkRules(const LinkPlan& plan);

  // Before `module` is linked into `program`.
  void apply(llvm::Module& module, const llvm::Module& program) const;
  // When all are.
  void finish(llvm::Module& program) const;

 private:
  void note(const std::string& word);

  bool first_definition_wins_ = false;  // -z muldefs, --allow-multiple-definition
  std::vector<std::string>
      wrapped_;                // --wrap=NAME: references to NAME mean __wrap_NAME, __real_NAME means NAME
  bool name_follows_ = false;  // while reading: the next word is the name to wrap
};

}  // namespace heddle
