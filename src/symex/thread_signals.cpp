#include "symex/thread_signals.h"

#include <array>
#include <cstring>
#include <map>

#include "symex/thread_interpreter.h"

namespace heddle {

// Controlled runs may have no event here.
void ThreadInterpreter::took_signal(const llvm::CallBase& call, const ReturnedEntry& returned) {
  const llvm::Function* callee = call.getCalledFunction();
  if (callee == nullptr || !returned.result) return;
  uint32_t number = 0;
  if (callee->getName() == "sigwait") {
    const std::optional<uint64_t> to = argument(call, 1);
    std::array<uint8_t, sizeof number> bytes{};
    if (*returned.result != 0 || !to || !machine_.memory.read(*to, bytes)) return;
    std::memcpy(&number, bytes.data(), sizeof number);
  } else if (callee->getName() == "sigwaitinfo" || callee->getName() == "sigtimedwait") {
    number = static_cast<uint32_t>(*returned.result);
    if (static_cast<int32_t>(number) <= 0) return;
  } else {
    return;
  }
  Event& event = machine_.add_event(EventKind::semaphore_wait, machine_.current());
  event.sync = HEDDLE_SYNC_thread_kill;
  event.address = machine_.thread_pointer + number;
  event.occurrence = 0;
}

void forget_signals_from_outside(Trace& trace) {
  std::map<uint64_t, int64_t> left;
  const auto each = [&](auto&& visit) {
    for (ThreadTrace& thread : trace.threads)
      for (Event& event : thread.events)
        if (event.sync == HEDDLE_SYNC_thread_kill) visit(event);
  };
  each([&](const Event& event) { left[event.address] += event.kind == EventKind::semaphore_post ? 1 : -1; });
  each([&](Event& event) {
    if (left[event.address] < 0) event.kind = EventKind::sync;
  });
}

}  // namespace heddle
