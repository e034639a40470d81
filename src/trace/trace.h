// A symbolic trace: what each thread of a recorded run did to memory that others use, with values as
// expressions over what the thread itself read (CLAP section 3.1). A plain value; made by src/symex, solved by
// src/solve.
//
// Threads' events are numbered in program order. A read event's value is the expression ExprOp::read of its
// number. What must fit together is written down in trace_check.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/expressions.h"

namespace heddle {

enum class EventKind : uint8_t {
  read,
  write,
  update,  // read-modify-write: reads, and writes `value` in the same moment. A compare-exchange writes back
           // what it read if it fails
  fence,
  lock,
  unlock,       // of a mutex or spin lock
  lock_failed,  // try-lock, timed lock: somebody held it
  read_lock,
  read_unlock,
  read_lock_failed,
  write_lock,
  write_unlock,
  write_lock_failed,
  wait_begin,
  wait_end,      // condition: releases the mutex and waits; woken, and has the mutex again
  wait_timeout,  // the same as wait_end, but by its time (or spuriously)
  signal,
  broadcast,
  barrier_arrive,  // `second` is 1 if it was the last one (PTHREAD_BARRIER_SERIAL_THREAD)
  barrier_leave,
  semaphore_wait,
  semaphore_failed,
  semaphore_post,
  semaphore_value,  // a read of `size` bytes: the count
  create,
  start,
  exit,
  join,
  detach,
  once_begin,   // runs the function (guard: acquired)
  once_done,    // has run it; `second` is 1 if it was left by an exception, so that the next one tries again
  once_passed,  // found it done
  init,
  destroy,  // of a synchronisation object; `second` is the count of a semaphore or barrier
  futex_wait,
  futex_wake,
  allocate,
  release,  // of a block that more than one thread uses: address, size
  sync,     // any other, for people only
};
inline constexpr unsigned kEventKinds = static_cast<unsigned>(EventKind::sync) + 1;
std::string_view text_of(EventKind kind);

enum class AccessOrder : uint8_t { plain, relaxed, consume, acquire, release, acq_rel, seq_cst };
std::string_view text_of(AccessOrder order);

inline constexpr uint32_t kLargestAccess = kMostExprBits / 8;  // larger ones are several events of one step

struct Event {
  EventKind kind = EventKind::read;
  AccessOrder order = AccessOrder::plain;
  uint8_t sync = 0;        // heddle_sync_kind of calls
  bool recursive = false;  // lock, unlock, lock_failed, wait: of a mutex that may be locked again by its holder
  bool direct = false;  // write: never in a store buffer (library and system calls; src/replay does the same)
  uint32_t size = 0;    // bytes of an access, 1 to kLargestAccess, or of a block (up to 4 GiB)
  uint32_t place = 0;   // in ThreadTrace::places
  uint64_t step = 0;  // how many points of decision the thread had passed (src/replay); events of one step are
                      // carried out together
  uint64_t occurrence =
      0;                 // how many events of its kind the thread had at this instruction, this one included,
                         // as controlled runs count them (replay/guide.h); 0: those have no such event
  uint64_t address = 0;  // of the access or object; of create, join: index of the thread in Trace::threads
  Expr address_expression{};  // if the address depends on what was read (policy paths); 64 bits
  uint64_t object = 0;        // the range of addresses it lies in then: begins here,
  uint64_t object_size = 0;   // so long; 0: not known
  Expr value{};               // write, update: what is written
  uint64_t second = 0;        // wait: the mutex; init: the count; others as their kind says
  // The event happened between these times (0: no limit known). Trace::sync_order: numbers instead.
  uint64_t tsc_low = 0, tsc_high = 0;

  friend bool operator==(const Event&, const Event&) = default;
};

constexpr bool is_access(EventKind kind) {
  return kind <= EventKind::update;
}
constexpr bool reads_value(EventKind kind) {
  return kind == EventKind::read || kind == EventKind::update || kind == EventKind::semaphore_value;
}
constexpr bool writes_value(EventKind kind) {
  return kind == EventKind::write || kind == EventKind::update;
}
// Under TSO and PSO: comes only when all that the thread wrote before is visible.
constexpr bool needs_empty_buffer(const Event& event) {
  switch (event.kind) {
    case EventKind::read:
      return false;
    case EventKind::write:
      return event.direct || event.order == AccessOrder::seq_cst;
    case EventKind::fence:
      return event.order == AccessOrder::seq_cst;
    default:
      return true;
  }
}
// Of buffered writes and of fences: what was written before becomes visible first.
constexpr bool releases(AccessOrder order) {
  return order == AccessOrder::release || order == AccessOrder::acq_rel;
}

constexpr bool is_wait(EventKind kind) {
  return kind == EventKind::wait_begin || kind == EventKind::wait_end || kind == EventKind::wait_timeout;
}
constexpr bool is_block(EventKind kind) {
  return kind == EventKind::allocate || kind == EventKind::release;
}

// Where an event or constraint is: an instruction, and who called.
struct TracePlace {
  uint32_t instruction = 0;  // of the program
  uint32_t caller = 0;       // place of the call, a smaller number; 0: none. The place 0 is nowhere

  friend bool operator==(const TracePlace&, const TracePlace&) = default;
};

struct Constraint {
  enum class Kind : uint8_t { branch, target, value, argument, fault, other };
  Kind kind = Kind::branch;
  Expr condition{};     // one bit that must be 1
  uint32_t events = 0;  // how many events of the thread come before
  uint32_t place = 0;

  friend bool operator==(const Constraint&, const Constraint&) = default;
};
std::string_view text_of(Constraint::Kind kind);

struct ThreadTrace {
  std::string name;  // "0.1", as in recordings
  ExprPool pool;
  std::vector<Event> events;
  std::vector<Constraint> constraints;              // by `events`, growing
  std::vector<TracePlace> places = {TracePlace{}};  // the first is nowhere
  std::string end;                                  // how its recording ends, for people
};

// The recording knows that one event came before the other: a core was done with the first, and then took up
// the second's thread (H3, section 6.3.4).
struct OrderOnCore {
  uint32_t before_thread = 0, before = 0;
  uint32_t after_thread = 0, after = 0;

  friend bool operator==(const OrderOnCore&, const OrderOnCore&) = default;
};

struct Approximation {
  std::string what;
  uint32_t thread = 0, place = 0;

  friend bool operator==(const Approximation&, const Approximation&) = default;
};

// What failed.
struct FailurePredicate {
  enum class Kind : uint8_t {
    none,       // nothing
    reached,    // `thread` is at its end: all its events are done
    condition,  // and `condition`, over its reads, is 1
    freed,      // and `address` lies in a block that was released
    deadlock,   // all that wait are at their ends, and their next operations cannot be done
  };
  Kind kind = Kind::none;
  uint32_t thread = 0;
  Expr condition{};
  uint64_t address = 0;
  std::string text;
  struct Waiting {
    uint32_t thread = 0;
    Event operation;  // that it did not come out of
    friend bool operator==(const Waiting&, const Waiting&) = default;
  };
  std::vector<Waiting> waiting;

  friend bool operator==(const FailurePredicate&, const FailurePredicate&) = default;
};
std::string_view text_of(FailurePredicate::Kind kind);

struct Trace {
  std::string program, identity, policy;
  std::vector<ThreadTrace> threads;     // creators before what they created
  std::map<uint64_t, uint8_t> initial;  // bytes of shared memory before the first event; missing: 0
  std::vector<OrderOnCore> core_order;  // a fact for SC and TSO: stores leave the core in their order
  bool sync_order = false;  // events' limits are places in the recorded order of synchronisation, not times
  std::vector<Approximation> approximations;
  bool exact = true;  // but for these. Else values or accesses may be wrong, and nothing is proved by them
  FailurePredicate failure;
  uint64_t accesses = 0,
           shared_accesses = 0;  // possibly shared ones that were carried out; those that are events
  std::map<uint32_t, std::string> instruction_texts;  // "bank.c:12 main"; of the instructions in places
};

}  // namespace heddle
