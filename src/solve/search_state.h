// Where a search stands: a trace being carried out as by TraceExecution, but so that it can be taken back step
// by step, and with a fingerprint of all that the future depends on.
//
// Threads go on by *moves*: a step of the thread (events that are carried out together), and behind it all its
// steps that no other thread can tell (resources.h). So threads are left only where it can matter.
//
//   - A thread that is left although it could have gone on (a preemption) *sleeps* until something happens that
//     its next step depends on: otherwise the step could as well have been done before leaving, at no more
//     preemptions. A thread that is left because it waits counts as something that happened, on what it waits
//     for: the sleeping thread may have been left there so that it waits.
//   - TSO, PSO: a buffered write becomes visible only where it matters: directly before a step of another
//   thread
//     that touches the memory, or together with the thread's own step that needs an empty buffer. Flushes
//     between two steps that could change places are in the order of their threads and events. Writes that no
//     other thread will look at do not enter the buffer.
//
// Each order can be brought into this form by moving steps to the left and flushes to the right, which changes
// no value and adds no preemption; what is left out here is only what is not in this form. brute_force.h is the
// check.
#pragma once

#include <optional>
#include <vector>

#include "solve/search_order.h"
#include "solve/search_plan.h"
#include "trace/byte_memory.h"
#include "trace/sync_state.h"

namespace heddle {

class SearchState {
 public:
  explicit SearchState(const SearchPlan& plan);

  enum class Outcome : uint8_t { done, refused, failure };  // failure: it is reached, and so is the goal

  // At the beginning: refused if no order holds, failure if nothing needs to be done.
  Outcome begin();
  // refused: the state is anything between, and is to be taken back.
  Outcome move(uint32_t thread);
  void flush(uint32_t thread, uint32_t event);  // requires: it is one of possible_flushes()

  using Mark = size_t;
  Mark mark() const { return operations_.size(); }
  void back_to(Mark mark);

  std::optional<uint32_t> running() const { return running_; }
  bool is_at_end(uint32_t thread) const { return positions_[thread] == plan_->step_end[thread].size(); }
  uint32_t position(uint32_t thread) const { return positions_[thread]; }
  bool can_go_on(uint32_t thread) const;            // as in order_measures.h
  bool may_move(uint32_t thread) const;             // nothing is known that speaks against move()
  std::vector<OrderItem> flushes() const;           // those worth trying
  std::vector<OrderItem> possible_flushes() const;  // all
  Hash128 hash() const;
  SearchedOrder order() const;  // what was carried out

 private:
  struct Store {
    uint32_t event = 0, barrier = 0;
    uint32_t memory = 0;  // resource
    uint64_t address = 0;
    std::vector<MemoryByte> bytes;
  };
  struct Thread {
    LiveValues values;
    std::vector<Store> buffer;  // the oldest first
    uint32_t barrier = 0;       // as in store_buffer.h
    uint32_t next_constraint = 0;
  };
  struct LastFlush {
    uint32_t thread, event, memory;
  };
  // Everything to take an event or a flush back.
  struct Operation {
    OrderItem item;
    Hash128 hash, values_hash;
    size_t values_log, bytes_log, buffers_log, sync_log;
    uint32_t barrier, next_constraint;
    uint64_t sleeping;
    std::optional<uint32_t> running;
    std::optional<LastFlush> last_flush;
  };
  struct ByteChange {
    uint64_t address;
    MemoryByte old;
    uint32_t memory;
  };
  struct BufferChange {
    size_t at;
    std::optional<Store> flushed;  // none: it was added
  };

  const Event& event(uint32_t thread, uint32_t number) const {
    return plan_->problem->trace->threads[thread].events[number];
  }
  bool buffers() const { return plan_->problem->model != MemoryModel::sc; }

  // ---- what depends on what
  bool facts_allow(uint32_t thread, uint32_t number) const;
  bool facts_allow_step(uint32_t thread) const;
  template <class Each>
  bool any_use(uint32_t thread, Each each) const;  // of the thread's next step, with the flushes it needs
  bool step_conflicts(uint32_t thread, const ResourceUse& use) const;
  bool is_buffered_by_others(const ResourceUse& use, uint32_t thread) const;
  bool can_be_told(uint32_t thread) const;  // its next step, by other threads
  void wake(const ResourceUse& use, uint32_t by);
  void leave_for(uint32_t thread);

  // ---- carrying out
  void begin_operation(OrderItem item);
  void take_back();
  void take_back_memory(const Operation& operation);
  Outcome perform_step(uint32_t thread);
  bool perform(uint32_t thread);
  bool access(uint32_t thread, uint32_t number);
  std::optional<uint64_t> address_of(uint32_t thread, const Event& event) const;
  void read(uint32_t thread, const Event& event, uint64_t address);
  void write(uint32_t thread, uint32_t number, uint64_t address, LiveValue value);
  void set_byte(uint64_t address, MemoryByte byte, uint32_t memory);
  void flush_store(uint32_t thread, size_t index);
  void count_store(uint32_t thread, uint32_t memory, int by);
  void set_barrier(uint32_t thread, uint32_t barrier);
  bool may_flush(uint32_t thread, size_t index) const;
  bool is_flush_useful(uint32_t thread) const;
  Hash128 hash_of_store(uint32_t thread, const Store& store) const;
  bool constraints_hold(uint32_t thread, uint32_t position);
  bool fails() const;

  const SearchPlan* plan_;
  std::vector<uint32_t> positions_;
  std::vector<Thread> threads_;
  ByteMemory memory_;
  SyncState sync_;
  Hash128 hash_;
  std::vector<Hash128> memory_hashes_;  // by resource
  std::vector<uint32_t> readers_left_;  // threads that will read it; without any its contents do not count
  std::vector<uint32_t> buffered_, all_buffered_;  // stores by thread and resource; by resource
  uint64_t sleeping_ = 0;                          // threads, of the first 64
  std::optional<uint32_t> running_;
  std::optional<LastFlush> last_flush_;  // if it was the last that happened

  std::vector<Operation> operations_;
  std::vector<LiveValues::Change> values_log_;
  std::vector<ByteChange> bytes_log_;
  std::vector<BufferChange> buffers_log_;
  std::vector<SyncState::Part> sync_log_;
  std::vector<uint64_t> read_words_;
  bool read_certain_ = true;
};

}  // namespace heddle
