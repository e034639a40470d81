// Exceptions: which object is on its way, what is left and where it is caught.
//
// The path says where an exception lands, not what it is. An exception that the program throws is the object
// that __cxa_throw was given, until it is caught; one that code outside throws, or that went through an
// exception_ptr, is not known before __cxa_begin_catch has told its address.
#include "symex/library_calls.h"
#include "symex/thread_interpreter.h"

namespace heddle {
namespace {

llvm::StringRef callee_name(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  return callee != nullptr ? callee->getName() : llvm::StringRef();
}

}  // namespace

// The thread stands in a call that it does not come back from.
void ThreadInterpreter::note_throw() {
  advance();
  if (!active() || next_op().stop != Stop::call) return;
  const auto& call = *llvm::cast<llvm::CallBase>(next_op().instruction);
  const llvm::StringRef name = callee_name(call);
  if (name == "__cxa_throw") {
    machine_.thrown = argument(call, 0);
  } else if (name == "__cxa_rethrow") {
    machine_.thrown = machine_.caught.empty() ? std::nullopt : machine_.caught.back();
  } else {
    machine_.thrown.reset();
    if (machine_.code.plan().call(call).kind == CallPlan::Kind::loud)
      forget_written(call, [](const MemoryEffect&) { return true; });
  }
}

// Of several functions that are left one after another the innermost has thrown it, or has passed it on.
void ThreadInterpreter::leave_by_exception() {
  if (!leaving_ && machine_.top().block != nullptr) note_throw();
  leaving_ = true;
}

void ThreadInterpreter::landed(const llvm::InvokeInst& invoke) {
  if (!active() || machine_.frames.empty()) return;
  SymbolicMachine::Frame& frame = machine_.top();
  if (!stand_at(invoke, Stop::call)) return;
  if (!leaving_) note_throw();
  leaving_ = false;
  called_back_.erase(machine_.frames.size());
  if (!pending_.empty() && pending_.back().first == machine_.frames.size()) {
    abandon(pending_.back().second);
    pending_.pop_back();
  }
  ++frame.next;  // the end of the block, which leads to the landing pad
}

void ThreadInterpreter::note_catch(const llvm::CallBase& call) {
  const llvm::StringRef name = callee_name(call);
  if (name == "__cxa_begin_catch") machine_.caught.push_back(machine_.thrown);
  if (name == "__cxa_end_catch") end_catch(machine_, next_op());
}

void end_catch(SymbolicMachine& machine, const Op&) {
  if (!machine.caught.empty()) machine.caught.pop_back();
}

// It is released when nobody holds it any more, which code outside decides: so its beginning and its end order
// nothing.
void new_exception(SymbolicMachine& machine, uint64_t at, uint64_t size) {
  machine.resize_block(at, size);
  machine.memory.forget(at, size);
}

}  // namespace heddle
