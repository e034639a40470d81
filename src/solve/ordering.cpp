#include "solve/ordering.h"

#include <fmt/format.h>

#include "solve/order_measures.h"
#include "solve/ordering_sync.h"

namespace heddle {
namespace {

// Where reads have many candidates, guesses are tried.
constexpr uint32_t kFirstWindow = 40;
constexpr size_t kManyCandidates = 12;       // of a read, on average
constexpr size_t kMostCandidates = 500'000;  // of all, for trying it without a guess first
// Propagations until a guess is given up, and for each candidate.
constexpr uint64_t kEffort = 2'000'000;
constexpr uint64_t kEffortPerCandidate = 30, kEffortPerCandidateOfWindow = 400;

// One search, with or without a guess (OrderingModel) that makes it small. Can go on with more conflicts.
class Search {
 public:
  Search(const Problem& problem, const SolveLimits& limits, uint32_t window)
      : problem_(problem), limits_(limits), model_(problem, window) {}

  size_t reads() const { return model_.reads.size(); }
  size_t candidates() const { return model_.candidates; }

  // How far it goes before it says "undecided".
  struct Effort {
    uint64_t propagations = UINT64_MAX;
  };

  SolveAnswer run(const Effort& effort) {
    if (!model_.not_covered.empty()) {
      answer_.why = model_.not_covered;
      return answer_;
    }
    if (model_.impossible) {
      refute();
      return answer_;
    }
    effort_ = effort;
    why_stopped_.clear();
    const auto stopped = [&] { return is_stopped(); };
    if (!parts_) prepare(stopped);
    const SatSolver::Answer found =
        is_stopped() ? SatSolver::Answer::stopped : solver_.solve(parts_->theory, stopped);
    if (found == SatSolver::Answer::satisfiable)
      finish(parts_->theory);
    else if (found == SatSolver::Answer::stopped)
      answer_.why = why_stopped_;
    else
      refute();
    note_statistics(parts_->values);
    return answer_;
  }

 private:
  struct Parts {
    OrderingValues values;
    OrderingTheory theory;
    OrderingSync sync;
    Parts(OrderingModel& model, SatSolver& solver)
        : values(model, solver), theory(model, solver, values), sync(model, solver, theory, values) {}
  };

  void prepare(const std::function<bool()>& stopped) {
    parts_ = std::make_unique<Parts>(model_, solver_);
    parts_->values.find_possible(stopped);
    parts_->values.encode([&](Moment moment) { return parts_->theory.executed(moment); }, stopped);
    parts_->sync.add_clauses();
    parts_->theory.on_all = [&] { look_at_whole(parts_->theory, parts_->sync); };
  }

  bool is_stopped() {
    if (!why_stopped_.empty()) return true;
    if (limits_.reached())
      why_stopped_ = "the time was over, or it was stopped";
    else if (solver_.bytes() > limits_.most_bytes)
      why_stopped_ = "the memory was used up";
    else if (solver_.propagations >= effort_.propagations)
      why_stopped_ = "the guess did not help";
    return !why_stopped_.empty();
  }

  // There is no order of what the model has.
  void refute() {
    if (model_.guesses_addresses)
      answer_.why = "addresses that depend on what was read are not what was recorded";
    else if (parts_ && parts_->sync.could_end_inside_step())
      answer_.why = "whole steps do not bring it about; a part of one might";
    else
      answer_.verdict = SolveVerdict::impossible;
  }

  // All is decided: makes a total order, and says what is wrong with it.
  void look_at_whole(OrderingTheory& theory, OrderingSync& sync) {
    ++sequences_;
    const OrderingSequence sequence(model_, theory.sources(), OrderingSequence::Next::round);
    bool any = false;
    for (const OrderingSequence::WrongRead& wrong : sequence.wrong_reads()) {
      const OrderingRead& read = model_.reads[wrong.read];
      const uint32_t candidate = theory.sources()[wrong.read];
      const uint32_t source = read.candidates[candidate].write;
      const Moment reading = model_.read_events[read.event].moment;
      const Moment between = model_.writes[wrong.write].visible;
      std::vector<Literal> lemma = {~theory.source_literal(wrong.read, candidate)};
      if (source != kInitial) lemma.push_back(theory.before(between, model_.writes[source].visible));
      lemma.push_back(theory.before(reading, between));
      for (const Literal literal : lemma) theory.imply_known(literal);
      solver_.add_lemma(std::move(lemma));
      any = true;
    }
    wrong_reads_ += sequence.wrong_reads().size();
    any |= sync.add_lemmas(sequence);
    if (any) return;
    const Evaluation judged = evaluate(*problem_.trace, problem_.model, sequence.items());
    if (judged.kind != Evaluation::Kind::holds)
      why_stopped_ = "the order that was found does not hold: " + judged.text(*problem_.trace);
  }

  // Several total orders of what was found: the one with the fewest preemptions.
  void finish(const OrderingTheory& theory) {
    using Next = OrderingSequence::Next;
    for (const Next next : {Next::round, Next::earliest, Next::in_time}) {
      const OrderingSequence sequence(model_, theory.sources(), next);
      if (!sequence.wrong_reads().empty() || !sequence.refused().empty()) continue;
      std::vector<OrderItem> order = sequence.items();
      if (evaluate(*problem_.trace, problem_.model, order).kind != Evaluation::Kind::holds) continue;
      const OrderMeasures measures = measure(problem_, order);
      const auto key = [](uint32_t preemptions, uint32_t switches) { return std::pair{preemptions, switches}; };
      if (answer_.verdict == SolveVerdict::found &&
          key(measures.preemptions, measures.switches) >= key(answer_.preemptions, answer_.switches))
        continue;
      answer_.verdict = SolveVerdict::found;
      answer_.order = std::move(order);
      answer_.preemptions = measures.preemptions;
      answer_.switches = measures.switches;
    }
    HEDDLE_CHECK(answer_.verdict == SolveVerdict::found);
    answer_.fewest = answer_.preemptions == 0;
    if (!limits_.most_preemptions || answer_.preemptions <= *limits_.most_preemptions) return;
    answer_.verdict = SolveVerdict::undecided;
    answer_.order.clear();
    answer_.why = fmt::format("the order that was found has {} preemptions", answer_.preemptions);
  }

  void note_statistics(const OrderingValues& values) {
    answer_.statistics = {
        {"conflicts", solver_.conflicts},       {"decisions", solver_.decisions},
        {"propagations", solver_.propagations}, {"restarts", solver_.restarts},
        {"variables", solver_.variables()},     {"reads with few values", values.closed_reads()},
        {"total orders tried", sequences_},     {"wrong reads in them", wrong_reads_}};
  }

  const Problem& problem_;
  const SolveLimits& limits_;
  Effort effort_;
  OrderingModel model_;
  SatSolver solver_;
  std::unique_ptr<Parts> parts_;
  SolveAnswer answer_;
  std::string why_stopped_;
  uint64_t sequences_ = 0, wrong_reads_ = 0;
};

class OrderingEngine : public Engine {
 public:
  std::string_view name() const override { return "ordering"; }
  SolveAnswer solve(const Problem& problem, const SolveLimits& limits) override {
    Search whole(problem, limits, 0);
    if (whole.candidates() <= kManyCandidates * whole.reads()) return whole.run({});
    if (whole.candidates() < kMostCandidates) {
      const SolveAnswer answer = whole.run(effort_of(whole, kEffortPerCandidate));
      if (answer.verdict != SolveVerdict::undecided || limits.reached()) return answer;
    }
    uint32_t longest = 0;
    for (const ThreadTrace& thread : problem.trace->threads)
      longest = std::max(longest, static_cast<uint32_t>(thread.events.size()));
    for (uint32_t window = kFirstWindow; window < longest && !limits.reached(); window *= 3) {
      Search search(problem, limits, window);
      SolveAnswer guessed = search.run(effort_of(search, kEffortPerCandidateOfWindow));
      guessed.statistics["window"] = window;
      if (guessed.verdict == SolveVerdict::found) return guessed;
    }
    return whole.run({});
  }

 private:
  static Search::Effort effort_of(const Search& search, uint64_t per_candidate) {
    return {.propagations = kEffort + per_candidate * search.candidates()};
  }
};

}  // namespace

std::unique_ptr<Engine> make_ordering_engine() {
  return std::make_unique<OrderingEngine>();
}

}  // namespace heddle
