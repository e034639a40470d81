#include "program/assertions.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "program/program.h"

namespace heddle {
namespace {

constexpr std::array<std::string_view, 8> kEndsWell = {"exit",         "_exit",   "_Exit",     "quick_exit",
                                                       "pthread_exit", "longjmp", "thrd_exit", "siglongjmp"};
constexpr size_t kMostValues = 256;  // of one condition

// The call behind which nothing comes, if the block leads nowhere else.
const llvm::CallBase* failing_call_of(const llvm::BasicBlock* block) {
  for (unsigned i = 0; i < 4; ++i) {  // blocks that only tell what is wrong may come before
    if (llvm::isa<llvm::UnreachableInst>(block->getTerminator())) {
      for (const llvm::Instruction& each : llvm::reverse(*block)) {
        const auto* call = llvm::dyn_cast<llvm::CallBase>(&each);
        if (call == nullptr || !call->doesNotReturn()) continue;
        const llvm::Function* callee = call->getCalledFunction();
        if (callee == nullptr) return nullptr;
        const std::string_view name(callee->getName().data(), callee->getName().size());
        return std::ranges::find(kEndsWell, name) == kEndsWell.end() ? call : nullptr;
      }
      return nullptr;
    }
    block = block->getSingleSuccessor();
    if (block == nullptr) return nullptr;
  }
  return nullptr;
}

const llvm::AllocaInst* slot_of(const llvm::Value* pointer) {
  return llvm::dyn_cast<llvm::AllocaInst>(pointer->stripPointerCasts());
}

// The loads that the value is computed from. What is loaded from a local variable was stored there.
std::vector<const llvm::Instruction*> loads_behind(const llvm::Value* value) {
  std::vector<const llvm::Instruction*> out;
  std::vector<const llvm::Value*> open = {value};
  llvm::SmallPtrSet<const llvm::Value*, 16> seen;
  while (!open.empty() && seen.size() < kMostValues) {
    const llvm::Value* at = open.back();
    open.pop_back();
    if (llvm::isa<llvm::Constant>(at) || !seen.insert(at).second) continue;
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(at)) {
      for (const llvm::User* user : argument->getParent()->users())
        if (const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
            call != nullptr && call->getCalledFunction() == argument->getParent() &&
            argument->getArgNo() < call->arg_size())
          open.push_back(call->getArgOperand(argument->getArgNo()));
      continue;
    }
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(at);
    if (instruction == nullptr) continue;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
      out.push_back(load);
      if (const llvm::AllocaInst* slot = slot_of(load->getPointerOperand()))
        for (const llvm::User* user : slot->users())
          if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
              store != nullptr && store->getPointerOperand() == slot)
            open.push_back(store->getValueOperand());
      continue;
    }
    if (llvm::isa<llvm::AtomicRMWInst>(instruction) || llvm::isa<llvm::AtomicCmpXchgInst>(instruction)) {
      out.push_back(instruction);
      continue;
    }
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(instruction)) {
      const llvm::Function* callee = call->getCalledFunction();
      if (callee != nullptr && !callee->isDeclaration()) {
        for (const llvm::BasicBlock& block : *callee)
          if (const auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
              end && end->getReturnValue())
            open.push_back(end->getReturnValue());
        continue;
      }
    }
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction))  // which way was taken: a && b
      for (const llvm::BasicBlock* from : phi->blocks())
        if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(from->getTerminator());
            branch != nullptr && branch->isConditional())
          open.push_back(branch->getCondition());
    for (const llvm::Value* operand : instruction->operands()) open.push_back(operand);
  }
  return out;
}

// Arithmetic of at most 64 bits over what loads returned.
class Evaluation {
 public:
  Evaluation(const Program& program, const Assertions::ValueOfLoad& value_of)
      : program_(program), value_of_(value_of) {}

  std::optional<uint64_t> value(const llvm::Value* at) {
    if (++steps_ > kMostValues) return std::nullopt;
    if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(at))
      return number->getBitWidth() <= 64 ? std::optional(number->getZExtValue()) : std::nullopt;
    if (llvm::isa<llvm::ConstantPointerNull>(at)) return 0;
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(at);
    if (instruction == nullptr) return std::nullopt;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) return loaded(*load);
    if (llvm::isa<llvm::AtomicRMWInst>(instruction)) return value_of_(id(*instruction));
    if (const auto* freeze = llvm::dyn_cast<llvm::FreezeInst>(instruction)) return value(freeze->getOperand(0));
    if (const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(instruction)) return compared(*compare);
    if (const auto* select = llvm::dyn_cast<llvm::SelectInst>(instruction)) {
      const auto condition = value(select->getCondition());
      if (!condition) return std::nullopt;
      return value(*condition != 0 ? select->getTrueValue() : select->getFalseValue());
    }
    if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(instruction)) return changed(*cast);
    if (const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(instruction)) return computed(*binary);
    return std::nullopt;
  }

 private:
  uint32_t id(const llvm::Instruction& instruction) const {
    return static_cast<uint32_t>(program_.id_of(instruction).index());
  }
  unsigned width(const llvm::Value* at) const {
    const llvm::Type* type = at->getType();
    if (type->isPointerTy()) return 64;
    return type->isIntegerTy() && type->getIntegerBitWidth() <= 64 ? type->getIntegerBitWidth() : 0;
  }
  std::optional<llvm::APInt> wide(const llvm::Value* at) {
    const auto bits = value(at);
    if (!bits || width(at) == 0) return std::nullopt;
    return llvm::APInt(64, *bits).zextOrTrunc(width(at));
  }

  std::optional<uint64_t> loaded(const llvm::LoadInst& load) {
    const llvm::AllocaInst* slot = slot_of(load.getPointerOperand());
    if (slot == nullptr) return value_of_(id(load));
    const llvm::Value* only = nullptr;
    for (const llvm::User* user : slot->users()) {
      if (llvm::isa<llvm::LoadInst>(user)) continue;
      if (const auto* marker = llvm::dyn_cast<llvm::IntrinsicInst>(user);
          marker != nullptr && marker->isAssumeLikeIntrinsic())
        continue;
      const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
      if (store == nullptr || store->getPointerOperand() != slot || only != nullptr) return std::nullopt;
      only = store->getValueOperand();
    }
    return only != nullptr ? value(only) : std::nullopt;
  }

  std::optional<uint64_t> compared(const llvm::ICmpInst& compare) {
    const auto left = wide(compare.getOperand(0)), right = wide(compare.getOperand(1));
    if (!left || !right) return std::nullopt;
    return llvm::ICmpInst::compare(*left, *right, compare.getPredicate());
  }

  std::optional<uint64_t> changed(const llvm::CastInst& cast) {
    const auto from = wide(cast.getOperand(0));
    if (!from || width(&cast) == 0) return std::nullopt;
    switch (cast.getOpcode()) {
      case llvm::Instruction::SExt:
        return from->sext(width(&cast)).getZExtValue();
      case llvm::Instruction::ZExt:
      case llvm::Instruction::Trunc:
      case llvm::Instruction::PtrToInt:
      case llvm::Instruction::IntToPtr:
        return from->zextOrTrunc(width(&cast)).getZExtValue();
      default:
        return std::nullopt;
    }
  }

  std::optional<uint64_t> computed(const llvm::BinaryOperator& binary) {
    const auto left = wide(binary.getOperand(0)), right = wide(binary.getOperand(1));
    if (!left || !right) return std::nullopt;
    switch (binary.getOpcode()) {
      case llvm::Instruction::Add:
        return (*left + *right).getZExtValue();
      case llvm::Instruction::Sub:
        return (*left - *right).getZExtValue();
      case llvm::Instruction::Mul:
        return (*left * *right).getZExtValue();
      case llvm::Instruction::And:
        return (*left & *right).getZExtValue();
      case llvm::Instruction::Or:
        return (*left | *right).getZExtValue();
      case llvm::Instruction::Xor:
        return (*left ^ *right).getZExtValue();
      case llvm::Instruction::Shl:
        return left->shl(*right).getZExtValue();
      case llvm::Instruction::LShr:
        return left->lshr(*right).getZExtValue();
      default:
        return std::nullopt;
    }
  }

  const Program& program_;
  const Assertions::ValueOfLoad& value_of_;
  size_t steps_ = 0;
};

}  // namespace

struct Assertions::Tables {
  struct Assertion {
    const llvm::BranchInst* branch = nullptr;
    bool fails_when = false;  // the value of its condition
    uint32_t call = 0;
  };
  const Program& program;
  std::unordered_map<uint32_t, Assertion> assertions;
  std::unordered_map<uint32_t, std::vector<uint32_t>> decided_by;
  std::unordered_map<uint32_t, std::vector<uint32_t>> stored_from;  // as it was asked for
};

Assertions::Assertions(const Program& program) : tables_(new Tables{.program = program}) {
  for (uint32_t i = 0; i < program.instruction_count(); ++i) {
    const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&program.instruction(InstructionId(i)));
    if (branch == nullptr || !branch->isConditional()) continue;
    const llvm::CallBase* when_true = failing_call_of(branch->getSuccessor(0));
    const llvm::CallBase* when_false = failing_call_of(branch->getSuccessor(1));
    if ((when_true == nullptr) == (when_false == nullptr)) continue;
    const llvm::CallBase& call = when_true != nullptr ? *when_true : *when_false;
    tables_->assertions[i] = {.branch = branch,
                              .fails_when = when_true != nullptr,
                              .call = static_cast<uint32_t>(program.id_of(call).index())};
    for (const llvm::Instruction* load : loads_behind(branch->getCondition()))
      tables_->decided_by[static_cast<uint32_t>(program.id_of(*load).index())].push_back(i);
  }
}

Assertions::~Assertions() = default;

const std::vector<uint32_t>& Assertions::decided_by(uint32_t load) const {
  static const std::vector<uint32_t> kNothing;
  const auto found = tables_->decided_by.find(load);
  return found == tables_->decided_by.end() ? kNothing : found->second;
}

const std::vector<uint32_t>& Assertions::stored_from(uint32_t store) const {
  const auto [place, is_new] = tables_->stored_from.try_emplace(store);
  if (!is_new || store >= tables_->program.instruction_count()) return place->second;
  const llvm::Instruction& at = tables_->program.instruction(InstructionId(store));
  const llvm::Value* value = nullptr;
  if (const auto* each = llvm::dyn_cast<llvm::StoreInst>(&at)) value = each->getValueOperand();
  if (const auto* each = llvm::dyn_cast<llvm::AtomicRMWInst>(&at)) value = each->getValOperand();
  if (const auto* each = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&at)) value = each->getNewValOperand();
  if (value != nullptr)
    for (const llvm::Instruction* load : loads_behind(value))
      place->second.push_back(static_cast<uint32_t>(tables_->program.id_of(*load).index()));
  return place->second;
}

uint32_t Assertions::failing_call(uint32_t assertion) const {
  return tables_->assertions.at(assertion).call;
}

std::optional<bool> Assertions::fails(uint32_t assertion, const ValueOfLoad& value_of) const {
  const Tables::Assertion& at = tables_->assertions.at(assertion);
  const auto condition = Evaluation(tables_->program, value_of).value(at.branch->getCondition());
  if (!condition) return std::nullopt;
  return (*condition != 0) == at.fails_when;
}

}  // namespace heddle
