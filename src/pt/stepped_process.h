// A process whose threads run one instruction at a time (ptrace).
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "pt/branch_instruction.h"
#include "pt/perf_file.h"

namespace heddle {

class ProcessorPin;

class SteppedProcess {
 public:
  // Started, and run up to the entry point of the executable. No vDSO: its code is in no file.
  // `input`: a file that is its standard input; empty: ours.
  static Result<SteppedProcess> start(const std::vector<std::string>& command, const std::string& input = "");
  SteppedProcess(SteppedProcess&& other) noexcept;
  ~SteppedProcess();  // kills it

  // What came of letting a thread run.
  struct Stop {
    enum class Kind {
      stepped,  // or came to a breakpoint
      enters_call,
      leaves_call,
      signal,   // is about to be delivered
      cloned,   // made thread `number`; goes on inside of the system call
      exiting,  // its end begins
      ended,    // it is gone: `number` is the wait status
      other,
    };
    Kind kind = Kind::other;
    pid_t tid = 0;
    int64_t number = 0;
  };

  pid_t pid() const { return pid_; }
  void step(pid_t tid, int signal = 0);  // lets it run for one instruction
  void run(pid_t tid, int signal = 0);   // to a breakpoint, or to the next system call: its beginning, its end
  void go_on(pid_t tid, int signal = 0);
  // A stop of this thread (-1: of any one), or nothing if there is none yet. `block`: waits for one; nothing
  // then means that there are no threads left.
  std::optional<Stop> wait(pid_t tid, bool block);
  // Of a thread that runs, within about this time. Nothing: it runs still.
  std::optional<Stop> wait_for(pid_t tid, std::chrono::milliseconds time);
  void halt(pid_t tid) const;  // by SIGSTOP

  uint64_t ip(pid_t tid) { return registers(tid).rip; }
  const user_regs_struct& registers(pid_t tid);
  void set_registers(pid_t tid, const user_regs_struct& registers);  // when it runs next
  size_t read(uint64_t address, void* bytes, size_t size) const;
  size_t write(uint64_t address, const void* bytes, size_t size) const;
  std::optional<std::pair<uint64_t, int>> fault(pid_t tid) const;  // address and code of the signal
  // Threads run on the processor of whoever steps them, where a change between the two is cheap; what the
  // process asks for its processors is answered as if they did not.
  void pin(pid_t tid, bool pinned) const;

  // Classified once for each address: code does not change but by loading and unloading (forget_code).
  const BranchInstruction& instruction(uint64_t ip);
  void forget_code() { code_.clear(); }
  std::vector<PerfMapping> mappings() const;                     // executable ones
  const std::string& executable() const { return executable_; }  // as the kernel names it

 private:
  SteppedProcess() = default;
  Result<void> run_to_entry();
  void prepare(pid_t tid);  // to run

  pid_t pid_ = 0;
  std::string executable_;
  std::map<uint64_t, BranchInstruction> code_;
  struct Registers {
    user_regs_struct values{};
    bool known = false, changed = false;
  };
  std::map<pid_t, Registers> registers_;
  std::shared_ptr<const ProcessorPin> pin_;
};

}  // namespace heddle
