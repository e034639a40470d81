#include "program/backward_steps.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/SimplifyQuery.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>

namespace heddle {
namespace {

constexpr size_t kMaxValues = 32;  // bounds the work for each index
constexpr int64_t kShortestStep = 8;

const llvm::ConstantInt* constant(const llvm::Value* value) {
  return llvm::dyn_cast<llvm::ConstantInt>(value);
}

bool is_step_back(const llvm::ConstantInt& number) {
  return number.getValue().sle(-kShortestStep);
}

// The distance from an object's beginning, as the table of its class has it.
bool is_from_class_table(const llvm::LoadInst& load) {
  return llvm::isa<llvm::LoadInst>(load.getPointerOperand()->stripInBoundsOffsets());
}

class BackwardSteps {
 public:
  bool leads_back(const llvm::Value& index) {
    look_at(&index);
    while (!todo_.empty())
      if (seen_back(*todo_.pop_back_val())) return true;
    return false;
  }

 private:
  void look_at(const llvm::Value* value) {
    if (seen_.size() < kMaxValues && seen_.insert(value).second) todo_.push_back(value);
  }

  bool seen_back(const llvm::Value& value) {
    if (const auto* number = constant(&value)) return is_step_back(*number);
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&value)) {
      look_at_what_is_stored(*load->getPointerOperand());
      return is_from_class_table(*load);
    }
    if (const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&value)) return computes_back(*operation);
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(&value)) {
      look_at_what_callers_give(*argument);
    } else if (const auto* choice = llvm::dyn_cast<llvm::SelectInst>(&value)) {
      look_at(choice->getTrueValue());
      look_at(choice->getFalseValue());
    } else if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&value)) {
      for (const llvm::Use& incoming : phi->incoming_values()) look_at(incoming);
    } else if (llvm::isa<llvm::SExtInst, llvm::ZExtInst, llvm::TruncInst, llvm::FreezeInst>(value)) {
      look_at(llvm::cast<llvm::Instruction>(value).getOperand(0));
    }
    return false;
  }

  bool computes_back(const llvm::BinaryOperator& operation) {
    const llvm::Value *left = operation.getOperand(0), *right = operation.getOperand(1);
    switch (operation.getOpcode()) {
      case llvm::Instruction::Sub:  // from 0 or less; what is taken from anything else mostly leaves something
        return constant(left) != nullptr && !constant(left)->getValue().isStrictlyPositive();
      case llvm::Instruction::Mul:
        for (const llvm::Value* operand : {left, right})
          if (constant(operand) != nullptr && constant(operand)->isNegative()) return true;
        break;
      case llvm::Instruction::Xor:  // with -1: -1 - x
        return constant(right) != nullptr && constant(right)->isNegative();
      case llvm::Instruction::Shl:
      case llvm::Instruction::AShr:
      case llvm::Instruction::Add:
        break;
      default:
        return false;
    }
    for (const llvm::Value* operand : {left, right})
      if (constant(operand) == nullptr) look_at(operand);
    return false;
  }

  // In a local variable, as -O0 has it.
  void look_at_what_is_stored(const llvm::Value& variable) {
    if (!llvm::isa<llvm::AllocaInst>(variable)) return;
    for (const llvm::User* user : variable.users())
      if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) look_at(store->getValueOperand());
  }

  void look_at_what_callers_give(const llvm::Argument& argument) {
    for (const llvm::Use& use : argument.getParent()->uses()) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
      if (call != nullptr && call->isCallee(&use) && argument.getArgNo() < call->arg_size())
        look_at(call->getArgOperand(argument.getArgNo()));
    }
  }

  llvm::SmallPtrSet<const llvm::Value*, 16> seen_;
  llvm::SmallVector<const llvm::Value*, 16> todo_;
};

}  // namespace

bool leads_back(const llvm::Value& index) {
  return BackwardSteps().leads_back(index);
}

// Clang's calls by a pointer to a member function: a function, or a place in the table of the class.
static bool is_member_function(const llvm::Value& callee) {
  const auto* either = llvm::dyn_cast<llvm::PHINode>(&callee);
  if (either == nullptr) return llvm::isa<llvm::IntToPtrInst>(callee);
  return llvm::any_of(either->incoming_values(),
                      [](const llvm::Use& each) { return llvm::isa<llvm::IntToPtrInst>(each); });
}

// The distance in such a pointer is one back when the function is of a class that has the object's as a base.
static bool leads_to_object_of_call(const llvm::GEPOperator& step) {
  return llvm::any_of(step.uses(), [](const llvm::Use& use) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
    return call != nullptr && call->isArgOperand(&use) && is_member_function(*call->getCalledOperand());
  });
}

bool may_lead_back(const llvm::GEPOperator& step, const llvm::DataLayout& layout) {
  const bool of_bytes = step.getSourceElementType()->isIntegerTy(8);
  if (of_bytes && leads_to_object_of_call(step)) return true;
  return llvm::any_of(step.indices(), [&](const llvm::Use& index) {
    return of_bytes ? leads_back(*index) : !llvm::isKnownNonNegative(index, llvm::SimplifyQuery(layout));
  });
}

bool steps_back(const llvm::GEPOperator& step, const llvm::DataLayout& layout) {
  llvm::APInt distance(layout.getIndexTypeSizeInBits(step.getType()), 0);
  if (step.getType()->isVectorTy() || !step.accumulateConstantOffset(layout, distance))
    return step.getType()->isVectorTy() || may_lead_back(step, layout);
  return distance.sle(-kShortestStep);
}

}  // namespace heddle
