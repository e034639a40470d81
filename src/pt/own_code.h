// The executable's own code in a stepped process, all of it overwritten by breakpoints but for what is to run
// next: however a thread comes into it (return, callback, landing pad, longjmp, handler), it stops there.
//
// So a run of instructions without a branch costs one stop instead of one for each, and code outside runs
// natively. A single step takes some 20 us where the debug exception goes through a hypervisor, a breakpoint
// less than half of that. How long instructions are is learned by stepping each for the first time; most
// branches are carried out here, on the thread's registers.
//
// Only while one thread at a time runs. A process that is forked must find its code laid open.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "pt/branch_instruction.h"
#include "pt/perf_file.h"
#include "pt/stepped_process.h"

namespace heddle {

class OwnCode {
 public:
  // Nothing is guarded where the executable does not say which of its bytes are code.
  OwnCode(pid_t pid, const std::optional<PerfMapping>& mapping);
  ~OwnCode();
  OwnCode(OwnCode&& other) = delete;

  bool guards(uint64_t address) const { return !open_ && part_of(address) != nullptr; }
  bool guards_anything() const { return !open_ && !parts_.empty(); }
  void cover();                                // breakpoints everywhere
  void uncover(uint64_t begin, uint64_t end);  // but there
  void lay_open();                             // as the program has it, until guard()
  void guard();

  const BranchInstruction& instruction(uint64_t address);
  void learn(uint64_t address, uint64_t next);  // was stepped
  // Instructions from here on that are no branches and of which the length is known, at most so many; `end` is
  // behind the last one.
  const std::vector<uint64_t>& straight(uint64_t address, uint64_t most, uint64_t& end);
  // Carries out the branch at `address`. Nothing: it must be stepped.
  std::optional<uint64_t> branch(SteppedProcess& process, pid_t tid, uint64_t address);

 private:
  struct Part {
    uint64_t begin = 0;
    std::vector<uint8_t> bytes, breakpoints;
    uint64_t end() const { return begin + bytes.size(); }
  };
  struct Instruction {
    BranchInstruction branch;
    uint8_t size = 0;  // 0: not known
  };
  const Part* part_of(uint64_t address) const;
  void write(const Part& part, uint64_t begin, uint64_t end, const std::vector<uint8_t>& bytes) const;
  Instruction& find(uint64_t address);

  int memory_ = -1;
  bool open_ = false;
  std::vector<Part> parts_;
  uint64_t begin_ = 0, end_ = 0;  // uncovered
  std::unordered_map<uint64_t, Instruction> instructions_;
  std::vector<uint64_t> straight_;
};

}  // namespace heddle
