// bench-ladder ENGINE ACCESSES clocks|no-clocks SEED SECONDS: solves one ladder problem (solve/ladder.h), and
// prints "verdict seconds events preemptions switches megabytes".
#include "solve/ladder.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <charconv>
#include <chrono>

#include "solve/engines.h"

namespace heddle {
namespace {

// 0 if it is none.
uint32_t number(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? value : 0;
}

int run(std::string_view engine_name, uint32_t accesses, bool clocks, uint32_t seed, uint32_t seconds) {
  Result<std::unique_ptr<Engine>> engine = make_engine(engine_name);
  if (!engine) {
    fmt::print(stderr, "{}\n", engine.error().text());
    return 1;
  }
  const Ladder ladder(accesses, seed);
  size_t events = 0;
  for (const ThreadTrace& thread : ladder.trace().threads) events += thread.events.size();
  const auto start = std::chrono::steady_clock::now();
  const SolveLimits limits{.deadline = start + std::chrono::seconds(seconds), .jobs = 2};
  const SolveAnswer answer = (*engine)->solve(ladder.problem(clocks), limits);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{} {:.2f} {} {} {} {}\n", text_of(answer.verdict), took.count(), events, answer.preemptions,
             answer.switches, usage.ru_maxrss / 1024);
  return 0;
}

}  // namespace
}  // namespace heddle

int main(int count, char** words) {
  if (count != 6) {
    fmt::print(stderr, "bench-ladder ENGINE ACCESSES clocks|no-clocks SEED SECONDS\n");
    return 2;
  }
  return heddle::run(words[1], heddle::number(words[2]), words[3] == std::string_view("clocks"),
                     heddle::number(words[4]), heddle::number(words[5]));
}
