// Options that solve and reproduce share.
#pragma once

#include <string>
#include <vector>

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

// "with the recorded clocks", "with the recorded order of synchronisation but for 2 stamps, ...".
std::string clock_use_text(const Trace& trace, const ClockUse& use);
// Of each stamp that is doubted: "when thread 0.1 began bank.c:12 main".
std::vector<std::string> doubted_texts(const Trace& trace, const ClockUse& use);
// Whose facts are used, for programs: clocks, sync-order or none.
std::string_view facts_name(const Trace& trace, const ClockUse& use);

}  // namespace heddle
