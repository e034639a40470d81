// Calls that leave the program: what the effects table says, what the C++ runtime is known to do, and the worst
// for everything else.
#include <llvm/ADT/StringSwitch.h>

#include <algorithm>

#include "program/pointer_flow.h"

namespace heddle {

using namespace object_kind;

void PointerFlow::call_external(const llvm::CallBase& call, const llvm::Function& callee,
                                const Effects* effects) {
  if (call_runtime(call, callee)) return;
  if (effects == nullptr) {
    call_unknown(call);
  } else {
    call_known(call, *effects);
  }
}

namespace {

enum class Runtime {
  none,
  new_exception,    // the result is an exception object
  throw_exception,  // (object, type, destructor)
  catch_exception,  // (exception) -> object
  call_at_exit,     // (function, argument, module): called by whichever thread ends the program
  call_at_thread_exit,
  own_errno,    // the calling thread's errno
  same_object,  // the result points to the object of the first argument
  no_pointers,  // keeps and gives nothing
};

// The language's own runtime: a table entry has no words for exceptions.
Runtime runtime_function(llvm::StringRef name) {
  return llvm::StringSwitch<Runtime>(name)
      .Case("__cxa_allocate_exception", Runtime::new_exception)
      .Case("__cxa_throw", Runtime::throw_exception)
      .Cases("__cxa_begin_catch", "__cxa_get_exception_ptr", Runtime::catch_exception)
      .Cases("__cxa_atexit", "__cxa_at_quick_exit", Runtime::call_at_exit)
      .Cases("__cxa_thread_atexit", "__cxa_thread_atexit_impl", Runtime::call_at_thread_exit)
      .Case("__errno_location", Runtime::own_errno)
      .Case("__dynamic_cast", Runtime::same_object)
      .Cases("__cxa_end_catch", "__cxa_rethrow", "__cxa_free_exception", "_Unwind_Resume",
             "__cxa_call_unexpected", Runtime::no_pointers)
      .Cases("__cxa_pure_virtual", "__cxa_deleted_virtual", Runtime::no_pointers)
      .Default(Runtime::none);
}

}  // namespace

bool PointerFlow::call_runtime(const llvm::CallBase& call, const llvm::Function& callee) {
  const Carrier exception = as_pointer(exceptions_);
  const auto argument = [&](unsigned i) {
    return call.arg_size() > i ? carrier(call.getArgOperand(i)) : Carrier{};
  };
  switch (runtime_function(callee.getName())) {
    case Runtime::none:
      return false;
    case Runtime::new_exception:
      assign(carrier(&call), exception);
      return true;
    case Runtime::throw_exception:
      assign(exception, argument(0));
      if (call.arg_size() > 2) call_back(call.getArgOperand(2), exception, true);
      return true;
    case Runtime::catch_exception:
      assign(exception, argument(0));
      assign(carrier(&call), exception);
      return true;
    case Runtime::call_at_exit:
      graph_.mark_escaped(argument(1).target);
      [[fallthrough]];
    case Runtime::call_at_thread_exit:
      if (call.arg_size() > 1) call_back(call.getArgOperand(0), argument(1), true);
      return true;
    case Runtime::own_errno:
      assign(carrier(&call), as_pointer(errno_));
      return true;
    case Runtime::same_object:
      graph_.fold_whole(argument(0).target);  // a base, or what is derived from it
      assign(carrier(&call), argument(0));
      return true;
    case Runtime::no_pointers:
      return true;
  }
  return false;
}

void PointerFlow::leak(const Actual& actual) {
  if (actual.value.empty()) return;
  if (actual.by_value) {
    graph_.copy(foreign_, actual.value.target);
  } else {
    assign(foreign(), actual.value);
  }
}

void PointerFlow::call_unknown(const llvm::CallBase& call) {
  for (unsigned i = 0; i < call.arg_size(); ++i) leak(actual(call, i));
  assign(carrier(&call), foreign());
}

void PointerFlow::call_known(const llvm::CallBase& call, const Effects& effects) {
  const unsigned fixed = call.getFunctionType()->getNumParams();
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    // The new thread gets the argument: start_thread() knows who that is.
    const bool start = effects.sync == HEDDLE_SYNC_thread_create;
    if (!start && effects.keeps_argument(static_cast<int>(i), i >= fixed)) leak(actual(call, i));
  }
  apply_sync(call, effects);
  apply_memory(call, effects);
  apply_yields(call, effects);
  apply_callbacks(call, effects);
  apply_result(call, effects);
}

void PointerFlow::apply_sync(const llvm::CallBase& call, const Effects& effects) {
  switch (effects.sync) {
    case HEDDLE_SYNC_thread_create:
      return start_thread(call, effects);
    case HEDDLE_SYNC_thread_start_cxx:  // the state object and all it holds belong to the new thread
    case HEDDLE_SYNC_thread_exit:       // the result, for whoever joins
    case HEDDLE_SYNC_key_set:           // the destructor may get it; key_get's result is foreign in return
      for (unsigned i = 0; i < call.arg_size(); ++i) leak(actual(call, i));
      return;
    case HEDDLE_SYNC_key_create:
      for (unsigned i = 1; i < call.arg_size(); ++i) leak(actual(call, i));
      return;
    case HEDDLE_SYNC_thread_join:
    case HEDDLE_SYNC_thread_tryjoin:
    case HEDDLE_SYNC_thread_timedjoin:
      for (const llvm::Use& argument : call.args()) {
        if (!argument->getType()->isPointerTy()) continue;
        join_contents(target(argument.get()), foreign_);
      }
      return;
    default:
      return;
  }
}

// The argument is what two threads have in common; nobody outside the program looks at it. What the thread
// returns goes to whoever joins, through the library.
void PointerFlow::start_thread(const llvm::CallBase& call, const Effects& effects) {
  if (effects.sync_objects.size() < 3) return call_unknown(call);
  const llvm::Value* start = call.getArgOperand(static_cast<unsigned>(effects.sync_objects[1]));
  const Carrier argument = carrier(call.getArgOperand(static_cast<unsigned>(effects.sync_objects[2])));
  graph_.mark_escaped(argument.target);
  graph_.mark_escaped(argument.numbers);
  call_back(start, argument, false);
}

// The library calls a function of ours. Its result is the library's.
void PointerFlow::call_back(const llvm::Value* function, Carrier argument, bool any_arity) {
  IndirectCall made;
  made.actuals.push_back({argument});
  made.any_arity = any_arity;
  made.result = foreign();
  const auto* known = llvm::dyn_cast<llvm::Function>(function->stripPointerCastsAndAliases());
  if (known == nullptr || known->isDeclarationForLinker()) {
    made.callee = target(function);
    add_indirect_call(std::move(made));
  } else {
    bind(made, *known);
  }
}

ClassId PointerFlow::allocated(const llvm::CallBase& call) {
  const auto known = allocated_.find(&call);
  if (known != allocated_.end()) return known->second;
  const ClassId object = graph_.make(kHeap);
  define(call, object);
  return allocated_[&call] = object;
}

bool PointerFlow::allocates(const llvm::CallBase& call) const {
  return allocated_.contains(&call);
}

void PointerFlow::apply_result(const llvm::CallBase& call, const Effects& effects) {
  const Carry carry = carry_of(call.getType());
  if (carry == Carry::nothing) return;
  if (effects.returns == Effects::Returns::argument) {
    const Carrier given = carrier(call.getArgOperand(static_cast<unsigned>(effects.returned_argument)));
    graph_.fold(given.target);  // it may lead further in
    return assign(carrier(&call), given);
  }
  if (effects.returns == Effects::Returns::library) return assign(carrier(&call), foreign());
  switch (effects.allocation) {
    case AllocationKind::reallocate: {
      const Carrier old = carrier(call.getArgOperand(static_cast<unsigned>(effects.allocation_pointer)));
      graph_.add_object(target(&call), kHeap);
      return assign(carrier(&call), old);
    }
    case AllocationKind::allocate:
      if (call.getType()->isPointerTy()) {
        allocated(call);
        return;
      }
      [[fallthrough]];
    default:
      // A number from a known function is a number; a pointer must come from somewhere.
      if (carry == Carry::pointer) assign(carrier(&call), foreign());
  }
}

llvm::SmallVector<unsigned, 4> PointerFlow::arguments_at(const llvm::CallBase& call, Place place) {
  const unsigned fixed = call.getFunctionType()->getNumParams();
  llvm::SmallVector<unsigned, 4> found;
  if (place.argument != Place::kVariadic) {
    if (static_cast<unsigned>(place.argument) < call.arg_size())
      found.push_back(static_cast<unsigned>(place.argument));
  } else {
    for (unsigned i = fixed; i < call.arg_size(); ++i) found.push_back(i);
  }
  return found;
}

namespace {

// Bytes that may hold pointers of the program. Strings do not; library objects hold the library's. Where the
// extent is `reachable`, what is only read is copied deeply (std::string's characters); what is also written
// may have been taken over (moves, swaps, splices).
bool may_hold_pointers(const MemoryEffect& effect) {
  switch (effect.extent.kind) {
    case Extent::Kind::string:
    case Extent::Kind::bounded_string:
    case Extent::Kind::wide_string:
    case Extent::Kind::format:
    case Extent::Kind::object:
      return false;
    case Extent::Kind::reachable:
      return effect.writes;
    default:
      return true;
  }
}

}  // namespace

// Bytes move from what is read to what is written, and, unless the function is a mere computation, out of the
// program and into it.
void PointerFlow::apply_memory(const llvm::CallBase& call, const Effects& effects) {
  const auto objects_at = [&](const MemoryEffect& effect) {
    llvm::SmallVector<ClassId, 4> found;
    for (const unsigned i : arguments_at(call, effect.place)) {
      const ClassId object = target(call.getArgOperand(i));
      if (effect.extent.kind == Extent::Kind::iovec) graph_.fold(object);  // all of an array
      found.push_back(effect.extent.kind == Extent::Kind::iovec ? graph_.contents(object) : object);
    }
    return found;
  };
  const ClassId moved = somewhere();  // an imaginary object between the two
  for (const MemoryEffect& effect : effects.memory) {
    if (!effect.reads || !may_hold_pointers(effect)) continue;
    for (const ClassId object : objects_at(effect)) {
      graph_.copy(moved, object);
      if (!effects.pure) graph_.copy(outside_, object);
    }
  }
  for (const MemoryEffect& effect : effects.memory) {
    if (!effect.writes || !may_hold_pointers(effect)) continue;
    for (const ClassId object : objects_at(effect)) {
      graph_.copy(object, moved);
      if (effects.input) graph_.copy(object, outside_);
    }
  }
}

// More is stored there than a pointer: the table does not say where in it this one is. What points to itself,
// as strings do, has its pointer at the beginning, and so have objects of a size that cannot be said.
static bool is_structure(const Effects& effects, Place place) {
  for (const YieldedPointer& yielded : effects.yields)
    if (yielded.kind == YieldedPointer::Kind::argument && yielded.place == place &&
        yielded.argument == place.argument)
      return false;
  return std::ranges::any_of(effects.memory, [&](const MemoryEffect& effect) {
    if (!effect.writes || effect.place != place) return false;
    switch (effect.extent.kind) {
      case Extent::Kind::bytes:
        return effect.extent.amount > 8;
      case Extent::Kind::argument:
      case Extent::Kind::product:
      case Extent::Kind::returned:
        return true;
      default:
        return false;
    }
  });
}

void PointerFlow::apply_yields(const llvm::CallBase& call, const Effects& effects) {
  for (const YieldedPointer& yielded : effects.yields) {
    for (const unsigned i : arguments_at(call, yielded.place)) {
      const ClassId object = target(call.getArgOperand(i));
      if (is_structure(effects, yielded.place)) graph_.fold(object);
      switch (yielded.kind) {
        case YieldedPointer::Kind::fresh:
          graph_.add_object(graph_.contents(object), kHeap);
          break;
        case YieldedPointer::Kind::argument:
          graph_.fold(target(call.getArgOperand(static_cast<unsigned>(yielded.argument))));
          store(carrier(call.getArgOperand(static_cast<unsigned>(yielded.argument))), object, false);
          break;
        case YieldedPointer::Kind::library:
          store(foreign(), object, false);
          break;
      }
    }
  }
}

// Functions that work on an array (qsort, bsearch) call back with pointers into it, or to a copy that only they
// and the callee see. All others may also pass memory of the library.
void PointerFlow::apply_callbacks(const llvm::CallBase& call, const Effects& effects) {
  if (effects.calls.empty()) return;
  const bool on_array = effects.pure || std::ranges::any_of(effects.memory, [](const MemoryEffect& effect) {
                          return effect.extent.kind == Extent::Kind::product;
                        });
  const Carrier given = as_pointer(somewhere());
  if (!on_array) assign(given, foreign());
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    if (std::ranges::find(effects.calls, static_cast<int>(i)) == effects.calls.end()) {
      assign(given, actual(call, i).value);
    }
  }
  for (const int function : effects.calls) {
    call_back(call.getArgOperand(static_cast<unsigned>(function)), given, true);
  }
}

}  // namespace heddle
