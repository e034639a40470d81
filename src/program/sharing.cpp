#include "program/sharing.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>

#include "program/pointer_flow.h"

namespace heddle {
namespace {

using namespace object_kind;

// Gives each access its verdict from the finished graph.
class Judge {
 public:
  explicit Judge(PointerFlow& flow) : flow_(flow) {}

  Sharing judge(const Access& access) {
    const llvm::Value* object = llvm::getUnderlyingObject(access.pointer, kMaxLookup);
    if (cannot_happen(access, object)) return Sharing::unreachable_code;
    if (access.kind == AccessKind::read && reads_constant(access, object)) return Sharing::constant_memory;
    if (is_uncaptured(object)) {
      return llvm::isa<llvm::AllocaInst>(object) ? Sharing::private_stack : Sharing::private_heap;
    }
    return judge_class(access);
  }

 private:
  // Steps from a pointer back to its object, and uses of an object that are looked at: both bound the work for
  // each access and object, so that the whole stays linear.
  static constexpr unsigned kMaxLookup = 16;
  static constexpr unsigned kMaxUses = 64;

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
    const auto [known, fresh] = uncaptured_.try_emplace(object, false);
    if (fresh) known->second = !llvm::PointerMayBeCaptured(object, true, true, kMaxUses);
    return known->second;
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

  PointerFlow& flow_;
  llvm::DenseMap<const llvm::Value*, bool> uncaptured_;
};

}  // namespace

SharingResult analyse_sharing(const llvm::Module& module, const EffectsTable& effects,
                              const SharingOptions& options) {
  PointerFlow flow(module, effects, options);
  flow.run();
  SharingResult result;
  for (const llvm::Function& function : module) {
    if (function.isDeclarationForLinker()) continue;
    for (const llvm::BasicBlock& block : function) {
      for (const llvm::Instruction& instruction : block) append_accesses(instruction, result.accesses);
    }
  }
  Judge judge(flow);
  for (Access& access : result.accesses) {
    access.sharing = judge.judge(access);
    ++result.counts[static_cast<size_t>(access.sharing)];
  }
  return result;
}

}  // namespace heddle
