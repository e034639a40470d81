// Calls that leave the program and of which the recording says nothing: their effects follow from what is
// known.
//
// Copies and fills are carried out byte by byte, also of expressions. Comparisons and lengths of bytes that are
// expressions become expressions; other functions are carried out on what is concrete (host_calls.h), or their
// results are unknown.
#include <fmt/core.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/ADT/StringSwitch.h>

#include <cstring>

#include "program/pointer_flow.h"
#include "program/source_place.h"
#include "symex/host_calls.h"
#include "symex/host_printf.h"
#include "symex/library_calls.h"
#include "symex/machine.h"

namespace heddle {
namespace {

constexpr uint64_t kLongestString = 1 << 20;
constexpr uint64_t kLongestComparison = 256;  // of expressions

const llvm::CallBase& call_of(const Op& op) {
  return *llvm::cast<llvm::CallBase>(op.instruction);
}

std::string name_of(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  return callee != nullptr ? callee->getName().str() : "assembly";
}

std::string function_text(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  return callee != nullptr ? readable_name(*callee) : "assembly";
}

const Effects* effects_of(SymbolicMachine& machine, const llvm::CallBase& call) {
  return machine.code.plan().call(call).info.effects;
}

// ---- copies and fills

struct BlockCall {
  int to, from, size;  // arguments; from -1: zeros, -2: the byte in argument 1
  bool returns_end;
};

std::optional<BlockCall> block_call(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<BlockCall>>(name)
      .Cases("memcpy", "memmove", "__memcpy_chk", "__memmove_chk", BlockCall{0, 1, 2, false})
      .Cases("mempcpy", "__mempcpy", "__mempcpy_chk", BlockCall{0, 1, 2, true})
      .Case("bcopy", BlockCall{1, 0, 2, false})
      .Cases("memset", "__memset_chk", BlockCall{0, -2, 2, false})
      .Cases("bzero", "explicit_bzero", "__explicit_bzero_chk", BlockCall{0, -1, 1, false})
      .Default(std::nullopt);
}

// Its memory may be shared, whatever the analysis says of the program's own accesses.
Op with_shared_memory(const Op& op) {
  Op out = op;
  out.reads_shared = out.writes_shared = true;
  out.counts = false;  // touches_memory has decided
  return out;
}

void copy_block(SymbolicMachine& machine, const Op& op) {
  const llvm::CallBase& call = call_of(op);
  const BlockCall which = *block_call(name_of(call));
  const auto argument = [&](int number) -> const Cell& {
    return *machine.value(*call.getArgOperand(static_cast<unsigned>(number)));
  };
  const Op shared = with_shared_memory(op);
  const Cell to = argument(which.to), size = argument(which.size);
  if (which.from >= 0) {
    machine.copy(to, argument(which.from), size, shared);
  } else {
    Cell byte;
    if (which.from == -2)
      machine.set(&byte, machine.pool().extract(machine.expression(&argument(1), 32), 0, 8));
    machine.fill(to, byte, size, shared);
  }
  if (call.getType()->isVoidTy()) return;
  const Expr begin = machine.expression(&to, 64);
  machine.set(
      machine.cells(op.to),
      which.returns_end ? machine.pool().binary(ExprOp::add, begin, machine.expression(&size, 64)) : begin);
}

// ---- strings

bool is_zero(SymbolicMachine& machine, Expr byte) {
  return machine.pool().is_constant(byte) && machine.pool().constant_bits(byte) == 0;
}

// Bytes from a pointer on, one after the other, as long as none of those before ended it. Where the pointer is
// an expression, a byte behind the end must not be looked for.
class ByteReader {
 public:
  ByteReader(SymbolicMachine& machine, const Cell& begin, const Op& op)
      : machine_(machine), begin_(begin), op_(with_shared_memory(op)) {}

  Expr next(Expr is_in) { return machine_.read_byte(begin_, next_++, is_in, op_); }
  // So many there can be.
  uint64_t most(uint64_t limit) { return begin_.expression ? std::min(limit, machine_.reach(begin_)) : limit; }

 private:
  SymbolicMachine& machine_;
  Cell begin_;
  Op op_;
  uint64_t next_ = 0;
};

// Up to the first byte that is surely zero, but at most `limit`. Where it may have ended before, the last byte
// is where this pass left it: if that turns out to be shared, the text goes on there.
std::vector<Expr> read_text(SymbolicMachine& machine, const Cell& at, uint64_t limit, const Op& op) {
  ExprPool& pool = machine.pool();
  std::vector<Expr> bytes;
  ByteReader reader(machine, at, op);
  Expr goes_on = pool.constant(1, 1);
  for (const uint64_t most = reader.most(limit); bytes.size() < most;) {
    bytes.push_back(reader.next(goes_on));
    if (is_zero(machine, bytes.back())) break;
    const Expr ends = pool.binary(ExprOp::eq, bytes.back(), pool.constant(0, 8));
    goes_on = pool.binary(ExprOp::bit_and, goes_on, pool.logical_not(ends));
  }
  if (!pool.is_constant(goes_on) && !at.expression)
    machine.text_ends[at.bits + bytes.size() - 1] = bytes.size();
  return bytes;
}

// strcpy, stpcpy, strcat, strncpy: up to the first byte that is surely zero. Behind one that may be, strncpy
// writes zeros if it is, and the others nothing.
void copy_string(SymbolicMachine& machine, const Op& op) {
  const llvm::CallBase& call = call_of(op);
  const std::string name = name_of(call);
  const bool bounded = name.find("ncpy") != std::string::npos;
  const std::optional<uint64_t> to = machine.address(*machine.value(*call.getArgOperand(0)), op);
  const Cell from = *machine.value(*call.getArgOperand(1));
  const std::optional<uint64_t> limit =
      bounded ? machine.address(*machine.value(*call.getArgOperand(2)), op) : std::optional(kLongestString);
  if (!to || !limit || machine.is_uncertain(from)) return unknown_call(machine, op);
  uint64_t at = *to;
  if (name.find("cat") != std::string::npos) {
    ByteReader reader(machine, {at, {}}, op);
    const Expr always = machine.pool().constant(1, 1);
    for (Expr byte = reader.next(always); !is_zero(machine, byte); byte = reader.next(always), ++at)
      if (!machine.pool().is_constant(byte) || at - *to >= kLongestString) return unknown_call(machine, op);
  }
  std::vector<Expr> bytes = read_text(machine, from, *limit, op);
  const size_t length = bytes.empty() || !is_zero(machine, bytes.back()) ? bytes.size() : bytes.size() - 1;
  const bool is_certain_end =
      std::all_of(bytes.begin(), bytes.end(), [&](Expr byte) { return machine.pool().is_constant(byte); });
  ExprPool& pool = machine.pool();
  const Expr zero = pool.constant(0, 8);
  if (bounded) bytes.resize(*limit, zero);
  Expr ended = pool.constant(0, 1);
  for (const Expr byte : bytes) {
    Expr written = byte;
    if (!pool.is_constant(ended))
      written = pool.ite(ended, bounded ? zero : ByteReader(machine, {at, {}}, op).next(ended), byte);
    machine.notes.note(at, 1, true, machine.epoch);
    machine.write_bytes(at, written, 1);
    if (machine.is_shared(at, 1)) machine.write_event(at, written, 1, &op);
    ended = pool.binary(ExprOp::bit_or, ended, pool.binary(ExprOp::eq, byte, zero));
    ++at;
  }
  const bool returns_end = name.find("stp") != std::string::npos;
  if (!returns_end) return machine.set(machine.cells(op.to), *to);
  if (is_certain_end) return machine.set(machine.cells(op.to), *to + length);
  machine.set_unknown(op, "where a string ends");
}

// ---- comparisons and lengths of what may be expressions

// The difference of the first bytes that differ, as glibc gives it; of strings the zero byte ends both.
// None: one may be longer than what is looked at.
std::optional<Expr> compare_bytes(SymbolicMachine& machine, const Cell& a, const Cell& b, const Cell& size,
                                  bool strings, const Op& op) {
  ExprPool& pool = machine.pool();
  struct Pair {
    Expr first, second, is_in;
  };
  std::vector<Pair> pairs;
  ByteReader first(machine, a, op), second(machine, b, op);
  const uint64_t limit = size.expression ? kLongestComparison : size.bits;
  const uint64_t most = std::min({limit, first.most(limit), second.most(limit), kLongestComparison});
  if (!strings && !size.expression && most < limit) return std::nullopt;
  if (size.expression && first.most(UINT64_MAX) > most && second.most(UINT64_MAX) > most) return std::nullopt;
  Expr goes_on = pool.constant(1, 1);
  while (pairs.size() < most) {
    if (size.expression) {
      const Expr i = pool.constant(pairs.size(), pool.width(size.expression));
      goes_on = pool.binary(ExprOp::bit_and, goes_on, pool.binary(ExprOp::ult, i, size.expression));
    }
    pairs.push_back({first.next(goes_on), second.next(goes_on), goes_on});
    if (!strings) continue;
    if (is_zero(machine, pairs.back().first) || is_zero(machine, pairs.back().second)) break;
    const Expr ends = pool.binary(ExprOp::eq, pairs.back().first, pool.constant(0, 8));
    goes_on = pool.binary(ExprOp::bit_and, goes_on, pool.logical_not(ends));
  }
  Expr result = pool.constant(0, 32);
  for (auto at = pairs.rbegin(); at != pairs.rend(); ++at) {
    const Expr difference = pool.binary(ExprOp::sub, pool.zext(at->first, 32), pool.zext(at->second, 32));
    const Expr same = pool.binary(ExprOp::eq, at->first, at->second);
    result = pool.ite(at->is_in, pool.ite(same, result, difference), pool.constant(0, 32));
  }
  return result;
}

Expr length_of(SymbolicMachine& machine, const Cell& at, const Op& op) {
  ExprPool& pool = machine.pool();
  const std::vector<Expr> bytes = read_text(machine, at, kLongestComparison, op);
  if (bytes.empty()) return machine.unknown(64, "the length of a text at an address that is not known");
  Expr result = pool.constant(bytes.size() - 1, 64);
  for (size_t i = bytes.size(); i-- > 0;)
    result = pool.ite(pool.binary(ExprOp::eq, bytes[i], pool.constant(0, 8)), pool.constant(i, 64), result);
  return result;
}

bool compute_expression(SymbolicMachine& machine, const Op& op) {
  const llvm::CallBase& call = call_of(op);
  const std::string name = name_of(call);
  std::vector<Cell> arguments;
  for (const llvm::Use& argument : call.args()) {
    arguments.push_back(*machine.value(*argument));
    if (machine.is_uncertain(arguments.back())) return false;
  }
  if (name == "strlen") {
    machine.set(machine.cells(op.to), length_of(machine, arguments[0], op));
  } else if (name == "memcmp" || name == "bcmp" || name == "strcmp" || name == "strncmp") {
    const Cell size = arguments.size() > 2 ? arguments[2] : Cell{kLongestComparison, {}};
    const std::optional<Expr> result =
        compare_bytes(machine, arguments[0], arguments[1], size, name.starts_with("str"), op);
    if (!result) return false;
    machine.set(machine.cells(op.to), *result);
  } else {
    return false;
  }
  return true;
}

// ---- what the host computes

// The bytes behind a pointer that the function reads; none if one of them is not concrete.
std::optional<std::vector<uint8_t>> bytes_behind(SymbolicMachine& machine, const llvm::CallBase& call,
                                                 const MemoryEffect& effect, uint64_t at, const Op&) {
  const auto argument = [&](int number) {
    const Cell* cell = machine.value(*call.getArgOperand(static_cast<unsigned>(number)));
    return cell->expression ? std::optional<uint64_t>() : std::optional(cell->bits);
  };
  std::optional<uint64_t> limit;
  bool string = false;
  switch (effect.extent.kind) {
    case Extent::Kind::bytes:
      limit = effect.extent.amount;
      break;
    case Extent::Kind::argument:
      limit = argument(effect.extent.first);
      break;
    case Extent::Kind::string:
      limit = kLongestString;
      string = true;
      break;
    case Extent::Kind::bounded_string:
      limit = argument(effect.extent.first);
      string = true;
      break;
    default:
      return std::nullopt;
  }
  if (!limit) return std::nullopt;
  std::vector<uint8_t> out;
  const uint64_t most = std::min(*limit, kLongestString);
  while (out.size() < most) {
    uint8_t byte = 0;
    const uint64_t here = at + out.size();
    if (machine.may_be_of_others(here, 1) || !machine.memory.read(here, {&byte, 1})) return std::nullopt;
    out.push_back(byte);
    if (string && byte == 0) break;
  }
  if (out.empty() || (string && out.back() != 0)) out.push_back(0);
  machine.notes.note(at, out.size(), false, machine.epoch);
  return out;
}

bool compute_on_host(SymbolicMachine& machine, const Op& op) {
  const llvm::CallBase& call = call_of(op);
  const HostFunction function = find_host_function(name_of(call));
  const Effects* effects = effects_of(machine, call);
  if (function.call == nullptr || effects == nullptr || call.arg_size() != function.arguments) return false;
  std::vector<uint64_t> arguments;
  std::vector<std::vector<uint8_t>> buffers(call.arg_size());
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    const Cell* cell = machine.value(*call.getArgOperand(i));
    if (cell->expression) return false;
    arguments.push_back(cell->bits);
    if (!call.getArgOperand(i)->getType()->isPointerTy()) continue;
    const MemoryEffect* effect = effects->effect_on(static_cast<int>(i));
    if (effect == nullptr || effect->writes || cell->bits == 0) return false;
    std::optional<std::vector<uint8_t>> bytes = bytes_behind(machine, call, *effect, cell->bits, op);
    if (!bytes) return false;
    buffers[i] = std::move(*bytes);
    arguments[i] = reinterpret_cast<uint64_t>(buffers[i].data());
  }
  uint64_t result = function.call(arguments.data());
  if (call.getType()->isPointerTy() && result != 0)
    result = result - arguments[0] + machine.value(*call.getArgOperand(0))->bits;
  if (!call.getType()->isVoidTy())
    machine.set(machine.cells(op.to), result & low_bits(op.type->leaves.front().bits));
  return true;
}

void compute_call(SymbolicMachine& machine, const Op& op) {
  if (!compute_on_host(machine, op) && !compute_expression(machine, op)) unknown_call(machine, op);
}

// ---- sprintf and its kin

struct PrintCall {
  unsigned limit, format;  // arguments; a limit of 0: none
};

std::optional<PrintCall> print_call(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<PrintCall>>(name)
      .Case("sprintf", PrintCall{0, 1})
      .Case("snprintf", PrintCall{1, 2})
      .Case("__sprintf_chk", PrintCall{0, 3})
      .Case("__snprintf_chk", PrintCall{1, 4})
      .Default(std::nullopt);
}

void print_string(SymbolicMachine& machine, const Op& op) {
  const llvm::CallBase& call = call_of(op);
  const PrintCall which = *print_call(name_of(call));
  std::vector<HostArgument> arguments;
  std::vector<uint64_t> numbers;
  for (unsigned i = 0; i < call.arg_size(); ++i) {
    const llvm::Value& argument = *call.getArgOperand(i);
    const Cell* cell = machine.value(argument);
    const bool scalar = argument.getType()->isIntegerTy() || argument.getType()->isPointerTy() ||
                        argument.getType()->isDoubleTy();
    if ((cell->expression && i != 0) || !scalar) return unknown_call(machine, op);
    numbers.push_back(cell->bits);
    if (i > which.format) arguments.push_back({argument.getType()->isDoubleTy(), cell->bits});
  }
  const auto find = [&](uint64_t at, uint64_t limit) { return string_at(machine, at, limit); };
  const std::optional<std::string> format = find(numbers[which.format], kLongestString);
  const std::optional<std::string> text = format ? format_on_host(*format, arguments, find) : std::nullopt;
  if (!text) return unknown_call(machine, op);
  const uint64_t room = which.limit != 0 ? numbers[which.limit] : text->size() + 1;
  if (room != 0) {
    std::string kept = text->substr(0, room - 1);
    kept += '\0';
    machine.write_from_outside(*machine.value(*call.getArgOperand(0)),
                               {reinterpret_cast<const uint8_t*>(kept.data()), kept.size()}, op.counts);
  }
  machine.set(machine.cells(op.to), text->size());
}

// ---- mathematics

bool is_mathematics(const llvm::CallBase& call) {
  if (!call.getType()->isDoubleTy() && !call.getType()->isFloatTy()) return false;
  if (call.arg_size() == 0 || call.arg_size() > 2) return false;
  return llvm::all_of(call.args(), [&](const llvm::Use& use) { return use->getType() == call.getType(); });
}

void mathematics(SymbolicMachine& machine, const Op& op) {
  const llvm::CallBase& call = call_of(op);
  const unsigned bits = op.type->leaves.front().bits;
  const auto argument = [&](unsigned i) {
    return machine.expression(machine.value(*call.getArgOperand(i)), bits);
  };
  machine.set(machine.cells(op.to), machine.pool().call(name_of(call), bits, argument(0),
                                                        call.arg_size() > 1 ? argument(1) : Expr{}));
}

bool is_string_copy(llvm::StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases("strcpy", "stpcpy", "strcat", "strncpy", true)
      .Cases("__strcpy_chk", "__stpcpy_chk", "__strcat_chk", "__strncpy_chk", true)
      .Default(false);
}

// An argument that is the result as well; null: none that is known. Optimised code says so itself.
const llvm::Value* given_back(const llvm::CallBase& call) {
  static const llvm::StringSet<> kGivesBackTheFirst = {"strcpy", "__strcpy_chk", "strncpy", "__strncpy_chk",
                                                       "strcat", "__strcat_chk", "strncat", "__strncat_chk"};
  if (const llvm::Value* same = call.getReturnedArgOperand()) return same;
  const llvm::Function* callee = call.getCalledFunction();
  return callee != nullptr && kGivesBackTheFirst.contains(callee->getName()) ? call.getArgOperand(0) : nullptr;
}

}  // namespace

void release_call(SymbolicMachine& machine, const Op& op) {
  const llvm::CallBase& call = call_of(op);
  const int pointer = effects_of(machine, call)->allocation_pointer;
  const Cell& cell = *machine.value(*call.getArgOperand(static_cast<unsigned>(pointer)));
  std::optional<uint64_t> at = cell.expression ? machine.released_block(cell) : std::nullopt;
  if (!at) at = machine.address(cell, op);
  if (!at) machine.misses_release = true;
  if (at && *at == 0) machine.unpass(op);
  if (at && *at != 0) machine.release_block(*at);
}

void unknown_call(SymbolicMachine& machine, const Op& op) {
  const llvm::CallBase& call = call_of(op);
  if (const Effects* effects = effects_of(machine, call)) {
    if (effects->sets_errno) machine.forget_error();
    for (const MemoryEffect& effect : effects->memory) {
      if (!effect.writes) continue;
      for (const unsigned i : PointerFlow::arguments_at(call, effect.place)) {
        if (!call.getArgOperand(i)->getType()->isPointerTy()) continue;
        const Cell& pointer = *machine.value(*call.getArgOperand(i));
        if (effect.extent.kind == Extent::Kind::reachable) {
          machine.forget_reachable(pointer);
        } else {
          machine.forget_behind(pointer);
        }
      }
    }
  }
  if (const llvm::Value* same = given_back(call))
    *machine.cells(op.to) = *machine.value(*same);
  else if (!call.getType()->isVoidTy())
    machine.set_unknown(op, fmt::format("the result of {}", function_text(call)));
}

std::optional<std::string> string_at(SymbolicMachine& machine, uint64_t at, uint64_t limit) {
  std::string out;
  for (; out.size() < limit; ++at) {
    uint8_t byte = 0;
    if (machine.may_be_of_others(at, 1) || !machine.memory.read(at, {&byte, 1})) return std::nullopt;
    machine.notes.note(at, 1, false, machine.epoch);
    if (byte == 0) break;
    out += static_cast<char>(byte);
  }
  return out;
}

OpAction quiet_call_action(const llvm::CallBase& call, const CallPlan& plan) {
  if (plan.info.effects != nullptr && plan.info.effects->allocation == AllocationKind::release)
    return release_call;
  const std::string name = name_of(call);
  if (name == "__cxa_end_catch") return end_catch;
  if (block_call(name)) return copy_block;
  if (is_string_copy(name)) return copy_string;
  if (print_call(name)) return print_string;
  if (const OpAction number = number_call_action(name)) return number;
  if (plan.info.effects != nullptr && plan.info.effects->pure && is_mathematics(call)) return mathematics;
  if (find_host_function(name).call != nullptr) return compute_call;
  if (plan.info.effects == nullptr && call.getType()->isVoidTy()) return no_effect;
  return unknown_call;
}

}  // namespace heddle
