// Kinds of mutexes: recursive, robust. glibc keeps the kind in the fifth word of a mutex; what writes it there
// does not tell, so it is followed from the attributes.
#include "symex/thread_interpreter.h"

namespace heddle {
namespace {

constexpr uint64_t kKindOffset = 16;
constexpr uint32_t kTypeBits = 3, kRecursive = 1, kRobust = 16;

uint32_t kind_of(SymbolicMachine& machine, uint64_t mutex) {
  uint32_t kind = 0;
  return machine.memory.read(mutex + kKindOffset, {reinterpret_cast<uint8_t*>(&kind), sizeof kind}) ? kind : 0;
}

}  // namespace

bool SymbolicMachine::is_recursive(uint64_t mutex) {
  return (kind_of(*this, mutex) & kTypeBits) == kRecursive;
}

bool SymbolicMachine::is_robust(uint64_t mutex) {
  return (kind_of(*this, mutex) & kRobust) != 0;
}

void ThreadInterpreter::note_attribute(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  const std::optional<uint64_t> attributes = argument(call, 0);
  if (callee == nullptr || !attributes) return;
  const llvm::StringRef name = callee->getName();
  if (name == "pthread_mutexattr_init") mutex_kinds_.erase(*attributes);
  const std::optional<uint64_t> value = argument(call, 1);
  if (!value) return;
  uint32_t& kind = mutex_kinds_[*attributes];
  if (name == "pthread_mutexattr_settype")
    kind = (kind & kRobust) | static_cast<uint32_t>(*value & kTypeBits);
  else if (name == "pthread_mutexattr_setrobust" || name == "pthread_mutexattr_setrobust_np")
    kind = (kind & kTypeBits) | (*value != 0 ? kRobust : 0);
}

void ThreadInterpreter::note_mutex_kind(const llvm::CallBase& call, uint64_t mutex) {
  const std::optional<uint64_t> how = argument(call, 1);
  if (!how) return;
  uint32_t kind = 0;
  if (const llvm::Function* callee = call.getCalledFunction(); callee && callee->getName() == "mtx_init") {
    kind = *how & kRecursive;  // mtx_recursive has the same bit
  } else if (const auto found = mutex_kinds_.find(*how); found != mutex_kinds_.end()) {
    kind = found->second;
  }
  machine_.write_from_outside(mutex + kKindOffset, {reinterpret_cast<const uint8_t*>(&kind), sizeof kind},
                              false);
}

void ThreadInterpreter::forget_robust(uint64_t mutex) {
  const auto held = robust_mutexes_.find(mutex);
  if (held != robust_mutexes_.end() && --held->second == 0) robust_mutexes_.erase(held);
}

}  // namespace heddle
