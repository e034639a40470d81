#include "program/link_rules.h"

#include <sstream>

namespace heddle {
namespace {

// Gives all uses of a declaration in the module to the symbol `name`.
void redirect(llvm::Module& module, llvm::GlobalValue& declaration, const std::string& name) {
  if (llvm::GlobalValue* there = module.getNamedValue(name)) {
    declaration.replaceAllUsesWith(there);
    declaration.eraseFromParent();
  } else {
    declaration.setName(name);
  }
}

bool is_strong_definition(const llvm::GlobalValue& value) {
  return !value.isDeclarationForLinker() && !value.hasLocalLinkage() && !value.isWeakForLinker() &&
         !value.hasCommonLinkage() && !value.hasAppendingLinkage();
}

}  // namespace

LinkRules::LinkRules(const LinkPlan& plan) {
  for (const LinkItem& item : plan.items) {
    for (const std::string& flag : item.flags) {
      if (flag == "-Xlinker") continue;
      std::istringstream words(flag.starts_with("-Wl,") ? flag.substr(4) : flag);
      for (std::string word; std::getline(words, word, ',');) note(word);
    }
  }
}

void LinkRules::note(const std::string& word) {
  if (std::exchange(name_follows_, false)) {
    wrapped_.push_back(word);
  } else if (word == "--wrap" || word == "-wrap") {
    name_follows_ = true;
  } else if (word.starts_with("--wrap=") || word.starts_with("-wrap=")) {
    wrapped_.push_back(word.substr(word.find('=') + 1));
  }
  first_definition_wins_ |= word == "muldefs" || word == "-zmuldefs" || word == "--allow-multiple-definition";
}

void LinkRules::apply(llvm::Module& module, const llvm::Module& program) const {
  for (const std::string& name : wrapped_) {
    llvm::GlobalValue* value = module.getNamedValue(name);
    // Where the name is defined, the object's own references were settled before the linker saw them.
    if (value != nullptr && value->isDeclaration()) redirect(module, *value, "__wrap_" + name);
  }
  if (!first_definition_wins_) return;
  for (llvm::GlobalValue& value : module.global_values()) {
    const llvm::GlobalValue* earlier = program.getNamedValue(value.getName());
    if (earlier != nullptr && is_strong_definition(*earlier) && is_strong_definition(value))
      value.setLinkage(llvm::GlobalValue::AvailableExternallyLinkage);
  }
}

void LinkRules::finish(llvm::Module& program) const {
  for (const std::string& name : wrapped_) {
    llvm::GlobalValue* real = program.getNamedValue("__real_" + name);
    const llvm::GlobalValue* meant = program.getNamedValue(name);
    // A real function outside the program is left to the linker, which gets the same option.
    if (real != nullptr && real->isDeclaration() && meant != nullptr && !meant->isDeclaration())
      redirect(program, *real, name);
  }
}

}  // namespace heddle
