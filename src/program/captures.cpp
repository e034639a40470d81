#include "program/captures.h"

#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/IR/Function.h>

#include <algorithm>

#include "program/calls.h"

namespace heddle {
namespace {

// Both bound the work for each object, so that the whole stays linear.
constexpr unsigned kMaxUses = 64;
constexpr unsigned kMaxDepth = 8;  // calls inside calls

// Kinds that hand a pointer to another thread, whatever the table says of keeping it
// (pointer_flow_external.cpp).
bool hands_over(SyncKind kind) {
  return kind == HEDDLE_SYNC_thread_create || kind == HEDDLE_SYNC_thread_start_cxx ||
         kind == HEDDLE_SYNC_thread_exit || kind == HEDDLE_SYNC_key_create || kind == HEDDLE_SYNC_key_set;
}

}  // namespace

bool keeps(const llvm::CallBase& call, unsigned argument, const Effects& effects) {
  // The result may lead to the object; so may what is stored behind another argument, or given to a callback.
  if (call.getType()->isPointerTy() || !effects.calls.empty() || hands_over(effects.sync)) return true;
  if (effects.allocation == AllocationKind::reallocate) return true;
  const int number = static_cast<int>(argument);
  if (effects.keeps_argument(number, argument >= call.getFunctionType()->getNumParams())) return true;
  const bool yielded = std::ranges::any_of(effects.yields, [&](const YieldedPointer& each) {
    return each.kind == YieldedPointer::Kind::argument && each.argument == number;
  });
  // Lists and trees are linked so.
  const bool linked = std::ranges::any_of(effects.memory, [&](const MemoryEffect& each) {
    return each.writes && each.extent.kind == Extent::Kind::reachable && each.place.argument != number;
  });
  return yielded || linked;
}

class Captures::Tracker : public llvm::CaptureTracker {
 public:
  explicit Tracker(Captures& captures) : captures_(captures) {}

  void tooManyUses() override { found = true; }
  bool captured(const llvm::Use* use) override { return found |= captures_.captured_by_call(*use); }

  bool found = false;

 private:
  Captures& captures_;
};

bool Captures::captured(const llvm::Value& pointer) {
  // A function that calls itself finds its argument captured while it is looked at.
  const auto known = captured_.find(&pointer);
  if (known != captured_.end() || depth_ == kMaxDepth) return known == captured_.end() || known->second;
  captured_[&pointer] = true;
  ++depth_;
  Tracker tracker(*this);
  llvm::PointerMayBeCaptured(&pointer, &tracker, kMaxUses);
  --depth_;
  return captured_[&pointer] = tracker.found;
}

// LLVM knows only that the use might capture.
bool Captures::captured_by_call(const llvm::Use& use) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(use.getUser());
  if (call == nullptr || !call->isArgOperand(&use)) return true;
  const unsigned argument = call->getArgOperandNo(&use);
  const CallInfo info = classify_call(*call, effects_);
  if (info.effects != nullptr) return keeps(*call, argument, *info.effects);
  return info.cls != CallClass::inside || info.callee->getFunctionType() != call->getFunctionType() ||
         argument >= info.callee->arg_size() || captured(*info.callee->getArg(argument));
}

}  // namespace heddle
