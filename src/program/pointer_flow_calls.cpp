// Calls inside the program, and calls through pointers.
//
// A call through a pointer goes to the functions in the pointer's class that take no more arguments than it
// gives (callbacks that ignore their last parameters are common in C). Classes grow while such calls are bound,
// so this is repeated until nothing changes. All functions of one shape in one class are made one signature
// first: the cost is calls plus functions, not calls times functions.
#include <llvm/ADT/MapVector.h>
#include <llvm/IR/InlineAsm.h>

#include "program/calls.h"
#include "program/pointer_flow.h"

namespace heddle {

using namespace object_kind;

void PointerFlow::visit_call(const llvm::CallBase& call) {
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call)) return visit_intrinsic(*intrinsic);
  const CallInfo info = classify_call(call, effects_);
  switch (info.cls) {
    case CallClass::inline_assembly:
      return visit_assembly(call);
    case CallClass::inside:
      return call_inside(call, *info.callee);
    case CallClass::indirect:
      return call_indirect(call);
    case CallClass::intrinsic:  // an invoke of one: patch points and the like
      return call_unknown(call);
    case CallClass::synchronisation:
    case CallClass::allocation:
    case CallClass::known_external:
    case CallClass::unknown_external:
      return call_external(call, *info.callee, info.effects);
  }
}

// Assembly may do anything with what it is given. Without anything that could be a pointer its numbers (time
// stamps, processor features) are numbers. What has no text and says nothing of memory is there to keep values
// alive (instrument/embed/loop_counters.h).
void PointerFlow::visit_assembly(const llvm::CallBase& call) {
  const auto* assembly = llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
  if (call.getType()->isVoidTy() && assembly->getAsmString().empty() && assembly->getConstraintString() == "r")
    return;
  const bool given =
      llvm::any_of(call.args(), [&](const llvm::Use& use) { return !carrier(use.get()).empty(); });
  if (given || carry_of(call.getType()) == Carry::pointer) call_unknown(call);
}

PointerFlow::Actual PointerFlow::actual(const llvm::CallBase& call, unsigned argument) {
  return {carrier(call.getArgOperand(argument)), call.isByValArgument(argument)};
}

void PointerFlow::pass(const llvm::Argument& parameter, const Actual& actual) {
  if (actual.value.empty()) return;
  if (!parameter.hasByValAttr() && !actual.by_value) {
    if (actual.value.carry != Carry::pointer || !reads_.only_read(parameter))
      return assign(carrier(&parameter), actual.value);
    // It stands for an object of its own, with the contents of all that it is given to look at.
    graph_.copy(target(&parameter), actual.value.target,
                reads_.looks_back(parameter) ? PointsToGraph::kAllAround : PointsToGraph::kToTheEnd);
    return graph_.lend(actual.value.target, target(&parameter));
  }
  graph_.add_object(target(&parameter), kStack);  // the copy
  graph_.copy(target(&parameter), actual.value.target);
}

void PointerFlow::pass_variadic(const llvm::Function& callee, const Actual& actual) {
  if (actual.value.empty()) return;
  if (actual.by_value) {
    graph_.copy(variadic_area(callee), actual.value.target);
  } else {
    store(actual.value, variadic_area(callee), false);
  }
}

PointerFlow::Carrier PointerFlow::returned(const llvm::Function& function) {
  const auto known = returned_.find(&function);
  if (known != returned_.end()) return known->second;
  Carrier made{.carry = carry_of(function.getReturnType())};
  if (made.carry != Carry::nothing) made.target = graph_.make();
  if (made.carry == Carry::maybe) made.numbers = graph_.make();
  return returned_[&function] = made;
}

ClassId PointerFlow::variadic_area(const llvm::Function& function) {
  const auto known = variadic_areas_.find(&function);
  if (known != variadic_areas_.end()) return known->second;
  const ClassId made = graph_.make(kStack);
  graph_.fold_whole(made);
  return variadic_areas_[&function] = made;
}

// A function whose result is a new object each time (malloc's wrappers) has one object per call, with contents
// of one class. Its own accesses to the object are judged like those of the call that does worst: the object
// that it fills in is the one that escapes later.
void PointerFlow::call_inside(const llvm::CallBase& call, const llvm::Function& callee) {
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    if (i < callee.arg_size()) {
      pass(*callee.getArg(i), actual(call, i));
    } else {
      pass_variadic(callee, actual(call, i));
    }
  }
  if (carry_of(call.getType()) == Carry::nothing) return;
  const Carrier result = returned(callee);
  if (call.getType()->isPointerTy() && result.carry == Carry::pointer && callee.returnDoesNotAlias()) {
    const ClassId object = allocated(call);
    graph_.copy(object, result.target, PointsToGraph::kAllAround);
    graph_.copy(result.target, object, PointsToGraph::kAllAround);
    graph_.lend(object, result.target);
    new_objects_.emplace_back(&call, result.target);
    return;
  }
  assign(carrier(&call), result);
}

// A block with something before it (a header by which all blocks are in a list), or out of a block that the
// program divides itself, is no object of its own: who has it may come to what others have.
void PointerFlow::close_new_objects() {
  llvm::DenseMap<uint32_t, ClassId> blocks;  // by class: where a block begins
  llvm::DenseSet<uint32_t> inside;           // classes in which they begin at different places
  for (const auto& [call, block] : allocated_) {
    const auto [known, fresh] = blocks.try_emplace(graph_.find(block).value, block);
    if (!fresh && !graph_.same_place(known->second, block)) inside.insert(known->first);
  }
  for (const auto& [call, result] : new_objects_) {
    const uint32_t found = graph_.find(result).value;
    const auto block = blocks.find(found);
    const bool whole = block == blocks.end() || graph_.same_place(block->second, result);
    if (whole && !inside.contains(found) && (graph_.kinds(result) & kGlobal) == 0) continue;
    graph_.join(allocated_.at(call), result);
    parts_.insert(call);
  }
}

void PointerFlow::call_indirect(const llvm::CallBase& call) {
  IndirectCall made;
  made.call = &call;
  made.callee = target(call.getCalledOperand());
  made.result = carrier(&call);
  for (unsigned i = 0; i < call.arg_size(); ++i) made.actuals.push_back(actual(call, i));
  add_indirect_call(std::move(made));
}

void PointerFlow::add_indirect_call(IndirectCall call) {
  call.index = indirect_calls_.size();
  indirect_calls_.push_back(std::move(call));
}

void PointerFlow::bind(const IndirectCall& call, const llvm::Function& callee) {
  const size_t given = call.any_arity ? callee.arg_size() : call.actuals.size();
  for (unsigned i = 0; i < given; ++i) {
    const Actual& actual = call.actuals[call.any_arity ? 0 : i];
    if (i < callee.arg_size()) {
      pass(*callee.getArg(i), actual);
    } else {
      pass_variadic(callee, actual);
    }
  }
  assign(call.result, returned(callee));
}

// A function of a library whose address was taken. Callbacks made by another library function have no
// instruction to apply effects to; what such a callback keeps is foreign.
void PointerFlow::bind_known_external(const IndirectCall& call, const llvm::Function& callee) {
  if (!bound_externals_.insert({call.index, &callee}).second) return;
  const Effects* effects = effects_.find(std::string_view(callee.getName().data(), callee.getName().size()));
  if (call.call != nullptr) {
    const bool fits = effects != nullptr && static_cast<size_t>(effects->arguments) <= call.actuals.size();
    return call_external(*call.call, callee, fits ? effects : nullptr);
  }
  if (effects != nullptr && effects->keeps.empty()) return;
  for (const Actual& actual : call.actuals) leak(actual);
}

// Functions of one shape can be called by the same calls with the same meaning. What carries nothing in the one
// function is no way to the other one, so there they must be alike too.
struct PointerFlow::Shape {
  Carry result = Carry::nothing;
  llvm::SmallVector<Carry, 8> parameters;
  bool variadic = false;
  uint64_t by_value = 0;  // bit i: parameter i; later ones are cut off and cost precision only
  friend bool operator==(const Shape&, const Shape&) = default;
};

PointerFlow::Shape PointerFlow::shape_of(const llvm::Function& function) {
  Shape shape{.result = carry_of(function.getReturnType()), .variadic = function.isVarArg()};
  for (const llvm::Argument& argument : function.args()) {
    shape.parameters.push_back(carry_of(argument.getType()));
    if (argument.hasByValAttr() && argument.getArgNo() < 64)
      shape.by_value |= uint64_t{1} << argument.getArgNo();
  }
  return shape;
}

void PointerFlow::unify_signatures(const llvm::Function& first, const llvm::Function& other) {
  for (const llvm::Argument& parameter : first.args()) {
    pass(*other.getArg(parameter.getArgNo()), {carrier(&parameter), parameter.hasByValAttr()});
  }
  if (first.isVarArg()) graph_.join(variadic_area(first), variadic_area(other));
  assign(returned(first), returned(other));
}

void PointerFlow::bind_class(llvm::ArrayRef<const IndirectCall*> calls,
                             llvm::ArrayRef<const llvm::Function*> functions) {
  llvm::SmallVector<std::pair<Shape, const llvm::Function*>, 4> shapes;
  for (const llvm::Function* function : functions) {
    if (function->isDeclarationForLinker()) {
      for (const IndirectCall* call : calls) bind_known_external(*call, *function);
      continue;
    }
    const Shape shape = shape_of(*function);
    const auto* same = llvm::find_if(shapes, [&](const auto& entry) { return entry.first == shape; });
    if (same == shapes.end()) {
      shapes.emplace_back(shape, function);
    } else {
      unify_signatures(*same->second, *function);
    }
  }
  for (const auto& [shape, function] : shapes) {
    for (const IndirectCall* call : calls) {
      if (call->any_arity || shape.parameters.size() <= call->actuals.size()) bind(*call, *function);
    }
  }
}

void PointerFlow::close_indirect_calls() {
  llvm::MapVector<uint32_t, llvm::SmallVector<const IndirectCall*, 4>> callers;
  const size_t known = indirect_calls_.size();  // binding can add calls: those wait for the next round
  for (size_t i = 0; i < known; ++i) {
    const IndirectCall& call = indirect_calls_[i];
    const ClassId callee = graph_.find(call.callee);
    if (callee == kNothing) continue;
    if ((graph_.kinds(callee) & kForeignFunction) != 0) {
      for (const Actual& actual : call.actuals) leak(actual);
      assign(call.result, foreign());
    }
    callers[callee.value].push_back(&call);
  }
  llvm::DenseMap<uint32_t, llvm::SmallVector<const llvm::Function*, 4>> functions;
  for (const llvm::Function* function : address_taken_) {
    functions[graph_.find(target(function)).value].push_back(function);
  }
  for (const auto& [callee, class_calls] : callers) {
    const auto found = functions.find(callee);
    if (found != functions.end()) bind_class(class_calls, found->second);
  }
}

// Code outside the program calls this function: with foreign memory, and gets its result.
void PointerFlow::called_from_outside(const llvm::Function& function) {
  if (!called_from_outside_.insert(&function).second || function.isDeclarationForLinker()) return;
  for (const llvm::Argument& parameter : function.args()) {
    if (parameter.hasByValAttr()) {
      join_contents(target(&parameter), foreign_);
    } else {
      assign(carrier(&parameter), foreign());
    }
  }
  if (function.isVarArg()) join_contents(variadic_area(function), foreign_);
  assign(foreign(), returned(function));
}

void PointerFlow::close_foreign_calls() {
  const ClassId outside = graph_.find(foreign_);
  for (const llvm::Function* function : address_taken_) {
    if (graph_.find(target(function)) == outside) called_from_outside(*function);
  }
}

}  // namespace heddle
