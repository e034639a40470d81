#include "symex/thread_signals.h"

#include <map>

#include "symex/thread_interpreter.h"

namespace heddle {

void ThreadInterpreter::took_signal(const llvm::CallBase& call, const ReturnedEntry& returned) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !returned.result) return;
  const auto result = static_cast<int32_t>(*returned.result);
  const llvm::StringRef name = callee->getName();
  if ((name == "sigwait" && result == 0) || ((name == "sigwaitinfo" || name == "sigtimedwait") && result > 0))
    took(HEDDLE_SYNC_thread_kill);
}

// Controlled runs may have no event here. Others must be able to come in before it: it is no part of the step before.
void ThreadInterpreter::took(heddle_sync_kind kind) {
  ++machine_.step;
  Event& event =
      machine_.add_event(EventKind::semaphore_wait, machine_.frames.empty() ? nullptr : machine_.current());
  event.sync = static_cast<uint8_t>(kind);
  event.address = signal_object(machine_.thread_pointer, kind);
  event.occurrence = 0;
}

void forget_signals_from_outside(Trace& trace) {
  std::map<uint64_t, int64_t> left;
  const auto each = [&](auto&& visit) {
    for (ThreadTrace& thread : trace.threads)
      for (Event& event : thread.events)
        if (event.sync == HEDDLE_SYNC_thread_kill || event.sync == HEDDLE_SYNC_thread_cancel) visit(event);
  };
  each([&](const Event& event) { left[event.address] += event.kind == EventKind::semaphore_post ? 1 : -1; });
  each([&](Event& event) {
    if (left[event.address] < 0) event.kind = EventKind::sync;
  });
}

}  // namespace heddle
