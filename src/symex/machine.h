// The state of one thread while it is interpreted: values, memory, and the trace that comes of it.
//
// Operations (ops_*.cpp) work on it. A value is concrete, or an expression over what the thread has read from
// memory that it shares. What cannot be known is an unknown, registered with its cause (D8).
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "symex/code.h"
#include "symex/core_stays.h"
#include "symex/likely_values.h"
#include "symex/memory.h"
#include "symex/shared_bytes.h"
#include "symex/uncertain_addresses.h"
#include "symex/variadic.h"
#include "symex/written_pointers.h"
#include "trace/trace.h"

namespace heddle {

// What stands in memory that nobody has written since it was got.
inline constexpr std::string_view kNeverWritten = "memory that nobody has written",
                                  kNotWritten = "memory that the program has not written",
                                  kLeftByAllocator = "what the allocator leaves in a freed block";

// Of all threads, which add to it side by side. Each is there once.
class ApproximationList {
 public:
  bool is(uint32_t number, std::string_view what) const {
    const std::lock_guard lock(mutex_);
    return list_[number].what == what;
  }
  bool is_garbage(uint32_t number) const {
    return is(number, kNeverWritten) || is(number, kNotWritten) || is(number, kLeftByAllocator);
  }
  uint32_t add(const Approximation& approximation) {
    const std::lock_guard lock(mutex_);
    const auto [found, added] =
        numbers_.try_emplace({approximation.thread, approximation.place, approximation.what}, list_.size());
    if (added) list_.push_back(approximation);
    return found->second;
  }
  std::vector<Approximation> take() { return std::move(list_); }

 private:
  mutable std::mutex mutex_;
  std::vector<Approximation> list_;
  std::map<std::tuple<uint32_t, uint32_t, std::string>, uint32_t> numbers_;
};

struct MemoryBlock {  // that was allocated
  uint64_t size = 0;
  bool is_exact = true;  // else the size depends on shared memory: it may be smaller
};

// Of all blocks that were allocated at one address, one after another.
struct BlockSizes {
  uint64_t smallest = UINT64_MAX, largest = 0;

  void add(const BlockSizes& other) {
    smallest = std::min(smallest, other.smallest);
    largest = std::max(largest, other.largest);
  }
  friend bool operator==(const BlockSizes&, const BlockSizes&) = default;
};

class SymbolicMachine {
 public:
  // What is known of all threads since they were interpreted before.
  using Objects = std::map<uint64_t, uint64_t>;   // by address, with their sizes
  using Blocks = std::map<uint64_t, BlockSizes>;  // by address
  struct Known {
    SharedBytes shared;
    SharedBytes by_handlers;  // of these, those that signal handlers write
    Objects objects;
    Blocks blocks;
    std::set<uint64_t> unwritten;             // shared bytes that are read and that nobody may have written
    bool releases = true;                     // all of them were seen
    std::optional<WrittenPointers> pointers;  // if somebody has asked what is released
    LikelyWrites likely;
    uint64_t largest_target = 0;  // of the objects that pointers lead to which were read (pointer_targets.h)
    uint64_t nowhere = 0;         // bytes (uncertain_addresses.h)
  };
  SymbolicMachine(CodeCache& code, SymbolicMemory memory, const Known& known, ApproximationList& approximations,
                  uint32_t thread);

  bool wrote_anywhere = false;  // where is not known: what was read since may be wrong
  bool misses_release = false;  // of which the address is an expression
  std::vector<CoreStay> stays;
  std::optional<LikelyValues> likely;  // if somebody may ask for them
  bool asked_likely = false;

  CodeCache& code;
  ThreadTrace trace;
  SymbolicMemory memory;
  const SharedBytes& shared;
  AccessNotes notes;
  SharedBytes also_share;  // found on the way: what must be an event for others to know it
  std::map<uint64_t, uint64_t>
      text_ends;                 // last bytes of texts whose end is not known: how many there are up to it
  std::set<uint64_t> unwritten;  // bytes that it has read as events, and neither it nor its makers have written
  std::map<uint64_t, MemoryBlock> blocks;
  Blocks allocated;    // each block that there was
  uint32_t epoch = 0;  // threads made so far
  uint64_t step = 0;   // of the next event
  uint64_t thread_pointer = 0;
  uint64_t stack_high = 0;
  uint64_t instructions = 0;
  uint64_t mismatches = 0;  // where what was computed is not what was recorded
  std::string first_mismatch;

  ExprPool& pool() { return trace.pool; }

  struct Object {
    uint64_t begin = 0, size = 0;  // 0: not known
  };

  // ---- frames
  struct Frame {
    const FunctionOps* code = nullptr;
    size_t base = 0;  // in cells
    const BlockCode* block = nullptr;
    uint32_t next = 0;         // operation
    uint32_t called_from = 0;  // place
    uint64_t stack = 0;        // where the next object goes whose address nobody gets to know
    VariadicArguments variadic;
    std::vector<Object> objects;  // on the real stack
  };
  std::vector<Frame> frames;
  void push(const FunctionOps& function);
  void pop();
  // Code outside that is called, and calls back, has its own objects on the stack below those of the frames.
  void forget_below_frames();
  Frame& top() { return frames.back(); }
  // Executes up to the next operation about which the recording says something.
  void run_to_stop();

  // ---- values
  const Cell* get(int32_t operand) const { return operand >= 0 ? registers_ + operand : constants_ + ~operand; }
  Cell* cells(int32_t place) { return registers_ + place; }
  const Cell* value(const llvm::Value& value) const { return get(frames.back().code->places.lookup(&value)); }
  // A scalar as an expression; of so many bits.
  Expr expression(const Cell* cell, unsigned bits);
  void set(Cell* to, Expr value);  // constants become bits again
  void set(Cell* to, uint64_t bits) { *to = {bits, {}}; }
  bool is_concrete(const Cell* cells, uint32_t count) const;
  // Nothing is known of the result.
  void set_unknown(const Op& op, const std::string& why);
  Expr unknown(unsigned bits, const std::string& why);
  // Something of which the path says all that matters, as which clause of a landing pad was chosen.
  Expr decided_by_path(unsigned bits) { return pool().unknown(ExprPool::kDecidedByPath, bits); }
  bool is_decided_by_path(Expr e) const;        // and by nothing else
  std::optional<uint64_t> thrown;               // the exception that is on its way, if its address is known
  std::vector<std::optional<uint64_t>> caught;  // those that are being handled, the newest last

  // ---- memory
  // The value of a scalar; of an expression its likely value, if there is one.
  std::optional<uint64_t> likely_value(const Cell& cell);
  void begin_likely() { likely.emplace(trace.pool, known_.likely, thread_); }
  // What is there, in the cells of a type.
  void load(uint64_t address, const ValueLayout& type, Cell* to, const Op& op);
  void store(uint64_t address, const ValueLayout& type, const Cell* from, const Op& op);
  // Of a scalar of whole bytes; what is written is computed from what was read.
  Expr update(uint64_t address, unsigned bits, const Op& op, const std::function<Expr(Expr)>& change);
  Expr read_bytes(uint64_t address, unsigned bytes);     // own memory, no event
  std::optional<uint64_t> known_word(uint64_t address);  // what lies there, if it is a number or was recorded
  void write_bytes(uint64_t address, Expr value, unsigned bytes);
  // The same as accesses of library code: in pieces, each an event if it is shared.
  void copy(uint64_t to, uint64_t from, uint64_t size, const Op& op);
  void fill(uint64_t to, const Cell& byte, uint64_t size, const Op& op);
  // The same where addresses and sizes may be expressions. A long one is given up.
  void copy(const Cell& to, const Cell& from, const Cell& size, const Op& op);
  void fill(const Cell& to, const Cell& byte, const Cell& size, const Op& op);
  // How many bytes there may be from the pointer on; 0: not known.
  uint64_t reach(const Cell& pointer);
  // Byte `i` from there on, if the condition holds that it is one of them; else anything.
  Expr read_byte(const Cell& begin, uint64_t i, Expr is_in, const Op& op);
  // `counts`: it is an event of controlled runs too.
  void write_from_outside(uint64_t to, std::span<const uint8_t> bytes, bool counts);
  void write_from_outside(const Cell& to, std::span<const uint8_t> bytes, bool counts);
  void tell_bytes(uint64_t at, uint64_t size);
  void see_bytes(uint64_t at, uint64_t size);
  // The same at an address that is an expression. Everything in the object that it may lie in becomes shared:
  // so all accesses of it are events, and whoever knows the values of all reads finds out what was accessed
  // (CLAP section 5). Nobody does if something unknown is in the address: then what is read is unknown, and
  // after a write all of the object.
  void load(Expr address, const ValueLayout& type, Cell* to, const Op& op);
  void store(Expr address, const ValueLayout& type, const Cell* from, const Op& op);
  Expr update(Expr address, unsigned bits, const Op& op, const std::function<Expr(Expr)>& change);
  bool is_uncertain(Expr e);  // something unknown is in it
  bool is_uncertain(const Cell& cell);
  // A concrete address, or none: then the access is given up and registered.
  std::optional<uint64_t> address(const Cell& cell, const Op& op);
  bool is_shared(uint64_t at, uint64_t size) const { return !shared.empty() && shared.contains(at, size); }
  // What is read there may be of others, so that it is an event. Before the first thread made another one, all
  // is its own; the recording relies on that (settled_memory.h).
  bool may_be_of_others(uint64_t at, uint64_t size) const {
    return is_shared(at, size) && (!is_alone() || known_.by_handlers.contains(at, size));
  }
  Expr read_event(uint64_t address, unsigned bytes, const Op* op);
  void write_event(uint64_t address, Expr value, unsigned bytes, const Op* op);

  uint64_t new_stack_object(uint64_t size, uint64_t alignment);
  Object object_at(uint64_t address) const;
  Object extent_at(uint64_t address) const;  // the same, but of a block that may be smaller all it may have
  void add_objects(Objects& all) const;      // those of this thread
  bool misses_object() const { return misses_object_; }      // nothing is known of one that it accessed
  bool asks_for_blocks() const { return asks_for_blocks_; }  // block_sizes()
  bool asks_for_targets() const { return asks_for_targets_; }
  // Something was written behind the pointer, nobody knows what and how much: nothing is known of the rest of
  // the object.
  static constexpr uint64_t kMostForgotten = 1 << 20;  // bytes
  void forget_behind(const Cell& pointer, uint64_t most = kMostForgotten);
  // The same for all that pointers lead to from there.
  void forget_reachable(const Cell& pointer, uint64_t most = kMostForgotten);
  void forget(uint64_t address, uint64_t size, const std::string& why);
  void note_stack_object(uint64_t address, uint64_t size);
  void allocate_block(uint64_t address, std::optional<uint64_t> size);
  void resize_block(uint64_t address, uint64_t size);  // where it is
  void release_block(uint64_t address);
  // The block that the pointer must point to, if it points to one; that it does becomes a condition.
  std::optional<uint64_t> released_block(const Cell& pointer);
  // What its size may be, whoever has allocated it. Nobody knows: smallest > largest.
  BlockSizes block_sizes(uint64_t address);

  // ---- errno, whose place is known once the program has asked for it
  void find_error(uint64_t address);
  void set_error(uint64_t number);
  void forget_error();

  // ---- locks, as far as the thread's own calls say
  bool holds_for_writing(uint64_t lock) const { return written_locks_.contains(lock); }
  void hold_for_writing(uint64_t lock) { written_locks_.insert(lock); }
  void release(uint64_t lock) { written_locks_.erase(lock); }
  bool is_recursive(uint64_t mutex);
  bool is_robust(uint64_t mutex);

  // ---- the trace
  // A point at which a controlled run decides who goes on: all events until the next one are one step.
  void pass(const llvm::Instruction& at);
  bool touches_memory(const llvm::CallBase& call);
  void unpass(const Op& op);  // it turned out to touch nothing
  void stamp(uint64_t tsc);   // of the recording: what was before happened before it, what follows after
  Event& add_event(EventKind kind, const llvm::Instruction* at);
  void make_nowhere();  // uncertain_addresses.h; before all other events
  // The event that the synchronisation call is already that the thread is in, if it is one.
  Event* unfinished();
  // The thread died in that call: it did not happen.
  void drop_unfinished();
  void add_constraint(Constraint::Kind kind, Expr condition);
  // The recording says that the value is this: it becomes so.
  void must_be(Constraint::Kind kind, Cell* cell, unsigned bits, uint64_t value);
  void mismatch(const std::string& what);
  uint32_t place_of(const llvm::Instruction* instruction);
  uint32_t place_here() { return place_of(current_); }
  const llvm::Instruction* current() const { return current_; }
  void at(const llvm::Instruction* instruction) { current_ = instruction; }

 private:
  bool is_alone() const { return thread_ == 0 && epoch == 0; }
  void settle();  // pointers into the cells of the frame on top
  const std::vector<Cell>& own_constants(const FunctionOps& function);
  Expr whole_value(const ValueLayout& type, const Cell* from);
  void set_leaves(const ValueLayout& type, Expr whole, Cell* to);
  void share_whole(uint64_t address, uint64_t size);
  bool has_inherited(uint64_t address, unsigned bytes);
  // What the event that was added last likely reads; from there, or from an address that likely is `at`.
  void note_likely_read(std::optional<uint64_t> at, unsigned bytes);
  std::optional<uint64_t> likely_bytes(uint64_t at, unsigned bytes);
  void note_unwritten(uint64_t address, uint64_t size);
  bool is_too_long(uint64_t to, uint64_t size);
  bool copy_own(uint64_t to, uint64_t from, uint64_t size);
  void copy_at(const Cell& to, const Cell& from, uint64_t size, const Op& op);
  void fill_at(Expr to, const Cell& byte, uint64_t size, const Op& op);
  void write_some(const Cell& to, std::span<const Expr> bytes, Expr size, const Op& op);
  Expr place_of_byte(Expr begin, uint64_t i, Expr is_in);
  void give_up_copy(const Cell& to);
  static constexpr unsigned kPiece = 8;  // bytes of an access of library code
  // The next of the `left` bytes that can be one access: all of them are shared, or none.
  unsigned piece_at(uint64_t at, uint64_t left) const;
  const ValueLayout& piece_of(uint64_t left);
  Object object_of(Expr address) const;
  // The value of an expression if it follows from values that were recorded: of these, what went through memory
  // of the thread's own meanwhile is an expression again when it is read there.
  std::optional<uint64_t> recorded_value(Expr e);
  bool is_outside(Expr address) const;
  bool is_of_library(Expr pointer) const;
  void forget_object(Expr address, uint64_t most = kMostForgotten);
  void forget_from(uint64_t address, uint64_t most = kMostForgotten);
  void forget_library_block(uint64_t address);
  void write_unknown(uint64_t address, uint64_t size, const std::string& why);
  uint64_t next_object(uint64_t address) const;
  Event& symbolic_event(EventKind kind, Expr address, unsigned bytes, const Op& op);

  std::vector<Cell> stack_;
  std::map<const FunctionOps*, std::vector<Cell>> own_constants_;  // where some are of the thread
  llvm::DenseMap<uint32_t, uint64_t> recorded_;                    // values of expressions
  llvm::DenseSet<uint32_t> unrecorded_;                            // sums whose values do not follow from these
  std::set<uint64_t> written_locks_;
  const Known& known_;
  Objects stack_objects_;                                     // the newest at each address, with its size
  std::unordered_map<uint64_t, uint64_t> all_stack_objects_;  // the largest at each address
  bool misses_object_ = false;
  bool asks_for_blocks_ = false, asks_for_targets_ = false;
  uint64_t error_at_ = 0;
  std::optional<uint32_t> error_ = 0;
  Cell* registers_ = nullptr;
  const Cell* constants_ = nullptr;
  const llvm::Instruction* current_ = nullptr;
  llvm::DenseMap<uint64_t, uint32_t> places_;
  llvm::DenseMap<const llvm::Instruction*, uint64_t> occurrences_;
  uint64_t stamp_ = 0;
  size_t stamped_events_ = 0;  // have their upper limit
  ApproximationList& approximations_;
  uint32_t thread_;
  std::map<std::pair<std::string, uint32_t>, uint32_t> causes_;
  std::vector<bool> uncertain_;  // expressions, as far as looked at
};

}  // namespace heddle
