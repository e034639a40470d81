#include "symex/machine.h"

#include <fmt/core.h>

#include <algorithm>

#include "program/source_place.h"

namespace heddle {
namespace {

// Where stack objects lie that only their own code knows, of each thread elsewhere: no process has such
// addresses.
constexpr uint64_t kPrivateStack = uint64_t{1} << 61, kPrivateStackSize = uint64_t{1} << 40;

}  // namespace

SymbolicMachine::SymbolicMachine(CodeCache& code_, SymbolicMemory memory_, const Known& known,
                                 ApproximationList& approximations, uint32_t thread)
    : code(code_),
      memory(std::move(memory_)),
      shared(known.shared),
      known_(known),
      approximations_(approximations),
      thread_(thread) {}

// ---- frames

void SymbolicMachine::settle() {
  if (frames.empty()) {
    registers_ = nullptr;
    constants_ = nullptr;
    return;
  }
  registers_ = stack_.data() + frames.back().base;
  const FunctionOps& ops = *frames.back().code;
  constants_ = ops.thread_local_constants.empty() ? ops.constants.data() : own_constants(ops).data();
}

const std::vector<Cell>& SymbolicMachine::own_constants(const FunctionOps& function) {
  const auto [found, added] = own_constants_.try_emplace(&function);
  if (added) {
    found->second = function.constants;
    for (const uint32_t at : function.thread_local_constants) found->second[at].bits += thread_pointer;
  }
  return found->second;
}

void SymbolicMachine::push(const FunctionOps& function) {
  const size_t base = frames.empty() ? 0 : frames.back().base + frames.back().code->cells;
  const uint32_t from = frames.empty() ? 0 : place_here();
  if (stack_.size() < base + function.cells) stack_.resize(2 * (base + function.cells));
  std::fill_n(stack_.data() + base, function.cells, Cell{});
  const uint64_t stack = frames.empty() ? kPrivateStack + thread_ * kPrivateStackSize : frames.back().stack;
  frames.push_back({.code = &function, .base = base, .called_from = from, .stack = stack});
  settle();
}

// What lay on its stack is gone: code outside that calls back has objects of its own there.
void SymbolicMachine::pop() {
  for (const Object& object : frames.back().objects) memory.forget(object.begin, object.size);
  frames.pop_back();
  settle();
}

void SymbolicMachine::forget_below_frames() {
  constexpr uint64_t kDeepest = 1 << 16;
  uint64_t low = stack_high;
  for (const Frame& frame : frames)
    for (const Object& object : frame.objects) low = std::min(low, object.begin);
  if (low > kDeepest) memory.forget(low - kDeepest, kDeepest);
}

void SymbolicMachine::run_to_stop() {
  Frame& frame = top();
  const Op* const ops = frame.code->ops.data();
  uint32_t next = frame.next;
  for (; ops[next].stop == Stop::none; ++next) {
    current_ = ops[next].instruction;
    if (ops[next].counts) pass(*current_);
    ops[next].run(*this, ops[next]);
  }
  instructions += next - frame.next;
  frame.next = next;
  current_ = ops[next].instruction;
}

// ---- values

Expr SymbolicMachine::expression(const Cell* cell, unsigned bits) {
  if (cell->expression) return cell->expression;
  if (bits <= 64) return pool().constant(cell->bits, bits);
  std::vector<uint64_t> words(words_of(bits));
  for (size_t i = 0; i < words.size(); ++i) words[i] = cell[i].bits;
  return pool().constant(words, bits);
}

void SymbolicMachine::set(Cell* to, Expr value) {
  if (!pool().is_constant(value)) {
    *to = {0, value};
    return;
  }
  const unsigned bits = pool().width(value);
  if (bits <= 64) {
    *to = {pool().constant_bits(value), {}};
    return;
  }
  const std::vector<uint64_t> words = pool().constant_words(value);
  for (size_t i = 0; i < words.size(); ++i) to[i] = {words[i], {}};
}

bool SymbolicMachine::is_concrete(const Cell* cells, uint32_t count) const {
  return std::all_of(cells, cells + count, [](const Cell& cell) { return !cell.expression; });
}

Expr SymbolicMachine::unknown(unsigned bits, const std::string& why) {
  const uint32_t place = place_here();
  const auto [found, added] = causes_.try_emplace({why, place}, 0);
  if (added) found->second = approximations_.add({.what = why, .thread = thread_, .place = place});
  return pool().unknown(found->second, bits);
}

bool SymbolicMachine::is_decided_by_path(Expr e) const {
  const ExprNode& node = trace.pool.node(e);
  if (node.op == ExprOp::unknown) return node.a == ExprPool::kDecidedByPath;
  if (node.op == ExprOp::read) return false;
  const std::array<Expr, 3> operands = operands_of(node);
  return std::ranges::any_of(operands, [](Expr operand) { return bool{operand}; }) &&
         std::ranges::all_of(operands, [&](Expr operand) {
           return !operand || trace.pool.is_constant(operand) || is_decided_by_path(operand);
         });
}

void SymbolicMachine::set_unknown(const Op& op, const std::string& why) {
  for (const Leaf& leaf : op.type->leaves) cells(op.to)[leaf.cell] = {0, unknown(leaf.bits, why)};
}

void unknown_result(SymbolicMachine& machine, const Op& op) {
  machine.set_unknown(op, fmt::format("the result of {}", op.instruction->getOpcodeName()));
}

void no_effect(SymbolicMachine&, const Op&) {}

// ---- the trace

uint32_t SymbolicMachine::place_of(const llvm::Instruction* instruction) {
  if (instruction == nullptr) return 0;
  const uint32_t caller = frames.empty() ? 0 : frames.back().called_from;
  const uint32_t id = code.program().id_of(*instruction).value;
  const auto [found, added] = places_.try_emplace(uint64_t{caller} << 32 | id, trace.places.size());
  if (added) trace.places.push_back({.instruction = id, .caller = caller});
  return found->second;
}

Event& SymbolicMachine::add_event(EventKind kind, const llvm::Instruction* at) {
  Event event{.kind = kind, .step = step, .occurrence = at == nullptr ? 0 : occurrences_.lookup(at)};
  event.place = place_of(at);
  event.tsc_low = stamp_;
  return trace.events.emplace_back(event);
}

void SymbolicMachine::pass(const llvm::Instruction& at) {
  ++step;
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&at);
  if (call == nullptr || touches_memory(*call)) ++occurrences_[&at];
}

// As src/instrument/control_ranges.cpp and the runtime have it: not behind null pointers, and not where all
// ranges are empty. What is not known is taken to be something.
bool SymbolicMachine::touches_memory(const llvm::CallBase& call) {
  const auto is_zero = [&](int number) {
    const Cell* cell = value(*call.getArgOperand(static_cast<unsigned>(number)));
    if (cell->expression) return false;
    const llvm::Type* type = call.getArgOperand(static_cast<unsigned>(number))->getType();
    const unsigned bits = type->isIntegerTy() ? type->getIntegerBitWidth() : 64;
    return cell->bits == 0 || (bits < 64 && (cell->bits >> (bits - 1) & 1) != 0);  // an int below zero
  };
  const auto is_empty = [&](const ArgumentAccess& access) {
    if (access.effect == nullptr) return false;
    if (is_zero(static_cast<int>(access.argument))) return true;
    const Extent& extent = access.effect->extent;
    switch (extent.kind) {
      case Extent::Kind::argument:
        return is_zero(extent.first);
      case Extent::Kind::product:
        return is_zero(extent.first) || is_zero(extent.second);
      default:
        return false;
    }
  };
  const CallInfo& info = code.plan().call(call).info;
  const bool has_own_event = info.cls == CallClass::synchronisation ||
                             (info.effects != nullptr && info.effects->allocation != AllocationKind::none);
  const llvm::ArrayRef<const ArgumentAccess*> arguments = code.shared_arguments(call);
  return has_own_event || arguments.empty() ||
         !llvm::all_of(arguments, [&](const auto* access) { return is_empty(*access); });
}

void SymbolicMachine::unpass(const Op& op) {
  if (op.counts) --occurrences_[op.instruction];
}

Event* SymbolicMachine::unfinished() {
  if (current_ == nullptr || trace.events.empty() || trace.events.back().sync == 0) return nullptr;
  Event& last = trace.events.back();
  return trace.places[last.place].instruction == code.program().id_of(*current_).value ? &last : nullptr;
}

void SymbolicMachine::drop_unfinished() {
  if (unfinished() != nullptr) trace.events.pop_back();
}

void SymbolicMachine::stamp(uint64_t tsc) {
  // It was rounded down.
  const uint64_t latest = tsc + HEDDLE_RECORD_STAMP_UNIT - 1;
  for (; stamped_events_ < trace.events.size(); ++stamped_events_)
    trace.events[stamped_events_].tsc_high = latest;
  stamp_ = tsc;
}

void SymbolicMachine::add_constraint(Constraint::Kind kind, Expr condition) {
  trace.constraints.push_back({.kind = kind,
                               .condition = condition,
                               .events = static_cast<uint32_t>(trace.events.size()),
                               .place = place_here()});
}

void SymbolicMachine::must_be(Constraint::Kind kind, Cell* cell, unsigned bits, uint64_t value) {
  value &= low_bits(bits);
  // Its own code knows the object by our address: what it holds lies there.
  if (!cell->expression && cell->bits >= kPrivateStack && cell->bits < 2 * kPrivateStack) return;
  if (!cell->expression && ProgramImage::is_made_up(cell->bits)) return;
  if (!cell->expression) {
    if (cell->bits != value) mismatch(fmt::format("{} was recorded, {} computed", value, cell->bits));
  } else {
    const Expr same = pool().binary(ExprOp::eq, cell->expression, pool().constant(value, bits));
    if (!pool().is_constant(same)) {
      add_constraint(kind, same);
      recorded_[cell->expression.number] = value;
    } else if (pool().constant_bits(same) == 0) {
      mismatch(fmt::format("{} was recorded, which is impossible", value));
    }
  }
  set(cell, value);
}

void SymbolicMachine::mismatch(const std::string& what) {
  if (mismatches++ == 0 && current_ != nullptr)
    first_mismatch = fmt::format("{}: {}", source_place(*current_).text(), what);
}

}  // namespace heddle
