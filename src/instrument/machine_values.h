// Values that the processor says anew each time: time stamps, random numbers, on which processor a thread runs.
// By intrinsics, or by inline assembly, where names of such instructions tell.
//
// A variant that is to run twice in the same way puts others in their place: what was recorded (flow), or what
// follows from the schedule (control).
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>

namespace heddle {

enum class MachineValue {
  clock,
  clock_low,  // 32 bits
  clock_high,
  chance,
  success,     // of asking for a random number
  processor,   // which one it is
  description  // what the processor can do (cpuid): the same each time, but for which one it is
};

// One of the instructions above.
bool asks_the_machine(const llvm::CallBase& call);

// Behind the call: its results are what `instead` makes of each of them; null leaves it. Numbers of up to 64
// bits.
void replace_machine_values(
    llvm::CallBase& call,
    llvm::function_ref<llvm::Value*(llvm::IRBuilder<>&, llvm::Value* said, MachineValue)> instead);

}  // namespace heddle
