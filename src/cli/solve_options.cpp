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

namespace {

std::string_view kind_of_stamps(const Trace& trace) {
  return trace.sync_order ? "order of synchronisation" : "clocks";
}

// Where a bound lies: the first event behind it, or the last before it.
std::string bound_text(const Trace& trace, const ClockBound& bound) {
  const ThreadTrace& thread = trace.threads[bound.thread];
  const auto place = [&](const Event& event) {
    const auto text = trace.instruction_texts.find(thread.places[event.place].instruction);
    return text == trace.instruction_texts.end() ? std::string(text_of(event.kind)) : text->second;
  };
  const auto behind = std::ranges::find(thread.events, bound.time, &Event::tsc_low);
  if (behind != thread.events.end()) return fmt::format("thread {} began {}", thread.name, place(*behind));
  const auto before =
      std::ranges::find(thread.events.rbegin(), thread.events.rend(), bound.time, &Event::tsc_high);
  return fmt::format("thread {} ended {}", thread.name, before == thread.events.rend() ? "?" : place(*before));
}

}  // namespace

std::string clock_use_text(const Trace& trace, const ClockUse& use) {
  const std::string_view kind = kind_of_stamps(trace);
  if (!use.clocks) return fmt::format("without the recorded {}", kind);
  if (use.doubted.empty()) return fmt::format("with the recorded {}", kind);
  return fmt::format("with the recorded {} but for {}, which contradict{} the rest", kind,
                     counted(use.doubted.size(), "stamp"), use.doubted.size() == 1 ? "s" : "");
}

std::vector<std::string> doubted_texts(const Trace& trace, const ClockUse& use) {
  std::vector<std::string> out;
  for (const ClockBound& bound : use.doubted) out.push_back("when " + bound_text(trace, bound));
  return out;
}

std::string_view facts_name(const Trace& trace, const ClockUse& use) {
  if (!use.clocks) return "none";
  return trace.sync_order ? "sync-order" : "clocks";
}

}  // namespace heddle
