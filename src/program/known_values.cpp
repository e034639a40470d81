#include "program/known_values.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalIFunc.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "base/result.h"
#include "program/stack_slots.h"
#include "program/word_operations.h"

namespace heddle {
namespace {

// The function of the program that runs when this call is made, or null. As in calls.cpp.
const llvm::Function* callee_inside(const llvm::CallBase& call) {
  const auto* callee = llvm::dyn_cast<llvm::Function>(call.getCalledOperand()->stripPointerCastsAndAliases());
  return callee == nullptr || callee->isIntrinsic() || callee->isDeclarationForLinker() ? nullptr : callee;
}

bool fits(const llvm::CallBase& call, const llvm::Function& callee) {
  return call.getFunctionType() == callee.getFunctionType();
}

const llvm::AllocaInst* stack_object(const llvm::Value* address) {
  return llvm::dyn_cast<llvm::AllocaInst>(address);
}

// What br and switch decide by; null for other ends of blocks and jumps without condition.
const llvm::Value* condition_of(const llvm::BasicBlock& block) {
  const llvm::Instruction* end = block.getTerminator();
  if (const auto* choice = llvm::dyn_cast<llvm::SwitchInst>(end)) return choice->getCondition();
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(end);
  return branch != nullptr && branch->isConditional() ? branch->getCondition() : nullptr;
}

}  // namespace

// Begins with everything that may be known, by its form, and takes away what depends on something that is not.
class KnownValues::Fixpoint {
 public:
  Fixpoint(const llvm::Module& module, const KnownOptions& options, llvm::DenseSet<const llvm::Value*>& known,
           llvm::DenseSet<const llvm::Instruction*>& logged)
      : layout_(module.getDataLayout()), options_(options), known_(known), logged_(logged) {
    for (const llvm::GlobalIFunc& ifunc : module.ifuncs())
      if (const llvm::Function* resolver = ifunc.getResolverFunction()) resolvers_.insert(resolver);
    for (const llvm::Function& function : module)
      if (!function.isDeclarationForLinker()) add_candidates(function);
    for (const llvm::Function& function : module)
      if (!function.isDeclarationForLinker()) check_operands(function);
    while (!lost_.empty()) {
      const llvm::Value* value = lost_.back();
      lost_.pop_back();
      for (const llvm::Use& use : value->uses()) lose_dependents(use);
    }
  }

  llvm::ArrayRef<const llvm::CallBase*> calls_of(const llvm::Function& function) const {
    const auto found = calls_.find(&function);
    if (found == calls_.end()) return {};
    return found->second;
  }

 private:
  // Its code is not followed: the compiler made nothing of it (naked), or the dynamic linker calls it.
  bool opaque(const llvm::Function& function) const {
    return function.hasFnAttribute(llvm::Attribute::Naked) || resolvers_.contains(&function);
  }

  void add_candidates(const llvm::Function& function) {
    if (!options_.entered_silently(function) && !opaque(function)) {
      for (const llvm::Argument& argument : function.args())
        if (is_word(*argument.getType(), layout_) && !argument.hasPassPointeeByValueCopyAttr() &&
            !argument.hasStructRetAttr())
          known_.insert(&argument);
    }
    const bool followed = !opaque(function) && !function.callsFunctionThatReturnsTwice();
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        if (const llvm::Function* callee = callee_inside(*call)) calls_[callee].push_back(call);
      if (followed && candidate(instruction)) known_.insert(&instruction);
    }
    if (followed) add_slots(function);
  }

  // Loads of slots come later.
  bool candidate(const llvm::Instruction& instruction) {
    if (!is_word(*instruction.getType(), layout_)) return false;
    if (llvm::isa<llvm::PHINode>(instruction)) return true;
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    // Nothing can be written behind a musttail call.
    if (!(call != nullptr && call->isMustTailCall()) && options_.logged(instruction)) {
      logged_.insert(&instruction);
      return true;
    }
    if (word_inputs(instruction, layout_)) return true;
    const llvm::Function* callee = call == nullptr ? nullptr : callee_inside(*call);
    return callee != nullptr && fits(*call, *callee) && !opaque(*callee);
  }

  void add_slots(const llvm::Function& function) {
    const StackSlots slots(function, layout_);
    for (const llvm::AllocaInst* slot : slots.slots()) slots_.insert(slot);
    for (const llvm::LoadInst* load : slots.assigned_loads()) known_.insert(load);
  }

  bool is_known(const llvm::Value& value) const {
    return known_.contains(&value) || constant_word(value, layout_);
  }

  void check_operands(const llvm::Function& function) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      for (const llvm::Use& operand : instruction.operands())
        if (!is_known(*operand)) lose_dependents(operand);
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      const llvm::Function* callee = call == nullptr ? nullptr : callee_inside(*call);
      if (callee != nullptr && (!fits(*call, *callee) || opaque(function)))
        for (const llvm::Argument& argument : callee->args()) lose(argument);
    }
  }

  // Something that it follows from is not known. What is in the data stream is known nevertheless.
  void lose(const llvm::Value& value) {
    if (const auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value))
      if (logged_.contains(instruction)) return;
    if (known_.erase(&value)) lost_.push_back(&value);
  }

  void lose_slot(const llvm::AllocaInst& slot) {
    if (!slots_.erase(&slot)) return;
    for (const llvm::User* user : slot.users())
      if (llvm::isa<llvm::LoadInst>(user)) lose(*user);
  }

  // The used value is not known.
  void lose_dependents(const llvm::Use& use) {
    const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
      if (use.get() == store->getValueOperand())
        if (const llvm::AllocaInst* slot = stack_object(store->getPointerOperand())) lose_slot(*slot);
    } else if (llvm::isa<llvm::ReturnInst>(user)) {
      for (const llvm::CallBase* call : calls_of(*user->getFunction())) lose(*call);
    } else if (llvm::isa<llvm::WithOverflowInst>(user)) {
      for (const llvm::User* part : user->users())
        lose_if_computed_from(*use.get(), llvm::cast<llvm::Instruction>(*part));
    } else if (llvm::isa<llvm::CallBase>(user) && !llvm::isa<llvm::IntrinsicInst>(user)) {
      lose_passed(use, llvm::cast<llvm::CallBase>(*user));
    } else {
      lose_if_computed_from(*use.get(), *user);
    }
  }

  void lose_if_computed_from(const llvm::Value& value, const llvm::Instruction& result) {
    const std::optional<WordInputs> inputs = word_inputs(result, layout_);
    if (llvm::isa<llvm::PHINode>(result) || (inputs && llvm::is_contained(*inputs, &value))) lose(result);
  }

  // The argument that gets the used value, if one does.
  void lose_passed(const llvm::Use& use, const llvm::CallBase& call) {
    if (!call.isArgOperand(&use)) return;
    const llvm::Function* callee = callee_inside(call);
    const unsigned number = call.getArgOperandNo(&use);
    if (callee != nullptr && number < callee->arg_size()) lose(*callee->getArg(number));
  }

  const llvm::DataLayout& layout_;
  const KnownOptions& options_;
  llvm::DenseSet<const llvm::Value*>& known_;
  llvm::DenseSet<const llvm::Instruction*>& logged_;
  llvm::DenseSet<const llvm::Function*> resolvers_;
  llvm::DenseSet<const llvm::AllocaInst*> slots_;
  llvm::DenseMap<const llvm::Function*, std::vector<const llvm::CallBase*>> calls_;
  std::vector<const llvm::Value*> lost_;  // whose uses are to be gone through
};

// Goes back from the conditions of known branches to all that they follow from.
class KnownValues::Slice {
 public:
  Slice(const llvm::Module& module, const KnownValues& known, const Fixpoint& fixpoint)
      : known_(known), fixpoint_(fixpoint) {
    for (const llvm::Function& function : module)
      for (const llvm::BasicBlock& block : function)
        if (known.branch_known(block)) need(*condition_of(block));
    while (!open_.empty()) {
      const llvm::Value* value = open_.back();
      open_.pop_back();
      need_inputs(*value);
    }
  }

  // A value or slot.
  bool needed(const llvm::Value& value) const { return needed_.contains(&value); }

 private:
  void need(const llvm::Value& value) {
    if (llvm::isa<llvm::Constant>(value)) return;
    HEDDLE_CHECK(known_.known(value));
    if (needed_.insert(&value).second) open_.push_back(&value);
  }

  void need_inputs(const llvm::Value& value) {
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(&value)) {
      for (const llvm::CallBase* call : fixpoint_.calls_of(*argument->getParent()))
        need(*call->getArgOperand(argument->getArgNo()));
      return;
    }
    const auto& instruction = llvm::cast<llvm::Instruction>(value);
    if (known_.logged_.contains(&instruction)) return;
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) {
      for (const llvm::Use& incoming : phi->incoming_values()) need(*incoming);
    } else if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      need_slot(*stack_object(load->getPointerOperand()));
    } else if (const auto inputs = word_inputs(instruction, known_.layout())) {
      for (const llvm::Value* input : *inputs) need(*input);
    } else {
      need_result(*callee_inside(llvm::cast<llvm::CallBase>(instruction)));
    }
  }

  void need_slot(const llvm::AllocaInst& slot) {
    if (!needed_.insert(&slot).second) return;
    for (const llvm::User* user : slot.users())
      if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) need(*store->getValueOperand());
  }

  void need_result(const llvm::Function& function) {
    if (!results_.insert(&function).second) return;
    for (const llvm::BasicBlock& block : function)
      if (const auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator()))
        need(*end->getReturnValue());
  }

  const KnownValues& known_;
  const Fixpoint& fixpoint_;
  llvm::DenseSet<const llvm::Value*> needed_;
  llvm::DenseSet<const llvm::Function*> results_;  // needed
  std::vector<const llvm::Value*> open_;
};

KnownValues::KnownValues(const llvm::Module& module, const KnownOptions& options) : module_(module) {
  const Fixpoint fixpoint(module, options, known_, logged_);
  place_needed(Slice(module, *this, fixpoint));
}

void KnownValues::place_needed(const Slice& slice) {
  for (const llvm::Function& function : module_) {
    uint32_t count = 0;
    const auto place = [&](const llvm::Value& value) {
      if (slice.needed(value)) places_[&value] = count++;
    };
    for (const llvm::Argument& argument : function.args()) place(argument);
    for (const llvm::Instruction& instruction : llvm::instructions(function)) place(instruction);
    if (count == 0) continue;
    place_counts_[&function] = count;
    for (const llvm::BasicBlock& block : function) {
      Needs needs{.first = needed_.size(), .after_phis = needed_.size()};
      for (const llvm::Instruction& instruction : block) {
        if (!needed(instruction)) continue;
        needed_.push_back(&instruction);
        if (llvm::isa<llvm::PHINode>(instruction)) needs.after_phis = needed_.size();
      }
      needs.end = needed_.size();
      if (needs.end != needs.first) needs_[&block] = needs;
    }
  }
}

bool KnownValues::known(const llvm::Value& value) const {
  return known_.contains(&value) || constant_word(value, layout());
}

bool KnownValues::branch_known(const llvm::BasicBlock& block) const {
  const llvm::Value* condition = condition_of(block);
  return condition != nullptr && block.getUniqueSuccessor() == nullptr && known(*condition);
}

bool KnownValues::needed(const llvm::Instruction& instruction) const {
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    const llvm::AllocaInst* slot = stack_object(store->getPointerOperand());
    return slot != nullptr && known_slot(*slot);
  }
  return !llvm::isa<llvm::AllocaInst>(instruction) && places_.contains(&instruction);
}

bool KnownValues::needed(const llvm::Argument& argument) const {
  return places_.contains(&argument);
}

bool KnownValues::known_slot(const llvm::AllocaInst& slot) const {
  return places_.contains(&slot);
}

bool KnownValues::logged(const llvm::Instruction& instruction) const {
  return logged_.contains(&instruction);
}

llvm::ArrayRef<const llvm::Instruction*> KnownValues::needed_instructions(const llvm::BasicBlock& block) const {
  const Needs needs = needs_.lookup(&block);
  return llvm::ArrayRef(needed_).slice(needs.after_phis, needs.end - needs.after_phis);
}

llvm::ArrayRef<const llvm::Instruction*> KnownValues::needed_phis(const llvm::BasicBlock& block) const {
  const Needs needs = needs_.lookup(&block);
  return llvm::ArrayRef(needed_).slice(needs.first, needs.after_phis - needs.first);
}

std::optional<uint32_t> KnownValues::place(const llvm::Value& value) const {
  const auto found = places_.find(&value);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

uint32_t KnownValues::places(const llvm::Function& function) const {
  return place_counts_.lookup(&function);
}

}  // namespace heddle
