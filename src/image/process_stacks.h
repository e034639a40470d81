// The stacks of another process's threads, by their unwind tables: what `heddle record` looks at when a program
// fails.
//
// The threads are stopped for the time that the object lives (PTRACE_SEIZE and PTRACE_INTERRUPT, which need not
// be undone in any order and disturb no system call that can be restarted) and go on when it dies. The process
// must be a child of ours, or one that ptrace lets us look at.
//
// libdw (dwfl) does the unwinding; the only other user of it is code_symbols.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle {

struct ProcessFrame {
  uint64_t pc = 0;
  bool exact =
      false;  // `pc` is the instruction itself (innermost, or interrupted by a signal), not a return address
  std::string module;        // path of the executable or library; empty: in none
  uint64_t module_base = 0;  // pc minus this is the address in that file
  std::string symbol;        // linker's name of the function; empty: not known
};

class StoppedProcess {
 public:
  // Threads that end meanwhile are left out. The error says why nothing can be looked at.
  static Result<StoppedProcess> stop(pid_t pid);
  StoppedProcess(StoppedProcess&&) noexcept;
  StoppedProcess& operator=(StoppedProcess&&) = delete;
  ~StoppedProcess();

  const std::vector<pid_t>& threads() const;
  uint64_t pc_of(pid_t thread) const;  // 0: not known
  uint64_t stack_pointer_of(pid_t thread) const;
  // Fewer bytes than asked for mean that the rest cannot be read.
  size_t read(uint64_t address, void* bytes, size_t size) const;
  // By thread, innermost first, at most `depth` frames each.
  std::map<pid_t, std::vector<ProcessFrame>> stacks(size_t depth) const;

 private:
  struct Data;
  explicit StoppedProcess(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

}  // namespace heddle
