#include "program/early_code.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalAlias.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "program/calls.h"

namespace heddle {
namespace {

bool is_main(const llvm::Function& function) {
  return function.getName() == "main";
}

std::string_view name_of(const llvm::Function& function) {
  return {function.getName().data(), function.getName().size()};
}

// Of the known functions outside.
bool starts_thread(const llvm::Function& callee, const Effects& effects) {
  if (effects.sync == HEDDLE_SYNC_thread_create || effects.sync == HEDDLE_SYNC_thread_start_cxx) return true;
  const llvm::StringRef name = callee.getName();
  // Those that run a function of the program in a thread of the library.
  return name == "clone" || name == "timer_create" || name == "mq_notify" || name == "getaddrinfo_a" ||
         name.starts_with("aio_") || name.starts_with("lio_");
}

}  // namespace

EarlyCode::EarlyCode(const llvm::Module& module, const EffectsTable& effects, bool foreign_callers)
    : foreign_callers_(foreign_callers) {
  llvm::DenseMap<const llvm::Function*, Uses> uses;
  for (const llvm::Function& function : module) {
    if (function.isIntrinsic()) continue;
    uses[&function] = uses_of(function, effects);
    if (function.isDeclarationForLinker()) continue;
    std::vector<Call>& made = calls_[&function];
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        made.push_back(describe(*call, effects));
    for (const Call& call : made)
      if (call.inside != nullptr) callers_[call.inside].push_back(&function);
  }

  const auto starts_by_itself = [](const Call& call) { return call.starts; };
  for (const auto& [function, made] : calls_)
    if (llvm::any_of(made, starts_by_itself)) add_starter(*function);
  const auto starts_when_called = [&](const llvm::Function& function) {
    if (!function.isDeclarationForLinker()) return starters_.contains(&function);
    const Effects* known = effects.find(name_of(function));
    return known == nullptr || starts_thread(function, *known);
  };
  callbacks_start_ = llvm::any_of(
      uses, [&](const auto& entry) { return entry.second.by_address && starts_when_called(*entry.first); });
  for (const auto& [function, made] : calls_)
    if (llvm::any_of(made, [this](const Call& call) { return may_start(call); })) add_starter(*function);

  const bool before_main = llvm::any_of(uses, [this](const auto& entry) {
    return entry.second.as_constructor && starters_.contains(entry.first);
  });
  for (const auto& [function, of_function] : uses) {
    const bool root = is_main(*function) || of_function.as_constructor;
    const bool called = root || callers_.contains(function);
    if (before_main || of_function.by_address || !called) make_late(*function);
  }
  for (const auto& [function, made] : calls_) find_late_blocks(*function);
}

EarlyCode::Call EarlyCode::describe(const llvm::CallBase& call, const EffectsTable& effects) const {
  Call out{.call = &call, .starts = call.hasFnAttr(llvm::Attribute::ReturnsTwice)};
  const CallInfo info = classify_call(call, effects);
  switch (info.cls) {
    case CallClass::inside:
      out.inside = info.callee;
      break;
    case CallClass::indirect:
      out.calls_back = true;
      break;
    case CallClass::intrinsic:
    case CallClass::inline_assembly:
      break;
    case CallClass::unknown_external:
      out.starts = true;
      break;
    case CallClass::synchronisation:
    case CallClass::allocation:
    case CallClass::known_external:
      out.starts |= starts_thread(*info.callee, *info.effects);
      out.calls_back = !info.effects->pure || !info.effects->calls.empty();
      break;
  }
  return out;
}

EarlyCode::Uses EarlyCode::uses_of(const llvm::Function& function, const EffectsTable& effects) const {
  Uses out;
  // Libraries call functions of the program that have the name of one of theirs (malloc, operator new).
  if (!function.isDeclarationForLinker() && !function.hasLocalLinkage() && !is_main(function))
    out.by_address = foreign_callers_ || effects.find(name_of(function)) != nullptr;
  const auto visit = [&](const llvm::Value& value, const auto& self) -> void {
    for (const llvm::Use& use : value.uses()) {
      const llvm::User* user = use.getUser();
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(user); call != nullptr && call->isCallee(&use))
        continue;
      if (llvm::isa<llvm::BlockAddress>(user)) continue;
      if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(user);
          variable != nullptr && variable->getName() == "llvm.global_ctors") {
        out.as_constructor = true;
      } else if (llvm::isa<llvm::ConstantStruct, llvm::ConstantArray, llvm::GlobalAlias>(user)) {
        out.by_address |= llvm::isa<llvm::GlobalAlias>(user) && foreign_callers_;
        self(*user, self);
      } else {
        out.by_address = true;
      }
    }
  };
  visit(function, visit);
  return out;
}

void EarlyCode::add_starter(const llvm::Function& function) {
  std::vector<const llvm::Function*> open{&function};
  while (!open.empty()) {
    const llvm::Function* at = open.back();
    open.pop_back();
    if (!starters_.insert(at).second) continue;
    const auto callers = callers_.find(at);
    if (callers != callers_.end()) open.insert(open.end(), callers->second.begin(), callers->second.end());
  }
}

bool EarlyCode::may_start(const Call& call) const {
  return call.starts || (call.calls_back && callbacks_start_) ||
         (call.inside != nullptr && starters_.contains(call.inside));
}

void EarlyCode::make_late(const llvm::Function& function) {
  std::vector<const llvm::Function*> open{&function};
  while (!open.empty()) {
    const llvm::Function* at = open.back();
    open.pop_back();
    const auto made = calls_.find(at);
    if (!late_.insert(at).second || made == calls_.end()) continue;
    for (const Call& call : made->second)
      if (call.inside != nullptr) open.push_back(call.inside);
  }
}

// What comes behind calls that may start threads, and so the functions that are called there.
void EarlyCode::find_late_blocks(const llvm::Function& function) {
  if (late_.contains(&function) || !starters_.contains(&function)) return;
  std::vector<const llvm::BasicBlock*> open;
  const std::vector<Call>& made = calls_.find(&function)->second;
  for (const Call& call : made) {
    if (!may_start(call)) continue;
    const llvm::BasicBlock* block = call.call->getParent();
    if (starts_.try_emplace(block, call.call).second) llvm::append_range(open, llvm::successors(block));
  }
  while (!open.empty()) {
    const llvm::BasicBlock* block = open.back();
    open.pop_back();
    if (late_blocks_.insert(block).second) llvm::append_range(open, llvm::successors(block));
  }
  for (const Call& call : made)
    if (call.inside != nullptr && reached_late(*call.call)) make_late(*call.inside);
}

bool EarlyCode::reached_late(const llvm::Instruction& instruction) const {
  const llvm::BasicBlock* block = instruction.getParent();
  if (late_.contains(block->getParent()) || late_blocks_.contains(block)) return true;
  const llvm::Instruction* start = starts_.lookup(block);
  return start != nullptr && start->comesBefore(&instruction);
}

bool EarlyCode::early(const llvm::Instruction& instruction) const {
  return !reached_late(instruction) && starts_.lookup(instruction.getParent()) != &instruction;
}

}  // namespace heddle
