#include "program/sharing.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "program/backward_steps.h"
#include "program/calls.h"
#include "program/captures.h"
#include "program/pointer_flow.h"
#include "program/settled_memory.h"

namespace heddle {
namespace {

using namespace object_kind;

// Gives each access its verdict from the finished graph.
class Judge {
 public:
  Judge(PointerFlow& flow, const EffectsTable& effects) : flow_(flow), effects_(effects), captures_(effects) {}

  ArgumentAccess judge(ArgumentAccess access) {
    const llvm::Value* pointer = access.call->getArgOperand(access.argument);
    const bool writes = access.effect != nullptr && access.effect->writes;
    Access behind{
        .instruction = access.call, .pointer = pointer, .kind = writes ? AccessKind::write : AccessKind::read};
    judge(behind);
    access.sharing = behind.sharing;
    access.lent = behind.lent;
    access.memory = behind.memory;
    if (access.sharing != Sharing::unreachable_code && access.effect != nullptr &&
        reaches_further(*access.effect) && leads_to_shared(flow_.target(pointer)))
      access.sharing = Sharing::shared;
    access.foreign = (flow_.graph().kinds(flow_.target(pointer)) & kForeign) != 0;
    return access;
  }

  bool gives_private_memory(const llvm::CallBase& call) {
    const Effects* known = classify_call(call, effects_).effects;
    if (flow_.gives_part(call)) return false;
    if (flow_.allocates(call) || (known != nullptr && known->allocation == AllocationKind::reallocate))
      return is_uncaptured(&call) || is_private(flow_.target(&call));
    if (known == nullptr) return false;
    for (const YieldedPointer& yielded : known->yields)
      if (yielded.kind == YieldedPointer::Kind::fresh)
        for (const unsigned i : PointerFlow::arguments_at(call, yielded.place))
          return is_private(flow_.graph().known_contents(flow_.target(call.getArgOperand(i))));
    return false;
  }

  void judge(Access& access) {
    access.memory = flow_.graph().region(flow_.target(access.pointer)).value;
    access.sharing = verdict(access);
    access.lent =
        access.sharing != Sharing::shared && access.sharing != Sharing::unreachable_code &&
        (judge_class(access) == Sharing::shared || flow_.graph().region_escaped(flow_.target(access.pointer)));
  }

 private:
  Sharing verdict(const Access& access) {
    const llvm::Value* object = llvm::getUnderlyingObject(access.pointer, kMaxLookup);
    if (cannot_happen(access, object)) return Sharing::unreachable_code;
    if (access.kind == AccessKind::read && reads_constant(access, object)) return Sharing::constant_memory;
    if (is_uncaptured(object) && !leads_out(access.pointer, object)) {
      return llvm::isa<llvm::AllocaInst>(object) ? Sharing::private_stack : Sharing::private_heap;
    }
    return judge_class(access);
  }

  // Steps from a pointer back to its object: bounds the work for each access, so that the whole stays linear.
  static constexpr unsigned kMaxLookup = 16;

  static bool cannot_happen(const Access& access, const llvm::Value* object) {
    if (llvm::isa<llvm::UndefValue>(object)) return true;
    return llvm::isa<llvm::ConstantPointerNull>(object) &&
           llvm::isa<llvm::ConstantPointerNull>(access.pointer) &&
           !llvm::NullPointerIsDefined(access.instruction->getFunction(),
                                       object->getType()->getPointerAddressSpace());
  }

  static bool reads_constant(const Access& access, const llvm::Value* object) {
    const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(object);
    if (variable != nullptr && variable->isConstant()) return true;
    return access.instruction->hasMetadata(llvm::LLVMContext::MD_invariant_load);
  }

  // Unification may have merged an object with others that escape, although its own address goes nowhere.
  // Trusts `nocapture`: a library function declared so by hand (noescape) that lends the object to other
  // threads before it returns would make this wrong.
  bool is_uncaptured(const llvm::Value* object) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(object);
    if (!llvm::isa<llvm::AllocaInst>(object) && (call == nullptr || !flow_.allocates(*call))) return false;
    return !captures_.captured(*object);
  }

  // To what lies before a part of something larger.
  bool leads_out(const llvm::Value* pointer, const llvm::Value* object) const {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(object);
    if (call == nullptr || !flow_.gives_part(*call)) return false;
    while (pointer != object) {
      const auto* step = llvm::dyn_cast<llvm::GEPOperator>(pointer);
      if (step == nullptr || steps_back(*step, call->getModule()->getDataLayout())) return true;
      pointer = step->getPointerOperand();
    }
    return false;
  }

  Sharing judge_class(const Access& access) {
    const ClassId target = flow_.target(access.pointer);
    const ObjectKinds kinds = flow_.graph().kinds(target);
    constexpr ObjectKinds kImmutable = kConstant | kFunction | kForeignFunction;
    if (access.kind == AccessKind::read && (kinds & kConstant) != 0 && (kinds & ~kImmutable) == 0) {
      return Sharing::constant_memory;
    }
    if (flow_.graph().escaped(target)) return Sharing::shared;
    if ((kinds & kHeap) != 0) return Sharing::private_heap;
    if ((kinds & kStack) != 0) return Sharing::private_stack;
    if ((kinds & kThreadLocal) != 0) return Sharing::thread_local_store;
    // No object at all: code that never runs, or a pointer that came from where we cannot see (an address
    // written as a number). Code that never runs costs nothing when it is taken for shared.
    return Sharing::shared;
  }

  bool is_private(ClassId object) const {
    return object != PointsToGraph::kNothing && !flow_.graph().escaped(object);
  }

  // The bytes are, or may be, behind pointers in the object that the argument points to.
  static bool reaches_further(const MemoryEffect& effect) {
    return effect.extent.kind == Extent::Kind::iovec || effect.extent.kind == Extent::Kind::reachable;
  }

  bool leads_to_shared(ClassId from) {
    llvm::SmallVector<ClassId, 8> todo{flow_.graph().find(from)};
    llvm::DenseSet<uint32_t> passed;
    while (!todo.empty()) {
      const ClassId at = todo.pop_back_val();
      if (flow_.graph().escaped(at)) return true;
      if (passed.insert(at.value).second) llvm::append_range(todo, flow_.graph().all_contents(at));
    }
    return false;
  }

  PointerFlow& flow_;
  const EffectsTable& effects_;
  Captures captures_;
};

void append_argument_accesses(const llvm::CallBase& call, const EffectsTable& effects,
                              std::vector<ArgumentAccess>& out) {
  if (llvm::isa<llvm::IntrinsicInst>(call)) return;
  for (unsigned i = 0; i < call.arg_size(); ++i)
    if (call.isByValArgument(i)) out.push_back({.call = &call, .argument = i});
  const Effects* known = classify_call(call, effects).effects;
  if (known == nullptr) return;
  for (const MemoryEffect& effect : known->memory)
    for (const unsigned i : PointerFlow::arguments_at(call, effect.place))
      if (call.getArgOperand(i)->getType()->isPointerTy())
        out.push_back({.call = &call, .argument = i, .effect = &effect});
}

void find_passed_memory(const llvm::Function& function, PointerFlow& flow, SharingResult& out) {
  for (const llvm::Argument& argument : function.args())
    if (argument.hasByValAttr()) out.by_value[&argument] = flow.graph().region(flow.target(&argument)).value;
  if (function.isVarArg()) out.variadic[&function] = flow.graph().region(flow.variadic_area(function)).value;
}

}  // namespace

SharingResult analyse_sharing(const llvm::Module& module, const EffectsTable& effects,
                              const SharingOptions& options) {
  PointerFlow flow(module, effects, options);
  flow.run();
  Judge judge(flow, effects);
  SharingResult result;
  for (const llvm::Function& function : module) {
    if (function.isDeclarationForLinker()) continue;
    find_passed_memory(function, flow, result);
    for (const llvm::BasicBlock& block : function) {
      for (const llvm::Instruction& instruction : block) {
        append_accesses(instruction, result.accesses);
        const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (call == nullptr) continue;
        append_argument_accesses(*call, effects, result.argument_accesses);
        if (judge.gives_private_memory(*call)) result.private_allocations.insert(call);
      }
    }
  }
  for (Access& access : result.accesses) {
    judge.judge(access);
    ++result.counts[static_cast<size_t>(access.sharing)];
  }
  for (ArgumentAccess& access : result.argument_accesses) access = judge.judge(access);
  mark_settled(module, effects, options, flow, result.accesses);
  return result;
}

}  // namespace heddle
