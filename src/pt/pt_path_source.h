// Tells the path of a traced thread as a log of `--policy paths` would have (recording/path_source.h), without
// what a trace does not hold (H3, section 6.3.3): values.
//
// Addresses must be some: stacks, blocks of the heap, thread pointers and handles get addresses of their own,
// which no two objects share and which are the same every time. Results of calls that leave the program are
// unknown, but for those that the effects table or the path tells: allocations succeed, a lock that is not only
// tried is taken, a thread that ran was made. Whether a lock that was tried was taken is read off the branch
// behind it.
//
// Where the path has no blocks, whoever follows it says where the thread went: through silent blocks
// (program_path.h), and through library models, whose functions ran outside as far as the trace can tell
// (program/library_models.h). What decides there may be an expression; then its likely value does
// (symex/likely_values.h).
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "program/record_plan.h"
#include "pt/input_reader.h"
#include "pt/program_path.h"
#include "pt/thread_values.h"
#include "recording/path_source.h"

namespace heddle {

// Addresses that stand for those of the traced process, by the number of a thread.
struct PtAddresses {
  static constexpr uint64_t kRoom = uint64_t{1} << 32;
  static uint64_t stack_low(size_t thread) { return 0x700000000000 + thread * kRoom; }
  static uint64_t stack_high(size_t thread) { return stack_low(thread) + kRoom / 2; }
  static uint64_t thread_pointer(size_t thread) { return stack_low(thread) + kRoom / 2 + (uint64_t{1} << 24); }
  static uint64_t heap(size_t thread) { return 0x600000000000 + thread * kRoom; }
  // Signal handlers use parts of their own of a thread's stack and heap.
  static uint64_t for_handlers(size_t level) { return kRoom / 8 * (level + 1); }
  static uint64_t arguments() { return 0x7f0000000000; }
  static uint64_t environment() { return arguments() + (1 << 28); }
  static uint64_t streams(size_t thread) { return heap(thread) + kRoom / 8 * 7; }
  static uint64_t argument_text() { return arguments() + (1 << 20); }
};

// Where a thread's stack and its own data lie: made-up addresses, or real ones where PTWRITE instructions told
// them.
struct PtThreadMemory {
  uint64_t stack_low = 0, stack_high = 0, thread_pointer = 0;
  uint64_t free = 0;  // below this nothing of the stack was used

  static PtThreadMemory of(size_t thread, const ProgramPath& path);
};

// Of all threads of a trace.
class PtPaths {
 public:
  struct Thread {
    std::string name;
    ProgramPath path;
    PtThreadMemory memory;
    uint64_t begin_tsc = 0, end_tsc = 0;  // end 0: it had not ended
    std::vector<size_t> children;         // in the order in which it made them
    std::optional<uint64_t> fault;        // the address that it died of accessing
  };
  // `named`: the blocks that are not silent.
  using Blocks = llvm::DenseSet<const llvm::BasicBlock*>;
  PtPaths(const Program& program, const RecordPlan& plan, std::vector<Thread> threads, Blocks named,
          unsigned arguments, PtInputs inputs);

  const std::vector<Thread>& threads() const { return threads_; }
  std::shared_ptr<PathSource> source(size_t thread);                  // must not outlive this
  std::shared_ptr<PathSource> handlers(size_t thread, size_t level);  // as ProgramPath::handlers

 private:
  friend class PtThreadTeller;
  const Program& program_;
  const RecordPlan& plan_;
  std::vector<Thread> threads_;
  Blocks named_;
  llvm::DenseSet<const llvm::Function*> with_code_;
  unsigned arguments_;
  PtInputs inputs_;
  OpenStreams streams_;
  ThreadKeys keys_;
  std::mutex mutex_;
  struct Start {
    const llvm::Function* routine = nullptr;  // null: it is in the path
    std::optional<uint64_t> argument;
  };
  std::map<size_t, Start> starts_;  // of threads, as their makers said
};

}  // namespace heddle
