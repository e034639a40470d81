// What a core file tells about the program that left it: how it failed and where, thread by thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "coredump/core_index.h"
#include "recording/recording_info.h"
#include "replay/controlled_program.h"

namespace heddle {

struct CoreCase {
  std::unique_ptr<CoreFile> core;
  std::unique_ptr<CodeMap> map;
  std::unique_ptr<ProgramRegions> regions;
  std::filesystem::path symbols;  // the file with the symbol table of the executable
  std::vector<CoreStack> stacks;
  std::vector<CoreIndex> indexes;  // by thread, as the stacks
  size_t failing = 0;              // thread; of a hang the first that waits in the program
  RecordedFailure failure;
  std::vector<std::string> notes;  // what could not be known, in words

  bool hangs() const { return failure.kind == "hang"; }
  // Instructions that a thread may stand at: several where a library model stands in the place of a call.
  std::vector<InstructionId> stands_at(size_t thread) const;
};

// `program` must outlive the result. The error of a core of another program names both build ids; other
// arguments (`command`: argv) than the core's are noted. `debug_file`: may be empty (image/debug_file.h).
Result<CoreCase> open_core(const std::filesystem::path& file, const ControlledProgram& program,
                           const std::vector<std::string>& command, const std::filesystem::path& debug_file);

// The core's executable is this file?
Result<void> check_core_belongs(const CoreFile& core, const std::filesystem::path& executable);

}  // namespace heddle
