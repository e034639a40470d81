#include "cli/solve_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>

#include "cli/control_options.h"
#include "solve/engines.h"

namespace heddle {

void add_solve_options(CLI::App& verb, SolveOptions& options) {
  options.jobs = std::max(1u, std::thread::hardware_concurrency());
  verb.add_option(
      "--engine", options.engine,
      fmt::format("How to solve: {} (default {})", fmt::join(engine_names(), ", "), options.engine));
  verb.add_option("--time", options.time, "How long to solve at most (default 5m)")->check(duration_value());
  verb.add_option("--improve", options.improve,
                  "How long auto looks for fewer preemptions than at first, at most (default 10s)")
      ->check(duration_value());
  verb.add_option("--jobs", options.jobs, "Threads to use (default: one per processor)")
      ->check(whole_number(1));
  verb.add_flag("--no-clocks", options.no_clocks, "Do not use the recorded time stamps");
  verb.add_option("--program", options.program, "The executable, when it is not where it was recorded");
}

std::string clock_use_text(const ClockUse& use) {
  if (!use.clocks) return "without the recorded clocks";
  return use.slack > kClockSlack ? fmt::format("with the recorded clocks to within {} ticks", use.slack)
                                 : "with the recorded clocks";
}

}  // namespace heddle
