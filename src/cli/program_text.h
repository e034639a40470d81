// A program summary as text for a terminal.
#pragma once

#include <string>

#include "driver/program_summary.h"

namespace heddle {

struct TextOptions {
  bool all = false;    // whole lists
  bool brief = false;  // only the counts
};

std::string program_text(const ProgramSummary& summary, const TextOptions& options);

}  // namespace heddle
