// Tells the path of a traced thread as a log of `--policy paths` would have (recording/path_source.h), without
// what a trace does not hold (H3, section 6.3.3): values.
//
// Addresses must be some: stacks, blocks of the heap, thread pointers and handles get addresses of their own,
// which no two objects share and which are the same every time. Results of calls that leave the program are
// unknown, but for those that the effects table or the path tells: allocations succeed, a lock that is not only
// tried is taken, a thread that ran was made. Whether a lock that was tried was taken is read off the branch
// behind it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "program/record_plan.h"
#include "pt/program_path.h"
#include "recording/path_source.h"

namespace heddle {

// Addresses that stand for those of the traced process, by the number of a thread.
struct PtAddresses {
  static constexpr uint64_t kRoom = uint64_t{1} << 32;
  static uint64_t stack_low(size_t thread) { return 0x700000000000 + thread * kRoom; }
  static uint64_t stack_high(size_t thread) { return stack_low(thread) + kRoom / 2; }
  static uint64_t thread_pointer(size_t thread) { return stack_low(thread) + kRoom / 2 + (uint64_t{1} << 24); }
  static uint64_t heap(size_t thread) { return 0x600000000000 + thread * kRoom; }
  static uint64_t arguments() { return 0x7f0000000000; }
  static uint64_t argument_text() { return arguments() + (1 << 20); }
};

// Of all threads of a trace.
class PtPaths {
 public:
  struct Thread {
    std::string name;
    ProgramPath path;
    uint64_t begin_tsc = 0, end_tsc = 0;  // end 0: it had not ended
    std::vector<size_t> children;         // in the order in which it made them
  };
  PtPaths(const Program& program, const RecordPlan& plan, std::vector<Thread> threads, unsigned arguments)
      : program_(program), plan_(plan), threads_(std::move(threads)), arguments_(arguments) {}

  const std::vector<Thread>& threads() const { return threads_; }
  std::shared_ptr<PathSource> source(size_t thread);  // must not outlive this

 private:
  friend class PtThreadTeller;
  const Program& program_;
  const RecordPlan& plan_;
  std::vector<Thread> threads_;
  unsigned arguments_;
  std::mutex mutex_;
  std::map<size_t, std::optional<uint64_t>> start_arguments_;  // of threads, as their makers said
};

}  // namespace heddle
