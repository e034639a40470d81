#include "program/pointer_flow.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/GlobalAlias.h>
#include <llvm/IR/GlobalIFunc.h>

#include "program/type_marks.h"

namespace heddle {

using namespace object_kind;

PointerFlow::PointerFlow(const llvm::Module& module, const EffectsTable& effects, const SharingOptions& options)
    : module_(module), effects_(effects), options_(options), reads_(effects) {
  foreign_ = graph_.make(kForeign | kForeignFunction);
  become_own_contents(foreign_);
  outside_ = somewhere();
  graph_.mark_escaped(outside_);
  // catch (T*) gives the pointer that was thrown, catch (T&) a pointer to what was thrown: one class for both.
  exceptions_ = graph_.make(kHeap);
  become_own_contents(exceptions_);
  errno_ = graph_.make(kThreadLocal);
}

// An exception stays in its thread unless somebody takes an exception_ptr (std::promise and std::async do).
static bool exceptions_travel(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    const llvm::StringRef name = function.getName();
    if (name.contains("15__exception_ptr") || name == "_ZSt17current_exceptionv" ||
        name == "__cxa_init_primary_exception") {
      return true;
    }
  }
  return false;
}

// Names and sections the compiler speaks to the linker with: their members are not read by the program.
static bool is_compiler_list(const llvm::GlobalVariable& variable) {
  return variable.getName().starts_with("llvm.");
}

void PointerFlow::run() {
  if (exceptions_travel(module_)) graph_.join(exceptions_, foreign_);
  for (const llvm::GlobalVariable& variable : module_.globals()) {
    if (!is_compiler_list(variable)) visit_initialiser(variable);
  }
  for (const llvm::Function& function : module_) {
    if (!function.isDeclarationForLinker()) visit_function(function);
  }
  close();
  for (const auto& [to, object] : marked_loads_)
    if (!graph_.is_folded(object)) graph_.flow(graph_.contents(object), to);
  close();
  graph_.finish();
}

void PointerFlow::close() {
  // Every change shows in one of the three: classes changed, calls found, functions found.
  const auto progress = [&] { return graph_.changes() + indirect_calls_.size() + address_taken_.size(); };
  size_t before = 0;
  do {
    before = progress();
    close_indirect_calls();
    close_foreign_calls();
    close_new_objects();
    fold_steps_back();
    graph_.perform_copies();
  } while (progress() != before);
}

PointerFlow::Carry PointerFlow::carry_of(llvm::Type* type) {
  if (type->isPointerTy()) return Carry::pointer;
  if (type->isIntegerTy()) return type->getIntegerBitWidth() >= 64 ? Carry::maybe : Carry::nothing;
  if (type->isDoubleTy() || type->isFP128Ty()) return Carry::maybe;
  if (!type->isVectorTy() && !type->isAggregateType()) return Carry::nothing;
  const auto known = carries_.find(type);
  if (known != carries_.end()) return known->second;
  Carry carry = Carry::nothing;
  for (llvm::Type* member : type->subtypes()) carry = std::max(carry, carry_of(member));
  if (const auto* vector = llvm::dyn_cast<llvm::VectorType>(type);
      vector != nullptr && carry == Carry::nothing) {
    const llvm::TypeSize bits = module_.getDataLayout().getTypeSizeInBits(type);
    if (bits.isScalable() || bits.getFixedValue() >= 64) carry = Carry::maybe;
  }
  carries_[type] = carry;
  return carry;
}

PointerFlow::Carrier PointerFlow::carrier(const llvm::Value* value) {
  const Carry carry = carry_of(value->getType());
  if (carry == Carry::nothing || llvm::isa<llvm::ConstantData>(value)) return {kNothing, carry, kNothing};
  if (carry == Carry::pointer) return {target(value), carry, kNothing};
  const auto [known, fresh] = numbers_.try_emplace(value, kNothing);
  if (!fresh) return {targets_.lookup(value), carry, known->second};
  if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value)) {
    const ClassId numbers = constant_target(constant);  // may add to the map
    numbers_[value] = numbers;
    return {kNothing, carry, numbers};
  }
  known->second = graph_.make();
  return {targets_[value] = graph_.make(), carry, known->second};
}

ClassId PointerFlow::target(const llvm::Value* value) {
  if (carry_of(value->getType()) != Carry::pointer || llvm::isa<llvm::ConstantData>(value)) return kNothing;
  const auto known = targets_.find(value);
  if (known != targets_.end()) return known->second;
  const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  const ClassId made = constant != nullptr ? constant_target(constant) : graph_.make();
  targets_[value] = made;
  return made;
}

ClassId PointerFlow::constant_target(const llvm::Constant* constant) {
  if (const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(constant)) return variable_object(*variable);
  if (const auto* function = llvm::dyn_cast<llvm::Function>(constant)) {
    address_taken_.push_back(function);
    return graph_.make(kFunction);
  }
  if (const auto* alias = llvm::dyn_cast<llvm::GlobalAlias>(constant)) return target(alias->getAliasee());
  if (const auto* ifunc = llvm::dyn_cast<llvm::GlobalIFunc>(constant)) {
    const llvm::Function* resolver = ifunc->getResolverFunction();
    return resolver == nullptr ? foreign_ : returned(*resolver).target;
  }
  if (const auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(constant))
    return expression_target(*expression);
  if (const auto* equivalent = llvm::dyn_cast<llvm::DSOLocalEquivalent>(constant)) {
    return target(equivalent->getGlobalValue());
  }
  if (const auto* plain = llvm::dyn_cast<llvm::NoCFIValue>(constant)) return target(plain->getGlobalValue());
  if (const auto* aggregate = llvm::dyn_cast<llvm::ConstantAggregate>(constant)) {
    const ClassId all = graph_.make();
    for (const llvm::Use& member : aggregate->operands()) {
      assign(as_pointer(all), carrier(member.get()));
    }
    return all;
  }
  return kNothing;  // addresses of blocks: jumped to, never accessed
}

// An expression of integer type carries what its operands do; both kinds of parts end in the one result.
ClassId PointerFlow::expression_target(const llvm::ConstantExpr& expression) {
  const auto* step = llvm::dyn_cast<llvm::GEPOperator>(&expression);
  if (step != nullptr && target(step->getPointerOperand()) != kNothing)
    return stepped(target(step->getPointerOperand()), *step);
  const bool binary = expression.getNumOperands() == 2;
  const ClassId all = binary ? somewhere() : graph_.make();
  assign(as_pointer(all), carrier(expression.getOperand(0)));
  if (!binary) return all;
  const Carrier second = carrier(expression.getOperand(1));
  if (expression.getOpcode() == llvm::Instruction::Sub) return second.empty() ? all : kNothing;  // a difference
  assign(as_pointer(all), second);
  return all;
}

// The tables behind C++ classes of a library. What their entries lead to is foreign code, but the objects that
// hold a pointer to such a table do not point to foreign memory by that.
static bool is_foreign_class_table(const llvm::GlobalVariable& variable) {
  const llvm::StringRef name = variable.getName();
  return name.starts_with("_ZTV") || name.starts_with("_ZTT") || name.starts_with("_ZTI") ||
         name.starts_with("_ZTC");
}

ClassId PointerFlow::variable_object(const llvm::GlobalVariable& variable) {
  const bool outside = variable.isDeclarationForLinker();
  if (outside && is_foreign_class_table(variable)) {
    const ClassId table = graph_.make(kConstant | kForeignFunction);
    become_own_contents(table);
    return table;
  }
  // A library may well have its own pointers to its thread-local variables (errno is a function for a reason).
  if (outside && !variable.isConstant()) return foreign_;
  const ObjectKinds kind = variable.isThreadLocal() ? kThreadLocal
                           : variable.isConstant()  ? kConstant
                                                    : kGlobal;
  const ClassId object = graph_.make(kind);
  const bool visible_outside = outside || (options_.foreign_callers && !variable.hasLocalLinkage());
  if (visible_outside && kind == kConstant) {
    join_contents(object, foreign_);
  } else if (visible_outside) {
    graph_.join(object, foreign_);
  }
  return object;
}

// Descriptions of types refer to each other and to the runtime's virtual tables. Only the runtime follows
// these: the program reads the name. Virtual tables refer to them, so that otherwise all functions in tables
// would meet here.
static bool only_for_runtime(const llvm::GlobalVariable& holder, const llvm::Constant& member) {
  const auto* referred = llvm::dyn_cast<llvm::GlobalVariable>(member.stripInBoundsConstantOffsets());
  if (referred == nullptr || !holder.getName().starts_with("_ZTI")) return false;
  return referred->getName().starts_with("_ZTI") || referred->getName().starts_with("_ZTV");
}

// Initialisers are stores. Walks without recursion and visits each constant once: tables can be long and deep.
void PointerFlow::visit_initialiser(const llvm::GlobalVariable& variable) {
  if (!variable.hasInitializer() || variable.isDeclarationForLinker()) return;
  llvm::SmallVector<const llvm::Constant*, 16> todo{variable.getInitializer()};
  llvm::DenseSet<const llvm::Constant*> seen;
  while (!todo.empty()) {
    const llvm::Constant* constant = todo.pop_back_val();
    if (llvm::isa<llvm::ConstantData>(constant) || !seen.insert(constant).second) continue;
    if (llvm::isa<llvm::ConstantAggregate>(constant)) {
      for (const llvm::Use& member : constant->operands())
        todo.push_back(llvm::cast<llvm::Constant>(member.get()));
    } else if (!only_for_runtime(variable, *constant)) {
      graph_.fold_whole(target(&variable));
      store(carrier(constant), target(&variable), false);
    }
  }
}

// Gives a value its class. Most values are first met here and need no class of their own.
void PointerFlow::define(const llvm::Value& value, ClassId target) {
  if (carry_of(value.getType()) == Carry::nothing) return;
  const auto [known, fresh] = targets_.try_emplace(&value, target);
  if (!fresh) graph_.join(known->second, target);
}

// Pointers are joined; what only might be one waits until it is.
void PointerFlow::assign(Carrier to, Carrier from) {
  if (to.carry == Carry::nothing || from.empty()) return;
  if (to.carry == Carry::pointer && from.carry == Carry::pointer) {
    graph_.join(to.target, from.target);
  } else if (to.carry == Carry::pointer) {
    graph_.flow(from.target, to.target);
    graph_.flow(from.numbers, to.target);
  } else if (from.carry == Carry::pointer) {
    graph_.flow(from.target, to.numbers);
  } else {
    graph_.flow(from.target, to.target);
    graph_.flow(from.numbers, to.numbers);
  }
}

void PointerFlow::assign(const llvm::Value& to, const llvm::Value* from) {
  const Carrier source = carrier(from);
  if (!source.empty()) assign(carrier(&to), source);  // no class for values that get nothing
}

// As assign(), but the result is new: a number, whatever it was made from, and at any distance from that.
void PointerFlow::compute(Carrier to, Carrier from) {
  const ClassId moved = somewhere();
  graph_.flow(from.target, moved);
  graph_.flow(from.numbers, moved);
  graph_.flow(moved, to.numbers);
}

// `number`: the compiler says that the memory holds a number.
void PointerFlow::load(Carrier to, ClassId object, bool number) {
  if (to.carry == Carry::nothing) return;
  if (to.carry == Carry::pointer) return graph_.join(to.target, graph_.contents(object));
  graph_.flow(graph_.contents(object, Held::as_number), to.numbers);
  if (number)
    marked_loads_.emplace_back(to.target, object);
  else
    graph_.flow(graph_.contents(object), to.target);
}

void PointerFlow::store(Carrier from, ClassId object, bool number) {
  if (from.empty()) return;
  if (from.carry == Carry::pointer) return graph_.join(graph_.contents(object), from.target);
  const ClassId numbers = graph_.contents(object, Held::as_number);
  graph_.flow(from.numbers, numbers);
  if (from.target != kNothing) graph_.flow(from.target, number ? numbers : graph_.contents(object));
}

void PointerFlow::join_contents(ClassId a, ClassId b) {
  graph_.copy(a, b);
  graph_.copy(b, a);
}

// A place that may be any of the objects that come there.
ClassId PointerFlow::somewhere() {
  const ClassId made = graph_.make();
  graph_.fold_whole(made);
  return made;
}

void PointerFlow::become_own_contents(ClassId object) {
  graph_.fold_whole(object);
  for (const Held held : {Held::as_pointer, Held::as_number})
    graph_.join(graph_.contents(object, held), object);
}

}  // namespace heddle
