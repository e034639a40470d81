#include "solve/ordering_search.h"

#include <fmt/format.h>

#include <algorithm>

#include "solve/order_measures.h"

namespace heddle {

struct OrderingSearch::Parts {
  OrderingValues values;
  OrderingTheory theory;
  OrderingSync sync;

  Parts(OrderingModel& model, SatSolver& solver, AddressCases& addresses, const std::function<bool()>& stopped)
      : values(model, solver, addresses, stopped),
        theory(model, solver, values),
        sync(model, solver, theory, values) {}
};

OrderingSearch::OrderingSearch(const Problem& problem, const Problem& original, AddressCases& addresses,
                               const OrderingCase& of, const SolveLimits& limits)
    : problem_(problem), original_(original), addresses_(addresses), limits_(limits), model_(problem, of, [&] {
        return limits.reached();
      }) {}

OrderingSearch::~OrderingSearch() = default;

SolveAnswer OrderingSearch::run(const Effort& effort) {
  answer_ = {};
  if (!model_.not_covered.empty()) {
    answer_.why = model_.not_covered;
    return answer_;
  }
  if (model_.impossible) {
    answer_.verdict = SolveVerdict::impossible;
    return answer_;
  }
  effort_ = effort;
  if (!parts_) prepare();
  if (is_prepared_) why_stopped_.clear();
  const SatSolver::Answer found =
      is_stopped() ? SatSolver::Answer::stopped : solver_.solve(parts_->theory, [&] { return is_stopped(); });
  if (found == SatSolver::Answer::satisfiable)
    finish();
  else if (found == SatSolver::Answer::stopped)
    answer_.why = why_stopped_;
  else
    answer_.verdict = SolveVerdict::impossible;
  note_statistics();
  return answer_;
}

std::vector<EventRef> OrderingSearch::cuts() const {
  return parts_ ? parts_->sync.cuts() : std::vector<EventRef>{};
}

void OrderingSearch::prepare() {
  const auto stopped = [&] { return is_stopped(); };
  parts_ = std::make_unique<Parts>(model_, solver_, addresses_, stopped);
  if (!parts_->values.is_complete()) {
    if (!is_stopped()) why_stopped_ = "values depend on too many reads";
    return;
  }
  parts_->theory.add_reads(stopped);
  parts_->values.find_possible(stopped);
  parts_->values.encode([&](Moment moment) { return parts_->theory.executed(moment); }, stopped);
  parts_->sync.add_clauses();
  for (const ReadsFrom& refuted : problem_.refuted) add_refuted(refuted);
  parts_->theory.on_all = [&] { look_at_whole(); };
  is_prepared_ = !is_stopped();
}

// One of the reads must have another source.
void OrderingSearch::add_refuted(const ReadsFrom& refuted) {
  std::vector<Literal> clause;
  for (const ReadSource& source : refuted) {
    const uint32_t number = model_.read_event(source.read.thread, source.read.event);
    if (number == kInitial) return;
    const OrderingReadEvent& event = model_.read_events[number];
    uint32_t read = event.first;
    while (read + 1 < event.first + event.count &&
           model_.cells[model_.reads[read + 1].cell].address <= source.address)
      ++read;
    const uint32_t write =
        source.write ? model_.write_number(source.write->thread, source.write->event) : kInitial;
    const auto& candidates = model_.reads[read].candidates;
    const auto found = std::ranges::find(candidates, write, &OrderingCandidate::write);
    if (found == candidates.end()) return;  // it has another one in any case
    clause.push_back(~Literal::of(found->variable));
  }
  solver_.add_clause(clause);
}

bool OrderingSearch::is_stopped() {
  if (!why_stopped_.empty()) return true;
  if (limits_.reached())
    why_stopped_ = "the time was over, or it was stopped";
  else if (solver_.bytes() > limits_.most_bytes)
    why_stopped_ = "the memory was used up";
  else if (solver_.propagations >= effort_.propagations)
    why_stopped_ = "the guess did not help";
  return !why_stopped_.empty();
}

// The write that is found instead becomes visible before the source does, or after the read.
void OrderingSearch::add_wrong_read(const OrderingSequence::WrongRead& wrong) {
  OrderingTheory& theory = parts_->theory;
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
}

// All is decided: makes a total order, and says what is wrong with it.
void OrderingSearch::look_at_whole() {
  ++sequences_;
  const OrderingSequence sequence(model_, parts_->theory.sources(), OrderingSequence::Next::round);
  for (const OrderingSequence::WrongRead& wrong : sequence.wrong_reads()) add_wrong_read(wrong);
  wrong_reads_ += sequence.wrong_reads().size();
  const bool any_lemmas = parts_->sync.add_lemmas(sequence);
  if (any_lemmas || !sequence.wrong_reads().empty()) return;
  const Evaluation judged = evaluate(*original_.trace, original_.model, sequence.items());
  if (judged.kind != Evaluation::Kind::holds)
    why_stopped_ = "the order that was found does not hold: " + judged.text(*original_.trace);
}

// Several total orders of what was found: the one with the fewest preemptions.
void OrderingSearch::finish() {
  using Next = OrderingSequence::Next;
  for (const Next next : {Next::round, Next::earliest, Next::in_time}) {
    const OrderingSequence sequence(model_, parts_->theory.sources(), next);
    if (!sequence.wrong_reads().empty() || !sequence.refused().empty()) continue;
    std::vector<OrderItem> order = sequence.items();
    if (evaluate(*original_.trace, original_.model, order).kind != Evaluation::Kind::holds) continue;
    const OrderMeasures measures = measure(original_, order);
    if (answer_.verdict == SolveVerdict::found &&
        std::pair(measures.preemptions, measures.switches) >= std::pair(answer_.preemptions, answer_.switches))
      continue;
    answer_.verdict = SolveVerdict::found;
    answer_.order = std::move(order);
    answer_.preemptions = measures.preemptions;
    answer_.switches = measures.switches;
  }
  HEDDLE_CHECK(answer_.verdict == SolveVerdict::found);
  answer_.fewest = answer_.preemptions == 0;
  if (!limits_.most_preemptions || answer_.preemptions <= *limits_.most_preemptions) return;
  const std::string why = fmt::format("the order that was found has {} preemptions", answer_.preemptions);
  answer_ = {.why = why};
}

void OrderingSearch::note_statistics() {
  answer_.statistics = {
      {"conflicts", solver_.conflicts},       {"decisions", solver_.decisions},
      {"propagations", solver_.propagations}, {"restarts", solver_.restarts},
      {"variables", solver_.variables()},     {"reads with few values", parts_->values.closed_reads()},
      {"total orders tried", sequences_},     {"wrong reads in them", wrong_reads_}};
}

}  // namespace heddle
