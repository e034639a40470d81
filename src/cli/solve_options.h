// Options that solve and reproduce share.
#pragma once

#include <string>

#include "cli/verb.h"
#include "solve/problem.h"

namespace heddle {

// As given; empty texts mean that the option was not used.
struct SolveOptions {
  std::string engine = "auto", memory_model, time, improve, program;
  unsigned jobs = 1;
  bool no_clocks = false;
};

// But for --memory-model, whose default differs.
void add_solve_options(CLI::App& verb, SolveOptions& options);

// "with the recorded clocks", or as exactly as they were taken.
std::string clock_use_text(const ClockUse& use);

}  // namespace heddle
