// What an engine is: a way to find an answer to a problem.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "solve/problem.h"
#include "trace/evaluator.h"

namespace heddle {

enum class SolveVerdict : uint8_t {
  found,
  impossible,  // proved: no order explains the failure
  undecided,   // time, memory, or the user
};
std::string_view text_of(SolveVerdict verdict);

// How far an engine may go, and whom it tells. Asked often: engines end within a tenth of a second of a stop.
struct SolveLimits {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  const std::atomic<bool>* stop = nullptr;           // set by others: end now
  uint64_t most_bytes = 3'000'000'000;               // of memory, as far as the engine can tell
  std::optional<uint32_t> most_preemptions;          // only orders with at most so many
  std::chrono::milliseconds improve{10'000};         // at most so long for fewer preemptions than at first
  unsigned jobs = 1;                                 // threads that it may use
  std::function<void(const std::string&)> progress;  // a line for people, replacing the one before

  bool reached() const {
    return (stop != nullptr && stop->load(std::memory_order_relaxed)) ||
           (deadline && std::chrono::steady_clock::now() >= *deadline);
  }
};

struct SolveAnswer {
  SolveVerdict verdict = SolveVerdict::undecided;
  std::vector<OrderItem> order;  // found: evaluate() holds, and all facts (auto: but clocks)
  uint32_t preemptions = 0;      // of it (order_measures.h)
  uint32_t switches = 0;
  bool fewest = false;  // proved: no order has fewer preemptions
  std::string why;      // undecided: what ended it
  std::map<std::string, uint64_t> statistics;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string_view name() const = 0;
  virtual SolveAnswer solve(const Problem& problem, const SolveLimits& limits) = 0;
};

}  // namespace heddle
