#include "program/settled_memory.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "program/calls.h"
#include "program/early_code.h"

namespace heddle {
namespace {

using namespace object_kind;

// The regions that something late writes to.
class LateWrites {
 public:
  LateWrites(const EffectsTable& effects, const EarlyCode& early, PointerFlow& flow)
      : effects_(effects), early_(early), flow_(flow) {}

  void add(const Access& access) {
    if (access.kind != AccessKind::read && !early_.early(*access.instruction)) add_region(access.pointer);
  }

  // New objects, and what calls write.
  void add(const llvm::Function& function) {
    if (!early_.early(function.getEntryBlock().front()))
      for (const llvm::Argument& argument : function.args())
        if (argument.hasByValAttr()) add_region(&argument);  // a copy
    for (const llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if ((call == nullptr && !llvm::isa<llvm::AllocaInst>(instruction)) || early_.early(instruction)) continue;
      if (call == nullptr || flow_.allocates(*call)) add_region(&instruction);
      if (call != nullptr) add(*call);
    }
  }

  bool contains(ClassId id) const { return regions_.contains(flow_.graph().region(id).value); }

 private:
  void add_region(const llvm::Value* pointer) {
    regions_.insert(flow_.graph().region(flow_.target(pointer)).value);
  }

  void add(const llvm::CallBase& call) {
    const CallInfo info = classify_call(call, effects_);
    // Through a pointer a known function may be called. (Of what an unknown one gets, all is foreign.)
    const bool list =
        call.getIntrinsicID() == llvm::Intrinsic::vastart || call.getIntrinsicID() == llvm::Intrinsic::vacopy;
    if (info.cls == CallClass::indirect || list)
      for (const llvm::Use& argument : call.args()) add_reachable(argument);
    if (info.effects == nullptr) return;
    if (info.effects->allocation != AllocationKind::none) add_region(&call);
    // The byte by which the program's own code sees that a local static has its value (Itanium C++ ABI 3.3.3).
    if (info.effects->sync == HEDDLE_SYNC_guard_release) add_region(call.getArgOperand(0));
    for (const MemoryEffect& effect : info.effects->memory)
      if (effect.writes) add_written(call, effect);
    for (const YieldedPointer& yielded : info.effects->yields)
      for (const unsigned i : PointerFlow::arguments_at(call, yielded.place)) add_region(call.getArgOperand(i));
  }

  void add_written(const llvm::CallBase& call, const MemoryEffect& effect) {
    const bool further =
        effect.extent.kind == Extent::Kind::iovec || effect.extent.kind == Extent::Kind::reachable;
    for (const unsigned i : PointerFlow::arguments_at(call, effect.place)) {
      if (further) {
        add_reachable(call.getArgOperand(i));
      } else {
        add_region(call.getArgOperand(i));
      }
    }
  }

  void add_reachable(const llvm::Value* pointer) {
    llvm::SmallVector<ClassId, 8> todo{flow_.graph().find(flow_.target(pointer))};
    while (!todo.empty()) {
      const ClassId at = todo.pop_back_val();
      if (at == PointsToGraph::kNothing || !followed_.insert(at.value).second) continue;
      regions_.insert(flow_.graph().region(at).value);
      llvm::append_range(todo, flow_.graph().all_contents(at));
    }
  }

  const EffectsTable& effects_;
  const EarlyCode& early_;
  PointerFlow& flow_;
  llvm::DenseSet<uint32_t> regions_;
  llvm::DenseSet<uint32_t> followed_;  // to all that they lead to
};

}  // namespace

void mark_settled(const llvm::Module& module, const EffectsTable& effects, const SharingOptions& options,
                  PointerFlow& flow, std::vector<Access>& accesses) {
  const EarlyCode early(module, effects, options.foreign_callers);
  LateWrites late(effects, early, flow);
  for (const Access& access : accesses) late.add(access);
  for (const llvm::Function& function : module)
    if (!function.isDeclarationForLinker()) late.add(function);
  for (Access& access : accesses) {
    if (access.sharing != Sharing::shared || access.kind != AccessKind::read) continue;
    const ClassId target = flow.target(access.pointer);
    const ObjectKinds kinds = flow.graph().kinds(target);
    const bool known_objects = kinds != 0 && (kinds & (kForeign | kForeignFunction | kThreadLocal)) == 0;
    access.settled = known_objects && !access.instruction->isVolatile() &&
                     (early.early(*access.instruction) || !late.contains(target));
  }
}

}  // namespace heddle
