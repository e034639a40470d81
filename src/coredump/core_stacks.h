// The stacks of a core's threads, by unwind tables: no frame pointers needed. With the registers of each frame,
// as far as they are known there: where values of the program live (value_reader.h).
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "coredump/core_file.h"

namespace heddle {

struct CoreFrame {
  uint64_t pc = 0;
  bool exact = false;        // `pc` is the instruction itself, not the one behind a call
  std::string module;        // path of the executable or library; empty: in none
  uint64_t module_base = 0;  // an address minus this is one of the file
  bool in_program = false;   // the module is the executable
  std::string symbol;        // linker's name of the function; empty: not known
  std::array<std::optional<uint64_t>, 17> registers;  // numbered as in DWARF: 7 is rsp, 16 rip

  // An address inside the instruction that the frame stands at, in its file.
  uint64_t place() const { return pc - module_base - (exact ? 0 : 1); }
};

struct CoreStack {
  pid_t tid = 0;
  std::vector<CoreFrame> frames;  // innermost first
};

// In the order of CoreFile::threads(). `executable` stands for the core's own, wherever that was when the
// program ran. `symbols`: the file with its names (image/debug_file.h); empty: it has them itself.
std::vector<CoreStack> core_stacks(const CoreFile& core, const std::filesystem::path& executable,
                                   const std::filesystem::path& symbols = {}, size_t depth = 100000);

}  // namespace heddle
