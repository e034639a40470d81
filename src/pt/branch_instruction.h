// What an x86-64 instruction means for Intel PT, read from its bytes: which packets its execution gives.
//
// Written after the opcode maps of Intel's manual (volume 2, appendix A), apart from libipt's own decoder,
// which reads what the emulator writes.
#pragma once

#include <cstdint>
#include <span>

namespace heddle {

enum class BranchKind : uint8_t {
  none,
  conditional,  // TNT
  direct,       // jump or call with a fixed target: no packet
  indirect,     // jump or call through a register or memory: TIP
  ret,          // TIP (return compression is off)
  far,          // system call, interrupt, far jump: leaves user space
};

struct BranchInstruction {
  BranchKind kind = BranchKind::none;
  bool call = false;
  // Of conditional and direct branches, returns, branches through memory beside the code and PTWRITE; else 0.
  uint8_t size = 0;
  int8_t ptwrite = -1;  // the number of the register that it writes to the trace (PTW packet)
  bool wide = false;    // all 64 bits of it
};

// `bytes`: from the instruction's first one on, up to 15 of them.
BranchInstruction classify_instruction(std::span<const uint8_t> bytes);

}  // namespace heddle
