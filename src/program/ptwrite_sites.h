// What PTWRITE instructions of the variant "ptwrite" tell (docs/pt.md): who puts them in
// (instrument/ptwrite.h), who finds them in machine code (build/code_map.h) and who reads them
// (pt/pt_path_source.h) mean the same by this.
#pragma once

#include <cstdint>

namespace heddle {

enum class PtwriteKind : uint8_t {
  none,
  value,           // of the instruction, which is a logged one (record_plan.h)
  result,          // of the call
  handle,          // that the call has written: of the thread or the key that it made
  thread_pointer,  // of who enters a function from outside; the instruction is the function's first
  argument,        // `number`, of the function
  first_text,      // of main: the first pointer of its second argument
};

struct PtwriteSite {
  PtwriteKind kind = PtwriteKind::none;
  uint32_t number = 0;

  friend bool operator==(const PtwriteSite&, const PtwriteSite&) = default;
};

}  // namespace heddle
