#include "solve/auto_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "solve/fewer_preemptions.h"

namespace heddle {
namespace {

Problem without_clocks(Problem problem) {
  if (problem.refuted.empty()) problem.clocks = false;
  return problem;
}

class ImprovingEngine : public Engine {
 public:
  explicit ImprovingEngine(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
  std::string_view name() const override { return engine_->name(); }

  SolveAnswer solve(const Problem& problem, const SolveLimits& limits) override {
    SolveLimits first = limits;
    first.most_preemptions.reset();
    SolveAnswer answer = engine_->solve(problem, first);
    if (answer.verdict != SolveVerdict::found) return answer;
    answer.statistics["preemptions at first"] = answer.preemptions;
    SolveLimits more = limits;
    const auto end = std::chrono::steady_clock::now() + limits.improve;
    more.deadline = std::min(limits.deadline.value_or(end), end);
    answer = with_fewer_preemptions(without_clocks(problem), std::move(answer), more);
    if (limits.most_preemptions && answer.preemptions > *limits.most_preemptions)
      return {.why = fmt::format("the order that was found has {} preemptions", answer.preemptions),
              .statistics = std::move(answer.statistics)};
    return answer;
  }

 private:
  std::unique_ptr<Engine> engine_;
};

class ClocklessEngine : public Engine {
 public:
  explicit ClocklessEngine(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
  std::string_view name() const override { return engine_->name(); }
  SolveAnswer solve(const Problem& problem, const SolveLimits& limits) override {
    return engine_->solve(without_clocks(problem), limits);
  }

 private:
  std::unique_ptr<Engine> engine_;
};

}  // namespace

std::unique_ptr<Engine> make_improving_engine(std::unique_ptr<Engine> engine) {
  return std::make_unique<ImprovingEngine>(std::move(engine));
}

std::unique_ptr<Engine> make_clockless_engine(std::unique_ptr<Engine> engine) {
  return std::make_unique<ClocklessEngine>(std::move(engine));
}

}  // namespace heddle
