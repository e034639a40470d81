#include "solve/smt_engine.h"

#include <fmt/format.h>

#include "solve/order_measures.h"
#include "solve/reads_from.h"
#include "solve/smt_encoding.h"

namespace heddle {
namespace {

class SmtEngine : public Engine {
 public:
  std::string_view name() const override { return "smt"; }

  SolveAnswer solve(const Problem& problem, const SolveLimits& limits) override {
    const auto should_end = [&] { return limits.reached(); };
    SmtSolver solver;
    SmtEncoding encoding(problem, solver, should_end);
    if (!encoding.refusal().empty()) return {.why = encoding.refusal()};
    uint64_t queries = 0;
    const auto statistics = [&]() -> std::map<std::string, uint64_t> {
      return {{"queries", queries},
              {"read-write constraints", encoding.read_write_counts().constraints},
              {"read-write constraints without facts", encoding.read_write_counts().without_facts}};
    };
    if (!encoding.encode()) return {.why = "out of time", .statistics = statistics()};
    std::vector<SmtTerm> bound;
    if (limits.most_preemptions) {
      if (!encoding.encode_preemptions()) return {.why = "out of time", .statistics = statistics()};
      bound = {encoding.at_most_preemptions(*limits.most_preemptions)};
    }
    SolveAnswer answer;
    const auto ask = [&] {
      ++queries;
      return solver.check(bound, should_end);
    };
    switch (ask()) {
      case SmtSolver::Answer::unknown:
        return {.why = limits.reached() ? "out of time" : "the solver gave up", .statistics = statistics()};
      case SmtSolver::Answer::unsatisfiable:
        if (bound.empty()) return {.verdict = SolveVerdict::impossible, .statistics = statistics()};
        return {.why = fmt::format("there is no order with {} preemptions or fewer", *limits.most_preemptions)};
      case SmtSolver::Answer::satisfiable:
        if (!take(problem, encoding, answer))
          return {.why = problem.refuted.empty() ? "a value that the solver does not know" : kRefuted};
        break;
    }
    const bool can_bound = answer.preemptions == 0 || limits.most_preemptions || encoding.encode_preemptions();
    if (!can_bound) return answer;
    // From below: what has an answer there has the fewest.
    for (unsigned count = 0; count < answer.preemptions && !answer.fewest; ++count) {
      if (limits.progress) limits.progress(fmt::format("smt: {} preemptions", count));
      bound = {encoding.at_most_preemptions(count)};
      const SmtSolver::Answer fewer = ask();
      if (fewer == SmtSolver::Answer::unsatisfiable) continue;
      if (fewer == SmtSolver::Answer::satisfiable && take(problem, encoding, answer)) break;
      answer.statistics = statistics();
      return answer;  // undecided whether it can be fewer
    }
    answer.fewest = true;
    answer.statistics = statistics();
    return answer;
  }

 private:
  // Whether the order holds, which it may not if values are approximated, and is not refuted.
  static bool take(const Problem& problem, SmtEncoding& encoding, SolveAnswer& answer) {
    std::vector<OrderItem> order = encoding.order();
    const bool holds = evaluate(*problem.trace, problem.model, order).kind == Evaluation::Kind::holds;
    HEDDLE_CHECK(holds || encoding.is_approximated());
    if (!holds || is_refuted(problem, order)) return false;
    const OrderMeasures measures = measure(problem, order);
    answer.verdict = SolveVerdict::found;
    answer.order = std::move(order);
    answer.preemptions = measures.preemptions;
    answer.switches = measures.switches;
    return true;
  }
};

}  // namespace

std::unique_ptr<Engine> make_smt_engine() {
  return std::make_unique<SmtEngine>();
}

Result<std::string> smt_lib(const Problem& problem, std::optional<unsigned> most_preemptions) {
  SmtSolver solver;
  SmtEncoding encoding(problem, solver, [] { return false; });
  if (!encoding.refusal().empty())
    return Error{.what = "the problem cannot be written as SMT-LIB", .why = encoding.refusal()};
  encoding.encode();
  if (most_preemptions) {
    encoding.encode_preemptions();
    solver.require(encoding.at_most_preemptions(*most_preemptions));
  }
  return solver.smt_lib();
}

}  // namespace heddle
