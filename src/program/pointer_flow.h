// Where pointers go in a module: the constraints that its instructions put on the points-to graph.
//
// Files: pointer_flow.cpp (values and constants), pointer_flow_instructions.cpp, pointer_flow_calls.cpp (calls
// inside the program and through pointers), pointer_flow_external.cpp (calls that leave it),
// pointer_flow_bytes.cpp (pointers that are copied in pieces).
//
// What counts as a pointer: pointers, and everything a pointer fits in: integers and floating point numbers of
// 64 bits or more (clang copies unions and short structures through them), vectors of that size, aggregates of
// these.
//
// Numbers that lie beside pointers are the enemy of precision: `total += node->value` must not make everything
// that node->next leads to as shared as `total`. So memory has two contents (Held), and a number in a register
// has two parts: `target`, what was stored as a pointer and is copied unseen (memcpy of 8 bytes becomes a load
// and a store of i64), and `numbers`, what is or was an integer. A load that the compiler marked as one of a
// number (type-based alias information, so from -O1 on) has no first part but what was copied to its place.
//
// Assumptions, each a way to be wrong about a program that breaks it:
//   - what is marked as a load of a number does not read memory that was written as a pointer: the optimiser
//     has assumed it before us (-fno-strict-aliasing leaves no marks). A number that was made from a pointer is
//     fine, and so is a pointer that was copied there (memcpy), unless the place is one that was reached by
//     steps of any size;
//   - arithmetic: +, |, &, ^, shifts, - with a plain number, and x / c * c keep a pointer in an integer (tags,
//     alignment, packed words). The difference of two pointers is a number, and so is any other product,
//     quotient or remainder: objects are not found by their distance from other objects (self-relative
//     pointers);
//   - steps: a variable index into bytes leads forward from the pointer that it is added to, unless it is seen
//     to lead back (backward_steps.h); other indices may lead anywhere in the object. So may a constant step of
//     a pointer's size or more back from where a pointer has already walked;
//   - pieces: pointer_flow_bytes.cpp says which copies by bytes, half words and words are seen;
//   - a pointer that leaves the program in a file, pipe or socket comes back through a function whose effects
//   say `input`;
//   - the effects table is right.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <deque>
#include <utility>
#include <vector>

#include "program/effects.h"
#include "program/only_read.h"
#include "program/points_to.h"
#include "program/sharing.h"

namespace heddle {

class PointerFlow {
 public:
  PointerFlow(const llvm::Module& module, const EffectsTable& effects, const SharingOptions& options);

  // Walks the module and closes over calls through pointers. Afterwards the graph is final, escape included.
  void run();

  // The class of what the pointer `value` may point to; kNothing when it is null, or no pointer.
  ClassId target(const llvm::Value* value);
  // Where va_start finds the variadic arguments: memory of the callee's frame.
  ClassId variadic_area(const llvm::Function& function);
  const PointsToGraph& graph() const { return graph_; }
  // The arguments that the place of an effect stands for.
  static llvm::SmallVector<unsigned, 4> arguments_at(const llvm::CallBase& call, Place place);
  // The call's result is an object of its own that nothing else points to yet.
  bool allocates(const llvm::CallBase& call) const;
  // That is so, but it lies in something larger that others may have.
  bool gives_part(const llvm::CallBase& call) const { return parts_.contains(&call); }

 private:
  static constexpr ClassId kNothing = PointsToGraph::kNothing;
  enum class Carry : uint8_t {
    nothing,
    maybe,    // a number that a pointer fits in
    pointer,  // has a pointer type, or holds a member of one
  };
  // One side of an assignment.
  struct Carrier {
    ClassId target = PointsToGraph::kNothing;
    Carry carry = Carry::nothing;
    ClassId numbers = PointsToGraph::kNothing;  // of Carry::maybe
    bool empty() const { return target == PointsToGraph::kNothing && numbers == PointsToGraph::kNothing; }
  };
  // An argument of a call. By value: the callee gets a copy of the object.
  struct Actual {
    Carrier value;
    bool by_value = false;
  };
  struct Shape;  // of functions
  // A call whose callee is known by its class only. Callbacks made by the library have no instruction and may
  // have any number of arguments, all the same.
  struct IndirectCall {
    const llvm::CallBase* call = nullptr;
    size_t index = 0;  // in indirect_calls_
    ClassId callee;
    llvm::SmallVector<Actual, 4> actuals;
    bool any_arity = false;
    Carrier result;
  };

  // pointer_flow.cpp
  void close();
  Carry carry_of(llvm::Type* type);
  Carrier carrier(const llvm::Value* value);
  ClassId constant_target(const llvm::Constant* constant);
  ClassId expression_target(const llvm::ConstantExpr& expression);
  ClassId variable_object(const llvm::GlobalVariable& variable);
  void define(const llvm::Value& value, ClassId target);
  void assign(Carrier to, Carrier from);
  void assign(const llvm::Value& to, const llvm::Value* from);
  void compute(Carrier to, Carrier from);
  void load(Carrier to, ClassId object, bool number);
  void store(Carrier from, ClassId object, bool number);
  void visit_initialiser(const llvm::GlobalVariable& variable);
  void join_contents(ClassId a, ClassId b);
  void become_own_contents(ClassId object);
  ClassId somewhere();

  // pointer_flow_instructions.cpp
  void visit_function(const llvm::Function& function);
  void visit(const llvm::Instruction& instruction);
  void each_word(ClassId object, llvm::Type* type, llvm::function_ref<void(ClassId)> visit);
  void visit_load(const llvm::Instruction& result, const llvm::Value* pointer);
  void visit_store(const llvm::Instruction& store, const llvm::Value* value, const llvm::Value* pointer);
  void visit_update(const llvm::AtomicRMWInst& update);
  void visit_address(const llvm::GetElementPtrInst& address);
  ClassId stepped(ClassId from, const llvm::GEPOperator& step);
  void fold_steps_back();
  void visit_arithmetic(const llvm::BinaryOperator& operation);
  void visit_intrinsic(const llvm::IntrinsicInst& call);
  void visit_other_intrinsic(const llvm::IntrinsicInst& call);

  // pointer_flow_calls.cpp
  void visit_call(const llvm::CallBase& call);
  void visit_assembly(const llvm::CallBase& call);
  Actual actual(const llvm::CallBase& call, unsigned argument);
  void pass(const llvm::Argument& parameter, const Actual& actual);
  void pass_variadic(const llvm::Function& callee, const Actual& actual);
  void call_inside(const llvm::CallBase& call, const llvm::Function& callee);
  void close_new_objects();
  void call_indirect(const llvm::CallBase& call);
  void bind(const IndirectCall& call, const llvm::Function& callee);
  void bind_known_external(const IndirectCall& call, const llvm::Function& callee);
  void add_indirect_call(IndirectCall call);
  void close_indirect_calls();
  void bind_class(llvm::ArrayRef<const IndirectCall*> calls, llvm::ArrayRef<const llvm::Function*> functions);
  Shape shape_of(const llvm::Function& function);
  void unify_signatures(const llvm::Function& first, const llvm::Function& other);
  void called_from_outside(const llvm::Function& function);
  void close_foreign_calls();
  Carrier returned(const llvm::Function& function);

  // pointer_flow_external.cpp
  void call_external(const llvm::CallBase& call, const llvm::Function& callee, const Effects* effects);
  bool call_runtime(const llvm::CallBase& call, const llvm::Function& callee);
  void call_unknown(const llvm::CallBase& call);
  void call_known(const llvm::CallBase& call, const Effects& effects);
  void start_thread(const llvm::CallBase& call, const Effects& effects);
  void apply_sync(const llvm::CallBase& call, const Effects& effects);
  void apply_result(const llvm::CallBase& call, const Effects& effects);
  void apply_memory(const llvm::CallBase& call, const Effects& effects);
  void apply_yields(const llvm::CallBase& call, const Effects& effects);
  void apply_callbacks(const llvm::CallBase& call, const Effects& effects);
  void call_back(const llvm::Value* function, Carrier argument, bool any_arity);
  ClassId allocated(const llvm::CallBase& call);
  void leak(const Actual& actual);
  Carrier foreign() const { return {foreign_, Carry::pointer, PointsToGraph::kNothing}; }
  Carrier as_pointer(ClassId target) const { return {target, Carry::pointer, PointsToGraph::kNothing}; }

  // pointer_flow_bytes.cpp
  void visit_narrow_copies(const llvm::Function& function);

  const llvm::Module& module_;
  const EffectsTable& effects_;
  const SharingOptions& options_;
  OnlyRead reads_;
  PointsToGraph graph_;
  // All that code outside the program may reach. It may store any of it anywhere in it: one class, its own
  // contents.
  ClassId foreign_;
  // An imaginary object that holds the bytes that went out of the program until they come back.
  ClassId outside_;
  ClassId exceptions_;  // exception objects, and what they point to
  ClassId errno_;       // one instance per thread, owned by the library

  llvm::DenseMap<const llvm::Value*, ClassId> targets_;
  llvm::DenseMap<const llvm::Value*, ClassId> numbers_;  // the second part of numbers
  llvm::DenseMap<llvm::Type*, Carry> carries_;
  llvm::DenseMap<const llvm::Function*, Carrier> returned_;
  llvm::DenseMap<const llvm::Function*, ClassId> variadic_areas_;
  llvm::DenseMap<const llvm::CallBase*, ClassId> allocated_;
  std::vector<std::pair<const llvm::CallBase*, ClassId>>
      new_objects_;  // calls inside the program; what callees return
  llvm::DenseSet<const llvm::CallBase*> parts_;
  std::vector<std::pair<ClassId, ClassId>> marked_loads_;  // of numbers: what they load to, and from
  std::vector<ClassId> steps_back_;                        // where constant steps back start
  std::vector<const llvm::Function*> address_taken_;       // in the order found
  std::deque<IndirectCall> indirect_calls_;  // a deque: binding adds more while we hold pointers to some
  llvm::DenseSet<const llvm::Function*> called_from_outside_;
  llvm::DenseSet<std::pair<size_t, const llvm::Function*>> bound_externals_;  // (index of the call, callee)
};

}  // namespace heddle
