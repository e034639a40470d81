#include "solve/ordering.h"

#include <algorithm>

#include "solve/ordering_search.h"

namespace heddle {
namespace {

// Where reads have many candidates, windows are guessed.
constexpr uint32_t kFirstWindow = 40;
constexpr size_t kManyCandidates = 12;      // of a read, on average
constexpr size_t kMostUnguessed = 200'000;  // of all, for trying it without a guess first
// Propagations until a guess is given up, and for each candidate.
constexpr uint64_t kEffort = 2'000'000;
constexpr uint64_t kEffortPerCandidate = 20, kEffortPerCandidateOfWindow = 1000;
constexpr size_t kMostCuts = 200;

// One case of addresses.
class CaseOfAddresses {
 public:
  CaseOfAddresses(const Problem& problem, const Problem& original, AddressCases& addresses,
                  const SolveLimits& limits)
      : problem_(problem), original_(original), addresses_(addresses), limits_(limits) {}

  SolveAnswer solve() {
    OrderingSearch whole(problem_, original_, addresses_, {}, limits_);
    const SolveAnswer answer = solve_whole_steps(whole);
    return answer.verdict == SolveVerdict::impossible ? solve_cuts(whole, answer) : answer;
  }

 private:
  static OrderingSearch::Effort effort_of(const OrderingSearch& search, uint64_t per_candidate) {
    return {.propagations = kEffort + per_candidate * search.candidates()};
  }

  SolveAnswer solve_whole_steps(OrderingSearch& whole) {
    if (whole.candidates() <= kManyCandidates * whole.reads()) return whole.run({});
    if (whole.candidates() < kMostUnguessed) {  // gives fewer switches than windows do
      const SolveAnswer answer = whole.run(effort_of(whole, kEffortPerCandidate));
      if (answer.verdict != SolveVerdict::undecided || limits_.reached()) return answer;
    }
    uint32_t longest = 0;
    for (const ThreadTrace& thread : problem_.trace->threads)
      longest = std::max(longest, static_cast<uint32_t>(thread.events.size()));
    for (uint32_t window = kFirstWindow; window < longest; window *= 3) {
      OrderingSearch search(problem_, original_, addresses_, {.window = window}, limits_);
      SolveAnswer guessed = search.run(effort_of(search, kEffortPerCandidateOfWindow));
      guessed.statistics["window"] = window;
      if (guessed.verdict == SolveVerdict::found || limits_.reached()) return guessed;
    }
    return whole.run({});
  }

  // Whole steps do not bring it about: parts of steps.
  SolveAnswer solve_cuts(const OrderingSearch& whole, const SolveAnswer& impossible) {
    const std::vector<EventRef> cuts = whole.cuts();
    if (cuts.size() > kMostCuts) return {.why = "too many parts of steps could bring it about"};
    for (const EventRef& cut : cuts) {
      OrderingSearch search(problem_, original_, addresses_, {.cut = cut}, limits_);
      const SolveAnswer answer = search.run({});
      if (answer.verdict != SolveVerdict::impossible) return answer;
    }
    return impossible;
  }

  const Problem& problem_;
  const Problem& original_;
  AddressCases& addresses_;
  const SolveLimits& limits_;
};

class OrderingEngine : public Engine {
 public:
  std::string_view name() const override { return "ordering"; }

  SolveAnswer solve(const Problem& problem, const SolveLimits& limits) override {
    AddressCases addresses(*problem.trace);
    if (!addresses.any()) return CaseOfAddresses(problem, problem, addresses, limits).solve();
    SolveAnswer answer{.verdict = SolveVerdict::impossible};
    while (const std::optional<Trace> trace = addresses.next()) {
      Problem with_addresses = problem;
      with_addresses.trace = &*trace;
      SolveAnswer of_case = CaseOfAddresses(with_addresses, problem, addresses, limits).solve();
      if (of_case.verdict == SolveVerdict::found || limits.reached()) return of_case;
      if (of_case.verdict == SolveVerdict::undecided || answer.verdict == SolveVerdict::impossible)
        answer = std::move(of_case);
    }
    if (answer.verdict == SolveVerdict::impossible && !addresses.is_complete())
      answer = {.why = "addresses depend on reads that could have too many values"};
    return answer;
  }
};

}  // namespace

std::unique_ptr<Engine> make_ordering_engine() {
  return std::make_unique<OrderingEngine>();
}

}  // namespace heddle
