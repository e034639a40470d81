#include "solve/doubted_clocks.h"

#include <set>

#include "solve/ordering.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;
using Bounds = std::vector<ClockBound>;

// Spans of time that are left out where the whole takes too long.
constexpr size_t kFirstSpans = 8;
constexpr std::chrono::milliseconds kLongestTry{10'000};

Bounds all_bounds(const Trace& trace) {
  std::set<ClockBound> all;
  for (uint32_t t = 0; t < trace.threads.size(); ++t)
    for (const Event& event : trace.threads[t].events)
      for (const uint64_t time : {event.tsc_low, event.tsc_high})
        if (time != 0) all.insert({.time = time, .thread = t});
  return {all.begin(), all.end()};
}

class DoubtSearch {
 public:
  DoubtSearch(const Problem& problem, const SolveLimits& limits, std::chrono::milliseconds effort)
      : problem_(problem), limits_(limits), effort_(effort) {
    limits_.most_preemptions.reset();
    limits_.improve = {};
  }

  DoubtedClocks run() {
    const Bounds all = all_bounds(*problem_.trace);
    switch (without(all)) {
      case SolveVerdict::impossible:
        out_.end = DoubtedClocks::End::none;
        return out_;
      case SolveVerdict::found:
        break;
      case SolveVerdict::undecided:
        if (!find_span(all)) return out_;
    }
    shrink();
    return out_;
  }

 private:
  SolveVerdict without(const Bounds& doubted) {
    Problem problem = problem_;
    problem.doubted = doubted;
    SolveLimits limits = limits_;
    limits.deadline = std::min(limits.deadline.value_or(Clock::time_point::max()), Clock::now() + kLongestTry);
    ++out_.problems;
    const SolveVerdict verdict = engine_->solve(problem, limits).verdict;
    if (verdict == SolveVerdict::found) {
      if (out_.end != DoubtedClocks::End::some)
        limits_.deadline =
            std::min(limits_.deadline.value_or(Clock::time_point::max()), Clock::now() + effort_);
      out_.end = DoubtedClocks::End::some;
      out_.bounds = doubted;
    }
    return verdict;
  }

  // The part `number` of so many, or all but it.
  static Bounds part(const Bounds& all, size_t number, size_t parts, bool but) {
    const auto begin = all.begin() + static_cast<ptrdiff_t>(all.size() * number / parts);
    const auto end = all.begin() + static_cast<ptrdiff_t>(all.size() * (number + 1) / parts);
    if (!but) return {begin, end};
    Bounds out(all.begin(), begin);
    out.insert(out.end(), end, all.end());
    return out;
  }

  bool find_span(const Bounds& all) {
    for (size_t i = 0; i < kFirstSpans && !limits_.reached(); ++i)
      if (without(part(all, i, kFirstSpans, false)) == SolveVerdict::found) return true;
    return false;
  }

  // Fewer of them, as long as there is an order without those.
  void shrink() {
    size_t parts = 2;
    while (out_.bounds.size() > 1 && !limits_.reached()) {
      parts = std::min(parts, out_.bounds.size());
      const Bounds now = out_.bounds;
      bool smaller = false;
      if (parts == 2 || parts < now.size())
        for (size_t i = 0; i < parts && !smaller && !limits_.reached(); ++i)
          smaller = without(part(now, i, parts, false)) == SolveVerdict::found;
      if (smaller) {
        parts = 2;
        continue;
      }
      if (parts > 2)  // of two, each is all but the other
        for (size_t i = 0; i < parts && !smaller && !limits_.reached(); ++i)
          smaller = without(part(now, i, parts, true)) == SolveVerdict::found;
      if (smaller) {
        parts = std::max<size_t>(parts - 1, 2);
        continue;
      }
      if (parts == now.size()) break;
      parts *= 2;
    }
    out_.smallest = !limits_.reached();
  }

  const Problem& problem_;
  SolveLimits limits_;
  std::chrono::milliseconds effort_;
  std::unique_ptr<Engine> engine_ = make_ordering_engine();  // it keeps to the stamps, and they help it most
  DoubtedClocks out_;
};

}  // namespace

DoubtedClocks find_doubted_clocks(const Problem& problem, const SolveLimits& limits,
                                  std::chrono::milliseconds effort) {
  return DoubtSearch(problem, limits, effort).run();
}

}  // namespace heddle
