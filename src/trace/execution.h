// A trace being carried out, item by item: evaluator.h says what that means. A value: a search can keep a copy
// and go on from there.
#pragma once

#include <optional>
#include <vector>

#include "trace/byte_memory.h"
#include "trace/evaluator.h"
#include "trace/expression_values.h"
#include "trace/store_buffer.h"
#include "trace/sync_state.h"

namespace heddle {

class TraceExecution {
 public:
  // The trace outlives this. requires: check_trace(trace)
  TraceExecution(const Trace& trace, MemoryModel model, ValueWatcher watcher = {});

  // Why the item cannot come now (not_order, not_enabled); none if it can.
  std::optional<Evaluation> refusal(const OrderItem& item) const;
  // Carries it out; what was wrong, if something was, and then nothing more is to be asked.
  std::optional<Evaluation> perform(const OrderItem& item);
  // Whether what is left to be said holds: the failure predicate.
  Evaluation finish();

  uint32_t next_event(uint32_t thread) const { return threads_[thread].next; }
  // Whether the thread has a next event that is possible now, once its buffer is empty where that is needed.
  bool can_go_on(uint32_t thread) const;

 private:
  struct Thread {
    ExprValues values;
    StoreBuffer buffer;
    uint32_t next = 0;  // event
    uint32_t next_constraint = 0;
  };

  Evaluation verdict(Evaluation::Kind kind, uint32_t thread, uint32_t event, uint32_t constraint = 0) const;
  std::optional<uint64_t> address_of(Thread& thread, const Event& event);  // none: outside of its object
  void read(uint32_t thread, uint32_t number, uint64_t address);
  void write(uint32_t thread, uint32_t number, uint64_t address);
  bool perform_access(uint32_t thread, uint32_t number);
  std::optional<Evaluation> check_constraints(uint32_t thread);
  bool is_at_end(uint32_t thread) const;
  bool fails();

  const Trace* trace_;
  MemoryModel model_;
  ValueWatcher watcher_;
  std::vector<Thread> threads_;
  ByteMemory memory_;
  SyncState sync_;
  std::optional<uint32_t> inside_step_;  // of this thread
  size_t items_ = 0;
  uint64_t undecided_ = 0;
  std::vector<uint64_t> read_words_, written_words_;  // of the present event
  bool certain_ = true;
};

}  // namespace heddle
