// What a thread likely read from shared memory, where a decision must be made that no recording holds: which
// way library code went whose path was not traced, which of several mutexes was locked
// (pt/pt_path_source.h). A read likely got what was written last before it, by the clock of the recording as
// far as it tells: the thread's own view, unless another thread wrote later.
//
// The writes of all threads are those of the pass before (symbolic_trace.h). What is decided so becomes a
// constraint, so a wrong guess cannot make a wrong answer, but none.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "trace/expression_values.h"
#include "trace/trace.h"

namespace heddle {

struct LikelyWrite {
  uint64_t tsc = 0;  // not before
  uint32_t thread = 0, event = 0;
  uint32_t size = 0;
  uint64_t value = 0;

  friend bool operator==(const LikelyWrite&, const LikelyWrite&) = default;
};
using LikelyWrites = std::unordered_map<uint64_t, std::vector<LikelyWrite>>;  // by address; each by time

// Of one thread, while it is interpreted.
class LikelyValues {
 public:
  LikelyValues(const ExprPool& pool, const LikelyWrites& writes, uint32_t thread)
      : writes_(writes), thread_(thread), values_(pool, 0), pool_(pool) {}

  // A read event, in the order of their numbers. `own`: what the thread itself sees there, if it knows.
  void read(uint32_t event, uint64_t address, uint32_t bytes, uint64_t now, std::optional<uint64_t> own);
  void wrote(uint64_t address, uint64_t now) { own_writes_[address] = now; }
  // Nothing: it depends on something of which nothing is known.
  std::optional<uint64_t> value(Expr e);

 private:
  const LikelyWrites& writes_;
  uint32_t thread_;
  ExprValues values_;
  const ExprPool& pool_;
  std::unordered_map<uint64_t, uint64_t> own_writes_;  // when the last was
};

// Adds the writes of a thread.
void add_likely_writes(const ThreadTrace& trace, uint32_t thread, LikelyValues& values, LikelyWrites& writes);
void sort_by_time(LikelyWrites& writes);

}  // namespace heddle
