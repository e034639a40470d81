// Values of frames that a core and a stopped passing run have in common: those of the failing thread, and those
// of main(), where programs keep what their threads share.
#pragma once

#include "coredump/dump_compare.h"
#include "driver/core_case.h"
#include "image/elf_file.h"
#include "image/process_stacks.h"

namespace heddle {

// `process` runs a "follow" variant of the core's program (abi/frame_record.h), loaded at `load_base`, and
// stands in the thread that is the core's failing one.
std::vector<ComparedLocal> common_locals(const CoreCase& core, const Program& program,
                                         const StoppedProcess& process, const ElfFile& variant,
                                         uint64_t load_base);

}  // namespace heddle
