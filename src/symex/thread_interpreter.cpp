#include "symex/thread_interpreter.h"

#include <fmt/core.h>
#include <llvm/IR/IntrinsicInst.h>

#include "program/outside_values.h"
#include "program/pointer_flow.h"
#include "program/source_place.h"
#include "program/stored_bytes.h"
#include "symex/library_calls.h"

namespace heddle {

static constexpr uint64_t kNearNull = 4096;  // faults below it are of null pointers

void ThreadInterpreter::lose(const std::string& why) {
  if (lost_) return;
  lost_ = true;
  const llvm::Instruction* at = machine_.current();
  why_ = at == nullptr ? why : fmt::format("{}: {}", source_place(*at).text(), why);
}

// Executes up to the instruction; false if the thread is somewhere else.
bool ThreadInterpreter::stand_at(const llvm::Instruction& instruction, Stop stop) {
  if (!active()) return false;
  if (machine_.frames.empty() || machine_.top().block == nullptr) {
    lose("something happens where no code runs");
    return false;
  }
  advance();
  if (!active()) return false;
  if (next_op().instruction != &instruction || next_op().stop != stop) {
    lose(fmt::format("the recording speaks of another place: {}", source_place(instruction).text()));
    return false;
  }
  return true;
}

// ---- functions

void ThreadInterpreter::enter_function(FunctionId id, EnteredBy by) {
  entered_in_vain_ += in_vain_;
  if (!active()) return;
  const llvm::Function& function = machine_.code.program().function(id);
  const FunctionOps& code = machine_.code.of(function);
  entered_.push_back(by);
  if (by == EnteredBy::outside || by == EnteredBy::callback) {
    if (by == EnteredBy::callback) reach_callback();
    begin_once();
    return machine_.push(code);
  }
  advance();
  if (!active()) return;
  const auto* call = llvm::dyn_cast<llvm::CallBase>(next_op().instruction);
  if (call == nullptr || next_op().stop != Stop::call) return lose("a function is entered where no call is");
  if (by == EnteredBy::pointer) {
    Cell target = *machine_.get(next_op().a);
    machine_.must_be(Constraint::Kind::target, &target, 64, machine_.code.image().address_of(function));
  }
  pass_arguments(*call, code);
}

// Code outside that calls back has been at work: of what it may write nothing is known until it returns. When
// it calls back again, it has been at work on what the first callback wrote; of much memory (an array that is
// sorted) that is not looked at each time.
void ThreadInterpreter::reach_callback() {
  constexpr uint64_t kMostAgain = 4096;
  if (machine_.frames.empty() || machine_.top().block == nullptr) return;
  advance();
  if (!active() || next_op().stop != Stop::call) return;
  const bool first = called_back_.insert(machine_.frames.size()).second;
  if (first && calls_exit()) {  // what is to be done at the end
    must_exit_with(*machine_.value(*llvm::cast<llvm::CallBase>(machine_.current())->getArgOperand(0)));
    is_exiting_ = true;
  }
  machine_.forget_below_frames();
  forget_written(
      *llvm::cast<llvm::CallBase>(next_op().instruction), [](const MemoryEffect&) { return true; },
      first ? SymbolicMachine::kMostForgotten : kMostAgain);
}

void ThreadInterpreter::pass_arguments(const llvm::CallBase& call, const FunctionOps& callee) {
  std::vector<std::vector<Cell>> values;
  const llvm::DataLayout& layout = call.getModule()->getDataLayout();
  for (unsigned i = 0; i < call.arg_size() && i < callee.arguments.size(); ++i) {
    const llvm::Value& argument = *call.getArgOperand(i);
    const Cell* from = machine_.value(argument);
    values.emplace_back(from, from + machine_.code.layout(argument.getType()).cells);
  }
  VariadicArguments variadic;
  if (callee.function->isVarArg()) variadic = collect_variadic(machine_, call);
  const Op op{.instruction = &call};
  machine_.push(callee);
  machine_.top().variadic = std::move(variadic);
  for (unsigned i = 0; i < values.size(); ++i) {
    if (llvm::Type* type = callee.function->getParamByValType(i); type != nullptr && !values[i][0].expression) {
      const uint64_t size = layout.getTypeAllocSize(type);  // the callee gets a copy
      const uint64_t at = machine_.new_stack_object(size, 16);
      machine_.copy(at, values[i][0].bits, size, op);
      values[i][0] = {at, {}};
    }
    std::copy(values[i].begin(), values[i].end(), machine_.cells(callee.arguments[i]));
  }
}

void ThreadInterpreter::arguments(FunctionId id, std::span<const uint64_t> values) {
  if (!active()) return;
  const llvm::Function& function = machine_.code.program().function(id);
  size_t next = 0;
  for (const llvm::Argument& argument : function.args()) {
    const ValueLayout& type = machine_.code.layout(argument.getType());
    Cell* to = machine_.cells(machine_.top().code->arguments[argument.getArgNo()]);
    if (stored_bytes(*argument.getType()) != 0 && next < values.size()) {
      machine_.set(to, values[next++] & low_bits(type.leaves.front().bits));
    } else {
      for (const Leaf& leaf : type.leaves)
        machine_.set(to + leaf.cell,
                     machine_.unknown(leaf.bits, "an argument of a function that was called from outside"));
    }
  }
}

void ThreadInterpreter::leave_function(FunctionId, LeftBy by) {
  if (entered_in_vain_ > 0) {
    --entered_in_vain_;
    return;
  }
  if (by == LeftBy::unwound) in_vain_ = false;
  if (!active() || machine_.frames.empty()) return;
  const EnteredBy entered_by = entered_.back();
  std::vector<Cell> result;
  if (by == LeftBy::returned) {
    advance();
    if (!active()) return;
    const auto* ret = llvm::dyn_cast<llvm::ReturnInst>(next_op().instruction);
    if (ret == nullptr) return lose("a function returns where it does not");
    if (ret->getReturnValue() != nullptr) {
      const Cell* from = machine_.get(next_op().a);
      result.assign(from, from + machine_.code.layout(ret->getReturnValue()->getType()).cells);
    }
  } else {
    leave_by_exception();
    if (!active()) return;
  }
  if (machine_.frames.size() == 1 && machine_.top().code->function->getName() == "main" && result.size() == 1)
    must_exit_with(result.front());
  for (; !pending_.empty() && pending_.back().first >= machine_.frames.size(); pending_.pop_back())
    abandon(pending_.back().second);
  entered_.pop_back();
  machine_.pop();
  if (by == LeftBy::returned && machine_.frames.empty()) ended_itself_ = true;
  if (by != LeftBy::returned || machine_.frames.empty()) return;
  if (entered_by != EnteredBy::call && entered_by != EnteredBy::pointer) return;
  SymbolicMachine::Frame& frame = machine_.top();
  const Op& call = frame.code->ops[frame.next];
  machine_.at(call.instruction);
  if (call.type->cells == result.size()) std::copy(result.begin(), result.end(), machine_.cells(call.to));
  ++frame.next;
}

// ---- blocks

void ThreadInterpreter::block(BlockId id) {
  while (!around_.told_in_vain.empty() && around_.told_in_vain.front().end <= blocks_)
    around_.told_in_vain.erase(around_.told_in_vain.begin());
  if (!around_.told_in_vain.empty() && around_.told_in_vain.front().from <= blocks_) {
    in_vain_ = true;
    machine_.wrote_anywhere = true;  // as far as it came
    ++blocks_;
    return;
  }
  if (!active()) return;
  if (blocks_++ >= around_.last_block && !around_.death) {
    done_ = true;
    return;
  }
  const llvm::BasicBlock& block = machine_.code.program().block(id);
  if (machine_.frames.empty()) return lose("a block runs where no function does");
  SymbolicMachine::Frame& frame = machine_.top();
  const BlockCode* before = frame.block;
  if (before != nullptr) {
    finish_block(block);
    if (!active()) return;
  }
  const auto number = frame.code->block_numbers.find(&block);
  if (number == frame.code->block_numbers.end()) return lose("a block of another function runs");
  const BlockCode& code = frame.code->blocks[number->second];
  if (before != nullptr && !code.phis.empty()) {
    const auto moves = llvm::find_if(code.phis, [&](const auto& each) { return each.first == before->block; });
    if (moves == code.phis.end()) return lose("a block runs after one that does not lead to it");
    move_phis(moves->second);
  }
  frame.block = &code;
  frame.next = code.first;
}

// All at once: one may be the operand of another.
void ThreadInterpreter::move_phis(const std::vector<PhiMove>& moves) {
  const auto copy = [](const Cell* from, uint32_t count, Cell* to) {
    if (count == 1) {  // as most have
      *to = *from;
    } else {
      std::copy(from, from + count, to);
    }
  };
  if (moves.size() == 1) return copy(machine_.get(moves[0].from), moves[0].cells, machine_.cells(moves[0].to));
  size_t cells = 0;
  for (const PhiMove& move : moves) cells += move.cells;
  if (phi_values_.size() < cells) phi_values_.resize(cells);
  Cell* next = phi_values_.data();
  for (const PhiMove& move : moves) {
    copy(machine_.get(move.from), move.cells, next);
    next += move.cells;
  }
  next = phi_values_.data();
  for (const PhiMove& move : moves) {
    copy(next, move.cells, machine_.cells(move.to));
    next += move.cells;
  }
}

void ThreadInterpreter::finish_block(const llvm::BasicBlock& next) {
  advance();
  if (!active()) return;
  const Op& op = next_op();
  if (op.stop != Stop::end) return lose("a block ends in the middle");
  take_branch(*op.instruction, next);
}

// What the branch depends on must have been so that it went there.
void ThreadInterpreter::take_branch(const llvm::Instruction& terminator, const llvm::BasicBlock& next) {
  ExprPool& pool = machine_.pool();
  const auto require = [&](Expr condition) {
    if (!pool.is_constant(condition)) {
      if (!machine_.is_decided_by_path(condition)) machine_.add_constraint(Constraint::Kind::branch, condition);
    } else if (pool.constant_bits(condition) == 0) {
      machine_.mismatch("a branch goes where it cannot");
    }
  };
  if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&terminator)) {
    if (branch->isUnconditional() || branch->getSuccessor(0) == branch->getSuccessor(1)) return;
    const Cell* condition = machine_.get(next_op().a);
    const bool taken = branch->getSuccessor(0) == &next;
    if (!condition->expression) {
      if ((condition->bits != 0) != taken) machine_.mismatch("a branch goes where it cannot");
      return;
    }
    require(taken ? condition->expression : pool.logical_not(condition->expression));
  } else if (const auto* choice = llvm::dyn_cast<llvm::SwitchInst>(&terminator)) {
    const Cell* cell = machine_.value(*choice->getCondition());
    const unsigned bits = choice->getCondition()->getType()->getIntegerBitWidth();
    const Expr value = machine_.expression(cell, bits);
    Expr holds = pool.constant(0, 1), other = pool.constant(1, 1);
    for (const auto& way : choice->cases()) {
      const Expr here = pool.binary(ExprOp::eq, value, pool.constant(way.getCaseValue()->getZExtValue(), bits));
      if (way.getCaseSuccessor() == &next) holds = pool.binary(ExprOp::bit_or, holds, here);
      other = pool.binary(ExprOp::bit_and, other, pool.logical_not(here));
    }
    if (choice->getDefaultDest() == &next) holds = pool.binary(ExprOp::bit_or, holds, other);
    require(holds);
  }
}

void ThreadInterpreter::value(const llvm::Instruction& instruction, uint64_t value) {
  if (!stand_at(instruction, Stop::value)) return;
  const Op& op = next_op();
  Cell* to = machine_.cells(op.to);
  if (llvm::isa<llvm::AllocaInst>(instruction)) {
    // Of the address the lower half is kept; the stack says the rest.
    const uint64_t upper = machine_.stack_high & ~low_bits(32);
    uint64_t at = upper | value;
    if (at > machine_.stack_high) at -= uint64_t{1} << 32;
    machine_.set(to, at);
    const auto& object = llvm::cast<llvm::AllocaInst>(instruction);
    if (const auto size = object.getAllocationSize(object.getModule()->getDataLayout())) {
      const uint64_t forgotten = std::min<uint64_t>(*size, 1 << 16);
      machine_.memory.forget(at, forgotten);
      machine_.top().objects.push_back({at, forgotten});
      machine_.note_stack_object(at, *size);
    }
  } else if (llvm::isa<llvm::CallBase>(instruction) && op.run == unknown_result) {
    machine_.set(to, value & low_bits(op.type->leaves.front().bits));
  } else {
    if (op.counts) machine_.pass(instruction);
    op.run(machine_, op);
    machine_.must_be(Constraint::Kind::value, to, op.type->leaves.front().bits, value);
  }
  ++machine_.instructions;
  ++machine_.top().next;
}

void ThreadInterpreter::runs_on(uint32_t core, uint64_t tsc) {
  if (!active()) return;
  const auto before = static_cast<uint32_t>(machine_.trace.events.size());
  if (!machine_.frames.empty() && machine_.top().block != nullptr) advance();
  machine_.stays.push_back({.core = core,
                            .tsc = tsc,
                            .before = before,
                            .from = static_cast<uint32_t>(machine_.trace.events.size())});
}

void ThreadInterpreter::lost_value(const llvm::Instruction& instruction) {
  if (!stand_at(instruction, Stop::value)) return;
  const Op& op = next_op();
  if (op.counts) machine_.pass(instruction);
  // Only what comes from the machine itself is not computed.
  if (outside_value_bytes(instruction) != 0)
    machine_.set_unknown(op, fmt::format("the result of {}", instruction.getOpcodeName()));
  else
    op.run(machine_, op);
  ++machine_.instructions;
  ++machine_.top().next;
}

// ---- calls that leave the program

std::optional<uint64_t> ThreadInterpreter::argument(const llvm::CallBase& call, int number) {
  if (number < 0 || static_cast<unsigned>(number) >= call.arg_size()) return std::nullopt;
  const Cell* cell = machine_.value(*call.getArgOperand(static_cast<unsigned>(number)));
  if (cell->expression) return std::nullopt;
  return cell->bits;
}

std::optional<uint64_t> ThreadInterpreter::argument_of(const llvm::CallBase& call, unsigned number) {
  return stand_at(call, Stop::call) ? argument(call, static_cast<int>(number)) : std::nullopt;
}

std::optional<std::string> ThreadInterpreter::text_of(const llvm::CallBase& call, unsigned number) {
  constexpr uint64_t kLongest = 4096;
  const std::optional<uint64_t> at = argument_of(call, number);
  return at && *at != 0 ? string_at(machine_, *at, kLongest) : std::nullopt;
}

std::optional<uint64_t> ThreadInterpreter::word_behind(const llvm::CallBase& call, unsigned number) {
  const std::optional<uint64_t> at = argument_of(call, number);
  return at && *at != 0 ? machine_.known_word(*at) : std::nullopt;
}

void ThreadInterpreter::synchronises(const llvm::CallBase& call, const SyncEntry& entry) {
  if (!stand_at(call, Stop::call)) return;
  std::erase_if(pending_, [&](const auto& each) { return each.first >= machine_.frames.size(); });
  pending_.emplace_back(machine_.frames.size(), Pending{&call, entry});
  pending_sync_ = pending_.back().second;
  if (entry.tsc) machine_.stamp(*entry.tsc);
  before_sync(call, entry);
}

void ThreadInterpreter::calls_outside(const llvm::CallBase& call, uint64_t target) {
  if (!stand_at(call, Stop::call)) return;
  const Cell cell = *machine_.get(next_op().a);
  if (cell.expression) {
    // Or a function of a library by our address, of which nobody knows whether it is this one.
    ExprPool& pool = machine_.pool();
    const Expr same = pool.binary(ExprOp::eq, cell.expression, pool.constant(target, 64));
    const Expr ours = ProgramImage::is_made_up(pool, cell.expression);
    machine_.add_constraint(Constraint::Kind::target, pool.binary(ExprOp::bit_or, same, ours));
  }
  if (!call.isMustTailCall()) return;
  machine_.set_unknown(next_op(), "the result of a call that is the last of its function");
  ++machine_.top().next;
}

void ThreadInterpreter::child(uint64_t number) {
  if (!active()) return;
  if (const llvm::GlobalVariable* single = machine_.code.image().single_threaded();
      single && machine_.epoch == 0)
    machine_.write_from_outside(machine_.code.image().address_of(*single), std::vector<uint8_t>{0}, false);
  machine_.pass(*machine_.current());
  around_.made({.number = number, .memory = machine_.memory.snapshot(), .epoch = machine_.epoch});
  ++machine_.epoch;
}

void ThreadInterpreter::returned(const llvm::CallBase& call, const ReturnedEntry& entry) {
  if (!active()) return;
  if (machine_.frames.empty()) return lose("a call returns that nobody has made");
  if (!stand_at(call, Stop::call)) return;
  std::optional<Pending> sync;
  if (!pending_.empty() && pending_.back().first == machine_.frames.size() &&
      pending_.back().second.call == &call) {
    sync = pending_.back().second;
    pending_.pop_back();
  }
  pending_sync_ = pending_.empty() ? std::nullopt : std::optional(pending_.back().second);
  called_back_.erase(machine_.frames.size());
  set_result(call, entry);
  note_catch(call);
  if (entry.error) last_error_ = *entry.error;
  if (machine_.code.plan().call(call).sets_errno) {
    if (machine_.likely && !entry.error)  // a path that comes without values
      machine_.forget_error();
    else
      machine_.set_error(last_error_);
  }
  if (machine_.code.counts(call)) machine_.pass(call);
  apply_effects(call, entry);
  if (sync)
    after_sync(call, sync->entry, entry);
  else
    took_signal(call, entry);
  if (entry.tsc) machine_.stamp(*entry.tsc);
  ++machine_.top().next;
}

void ThreadInterpreter::set_result(const llvm::CallBase& call, const ReturnedEntry& entry) {
  const Op& op = next_op();
  if (op.type->leaves.empty()) return;
  if (const Cell* same = made_up_result(call)) {
    *machine_.cells(op.to) = *same;
  } else if (entry.result) {
    machine_.set(machine_.cells(op.to), *entry.result & low_bits(op.type->leaves.front().bits));
  } else {
    const llvm::Function* callee = call.getCalledFunction();
    machine_.set_unknown(
        op, fmt::format("the result of {}", callee != nullptr ? readable_name(*callee) : "a call outside"));
  }
}

// An object of a library whose place is not known goes by an address of ours: a function that gives back what
// it was given gives back that one.
const Cell* ThreadInterpreter::made_up_result(const llvm::CallBase& call) {
  const Effects* effects = machine_.code.plan().call(call).info.effects;
  if (effects == nullptr || effects->returns != Effects::Returns::argument) return nullptr;
  const auto number = static_cast<unsigned>(effects->returned_argument);
  if (number >= call.arg_size()) return nullptr;
  const Cell* cell = machine_.value(*call.getArgOperand(number));
  return !cell->expression && ProgramImage::is_made_up(cell->bits) ? cell : nullptr;
}

std::optional<uint64_t> ThreadInterpreter::amount(const llvm::CallBase& call, const Extent& extent) {
  switch (extent.kind) {
    case Extent::Kind::bytes:
      return extent.amount;
    case Extent::Kind::argument:
      if (const auto first = argument(call, extent.first)) return *first * extent.amount;
      return std::nullopt;
    case Extent::Kind::product: {
      const auto first = argument(call, extent.first), second = argument(call, extent.second);
      if (first && second) return *first * *second;
      return std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

// What the call may have written, by those of its effects.
void ThreadInterpreter::forget_written(const llvm::CallBase& call,
                                       llvm::function_ref<bool(const MemoryEffect&)> which, uint64_t most) {
  const CallPlan& plan = machine_.code.plan().call(call);
  const auto forget = [&](unsigned i) {
    if (call.getArgOperand(i)->getType()->isPointerTy())
      machine_.forget_behind(*machine_.value(*call.getArgOperand(i)), most);
  };
  if (plan.info.effects == nullptr) {
    for (unsigned i = 0; i < call.arg_size(); ++i) forget(i);
    return;
  }
  for (const MemoryEffect& effect : plan.info.effects->memory) {
    if (!effect.writes || !which(effect)) continue;
    for (const unsigned i : PointerFlow::arguments_at(call, effect.place)) {
      if (effect.extent.kind != Extent::Kind::reachable) {
        forget(i);
      } else if (call.getArgOperand(i)->getType()->isPointerTy()) {
        machine_.forget_reachable(*machine_.value(*call.getArgOperand(i)), most);
      }
    }
  }
}

void ThreadInterpreter::apply_effects(const llvm::CallBase& call, const ReturnedEntry& entry) {
  const CallPlan& plan = machine_.code.plan().call(call);
  const Effects* effects = plan.info.effects;
  forget_written(call, [&](const MemoryEffect& effect) {  // the recording holds the rest
    return llvm::none_of(plan.ranges, [&](const WrittenRange& range) { return range.effect == &effect; });
  });
  if (effects != nullptr && effects->allocation == AllocationKind::release)
    return release_call(machine_, next_op());
  if (effects != nullptr &&
      plan.info.callee->getName() == "_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv")
    return make_ready_at_exit(call);
  if (effects == nullptr || !entry.result || *entry.result == 0) return;
  if (plan.info.callee->getName() == "__errno_location") machine_.find_error(*entry.result);
  if (plan.info.callee->getName() == "__cxa_allocate_exception") {
    if (const auto size = argument(call, 0)) new_exception(machine_, *entry.result, *size);
  } else if (effects->allocation == AllocationKind::allocate) {
    machine_.allocate_block(*entry.result, amount(call, effects->allocation_size));
    if (plan.info.callee != nullptr && plan.info.callee->getName() == "calloc")
      if (const auto size = amount(call, effects->allocation_size))
        machine_.write_from_outside(*entry.result, std::vector<uint8_t>(*size), false);
  } else if (effects->allocation == AllocationKind::reallocate) {
    const auto size = amount(call, effects->allocation_size);
    const auto old = argument(call, effects->allocation_pointer);
    if (!size || !old) {
      machine_.allocate_block(*entry.result, size);
      machine_.forget_behind({*entry.result, {}});
      machine_.misses_release = true;
      return;
    }
    if (*old != 0 && *old != *entry.result) {
      const uint64_t largest = machine_.block_sizes(*old).largest;
      const uint64_t count = largest != 0 ? std::min(*size, largest) : *size;
      machine_.see_bytes(*old, count);
      std::vector<SymbolicMemory::Byte> kept;
      for (uint64_t i = 0; i < count; ++i) kept.push_back(machine_.memory.byte(*old + i));
      machine_.release_block(*old);
      machine_.allocate_block(*entry.result, *size);
      for (uint64_t i = 0; i < count; ++i) machine_.memory.set(*entry.result + i, kept[i]);
      machine_.tell_bytes(*entry.result, count);
    } else if (*old == 0) {
      machine_.allocate_block(*entry.result, *size);
    } else {
      machine_.resize_block(*old, *size);
    }
  }
}

void ThreadInterpreter::written(const llvm::CallBase& call, size_t range, const WrittenBytes& bytes) {
  if (!active() || machine_.frames.empty()) return;
  const CallPlan& plan = machine_.code.plan().call(call);
  size_t number = 0;
  const Cell* at = nullptr;
  for (const WrittenRange& each : plan.ranges) {
    const bool variadic = each.effect->place.argument == Place::kVariadic;
    const size_t count = variadic ? call.arg_size() - call.getFunctionType()->getNumParams() : 1;
    if (range < number + count) {
      const size_t argument = variadic ? call.getFunctionType()->getNumParams() + range - number
                                       : static_cast<size_t>(each.effect->place.argument);
      if (argument < call.arg_size()) at = machine_.value(*call.getArgOperand(static_cast<unsigned>(argument)));
      break;
    }
    number += count;
  }
  if (at == nullptr || (!at->expression && at->bits == 0) || bytes.count == 0) return;
  machine_.at(&call);
  const bool counts = machine_.code.counts(call);
  if (!bytes.file) {
    machine_.write_from_outside(*at, {reinterpret_cast<const uint8_t*>(bytes.bytes.data()), bytes.bytes.size()},
                                counts);
  } else if (const auto content = around_.read_file(*bytes.file, bytes.file_offset, bytes.count)) {
    machine_.write_from_outside(*at, *content, counts);
  } else {
    if (at->expression) return machine_.forget_behind(*at, bytes.count);
    machine_.forget(at->bits, bytes.count, "a file that was not kept");
  }
}

void ThreadInterpreter::written_at(const llvm::CallBase& call, uint64_t address, std::string_view bytes,
                                   uint64_t new_block) {
  if (!active() || machine_.frames.empty()) return;
  machine_.at(&call);
  if (new_block != 0) machine_.allocate_block(address, new_block);
  machine_.write_from_outside(address, {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()},
                              machine_.code.counts(call));
}

void ThreadInterpreter::returned_twice(const llvm::CallBase& call, const TwiceEntry& entry) {
  in_vain_ = false;
  if (!active() || machine_.frames.empty()) return;
  SymbolicMachine::Frame& frame = machine_.top();
  if (entry.returns == 0) {
    if (!stand_at(call, Stop::call)) return;
  } else {
    const auto found = frame.code->op_of.find(&call);
    if (found == frame.code->op_of.end()) return lose("a jump to another function");
    frame.block = &frame.code->blocks[frame.code->block_numbers.lookup(call.getParent())];
    frame.next = found->second;
  }
  const Op& op = next_op();
  machine_.at(&call);
  if (!op.type->leaves.empty())
    machine_.set(machine_.cells(op.to), entry.result & low_bits(op.type->leaves.front().bits));
  ++frame.next;
}

void ThreadInterpreter::control_lost(uint64_t) {
  if (active() || in_vain_) machine_.unknown(1, "a signal handler that was left by a jump");
}

void ThreadInterpreter::interrupted(const llvm::Instruction& before) {
  if (!active() || machine_.frames.empty() || machine_.top().block == nullptr) return;
  SymbolicMachine::Frame& frame = machine_.top();
  if (before.getParent() != frame.block->block) return;
  for (; next_op().stop == Stop::none && next_op().instruction != &before; ++frame.next) {
    const Op& op = next_op();
    machine_.at(op.instruction);
    if (op.counts) machine_.pass(*op.instruction);
    op.run(machine_, op);
  }
}

void ThreadInterpreter::end(const DecodeEnd& end) {
  machine_.trace.end = end.text;
  if (!active() || machine_.frames.empty() || machine_.top().block == nullptr) return;
  // What comes before the next thing that would have been told.
  advance();
  if (active() && around_.death && around_.death->line != 0) go_on_to_death();
  if (active() && calls_exit())
    must_exit_with(*machine_.value(*llvm::cast<llvm::CallBase>(machine_.current())->getArgOperand(0)));
}

// Executes up to the next operation about which the recording says something.
void ThreadInterpreter::advance() {
  // The way behind a copy may be known before it: the thread has died in it all the same.
  constexpr uint64_t kKnownBefore = 16;
  if (!around_.death || blocks_ + kKnownBefore < around_.last_block) return machine_.run_to_stop();
  const bool is_certain = blocks_ < around_.last_block;
  SymbolicMachine::Frame& frame = machine_.top();
  for (; next_op().stop == Stop::none; ++frame.next) {
    const Op& op = next_op();
    machine_.at(op.instruction);
    if ((!is_certain || llvm::isa<llvm::CallBase>(op.instruction)) && dies_at(op)) {
      done_ = true;  // what it died of did not happen
      return;
    }
    if (op.counts) machine_.pass(*op.instruction);
    op.run(machine_, op);
  }
  machine_.at(next_op().instruction);
}

// A library function that reads or writes there: how much it does is the business of the call, or unknown.
bool ThreadInterpreter::dies_in(const llvm::CallBase& call, uint64_t address) {
  if (const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call);
      intrinsic != nullptr && !llvm::isa<llvm::AnyMemIntrinsic>(intrinsic))
    return false;
  const std::optional<uint64_t> last = call.arg_size() > 2 && call.getArgOperand(2)->getType()->isIntegerTy(64)
                                           ? argument(call, 2)
                                           : std::nullopt;
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    if (!call.getArgOperand(i)->getType()->isPointerTy()) continue;
    const auto at = argument(call, static_cast<int>(i));
    if (at && address - *at < last.value_or(kNearNull)) return true;
    // Behind a null pointer that is not known to be one.
    Cell pointer = *machine_.value(*call.getArgOperand(i));
    if (!pointer.expression || address >= kNearNull || !is_where_it_died(call)) continue;
    const auto distance = distance_from_null(pointer.expression);
    if (!distance || address - *distance >= last.value_or(kNearNull)) continue;
    machine_.must_be(Constraint::Kind::fault, &pointer, 64, *distance);
    return true;
  }
  return false;
}

// Of a member, if the pointer to its object is null; none if it is an element, of whatever index.
std::optional<uint64_t> ThreadInterpreter::distance_from_null(Expr address) const {
  const ExprPool& pool = machine_.pool();
  uint64_t distance = 0;
  while (pool.node(address).op == ExprOp::add) {
    const ExprNode& sum = pool.node(address);
    const bool first = pool.is_constant(Expr{sum.a});
    if (!first && !pool.is_constant(Expr{sum.b})) return std::nullopt;
    distance += pool.constant_bits(Expr{first ? sum.a : sum.b});
    address = Expr{first ? sum.b : sum.a};
  }
  return distance;
}

bool ThreadInterpreter::dies_at(const Op& op) {
  if (machine_.frames.size() < around_.death->depth) return false;  // a recursion goes deeper before
  if (around_.death->address) {
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(op.instruction))
      return dies_in(*call, *around_.death->address);
    const llvm::Value* pointer = llvm::getLoadStorePointerOperand(op.instruction);
    if (pointer == nullptr) return false;
    Cell at = *machine_.value(*pointer);
    if (!at.expression) return *around_.death->address - at.bits < op.type->bytes;
    if (around_.death->of_stack) return false;
    const llvm::DebugLoc& where = op.instruction->getDebugLoc();
    if (around_.death->line == 0 || !where || where.getLine() != around_.death->line) return false;
    // Of several accesses on one line, the member at another distance from a null pointer is not the one.
    const auto distance = distance_from_null(at.expression);
    if (*around_.death->address < kNearNull && distance && *distance != *around_.death->address) return false;
    machine_.must_be(Constraint::Kind::fault, &at, 64, *around_.death->address);
    return true;
  }
  if (!op.instruction->isIntDivRem()) return false;
  const llvm::DebugLoc& place = op.instruction->getDebugLoc();
  if (around_.death->line != 0 && place && place.getLine() != around_.death->line) return false;
  Cell divisor = *machine_.get(op.b);
  if (divisor.expression) machine_.must_be(Constraint::Kind::fault, &divisor, op.bits, 0);
  return divisor.bits == 0;
}

bool ThreadInterpreter::calls_exit() const {
  const auto* call = llvm::dyn_cast_or_null<llvm::CallBase>(machine_.current());
  const llvm::Function* callee = call != nullptr ? call->getCalledFunction() : nullptr;
  return callee != nullptr && (callee->getName() == "exit" || callee->getName() == "_exit" ||
                               callee->getName() == "_Exit" || callee->getName() == "quick_exit");
}

// The shell sees the lowest byte.
void ThreadInterpreter::must_exit_with(const Cell& code) {
  if (!code.expression || !around_.exit_code) return;
  Cell low{0, machine_.pool().extract(code.expression, 0, 8)};
  machine_.must_be(Constraint::Kind::argument, &low, 8, static_cast<uint64_t>(*around_.exit_code));
}

}  // namespace heddle
