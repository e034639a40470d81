#include "solve/ordering_values.h"

#include <algorithm>
#include <deque>

#include "base/result.h"

namespace heddle {
namespace {

constexpr uint64_t kMostDependences = 30'000'000;

}  // namespace

OrderingValues::OrderingValues(const OrderingModel& model, SatSolver& solver, AddressCases& addresses,
                               const std::function<bool()>& stopped)
    : model_(model),
      solver_(solver),
      addresses_(addresses),
      write_reads_(model.writes.size()),
      dependent_writes_(model.read_events.size()),
      dependent_conditions_(model.read_events.size()),
      write_candidates_(model.writes.size()),
      domains_(model.read_events.size()),
      written_(model.writes.size()),
      groups_(model.read_events.size()),
      variables_(model.read_events.size()),
      values_(model.read_events.size(), kNone) {
  for (const ThreadTrace& thread : model.problem().trace->threads) pools_.emplace_back(thread.pool);
  complete_ = find_dependences(stopped);
}

bool OrderingValues::find_dependences(const std::function<bool()>& stopped) {
  const auto is_too_much = [&] { return dependences_ > kMostDependences || stopped(); };
  const Trace& trace = *model_.problem().trace;
  for (uint32_t write = 0; write < model_.writes.size(); ++write) {
    if (is_too_much()) return false;
    write_reads_[write] = reads_in(model_.writes[write].thread, event_of(model_.writes[write]).value);
    for (const uint32_t read : write_reads_[write]) dependent_writes_[read].push_back(write);
  }
  for (const OrderingRead& read : model_.reads)
    for (const OrderingCandidate& candidate : read.candidates)
      if (candidate.write != kInitial) {
        std::vector<uint32_t>& readers = write_candidates_[candidate.write];
        if (readers.empty() || readers.back() != read.event) readers.push_back(read.event);
      }
  for (uint32_t access = 0; access < addresses_.accesses().size(); ++access) {
    const auto [thread, event] = addresses_.accesses()[access];
    add_condition(thread, model_.event(thread, event).address_expression, model_.moment(thread, event), access);
  }
  for (uint32_t t = 0; t < trace.threads.size(); ++t)
    for (const Constraint& constraint : trace.threads[t].constraints) {
      if (is_too_much()) return false;
      add_condition(t, constraint.condition,
                    constraint.events == 0 ? model_.end : model_.moment(t, constraint.events - 1));
    }
  if (trace.failure.kind == FailurePredicate::Kind::condition)
    add_condition(trace.failure.thread, trace.failure.condition, model_.end);
  return true;
}

void OrderingValues::add_condition(uint32_t thread, Expr expression, Moment guard, uint32_t access) {
  const auto number = static_cast<uint32_t>(conditions_.size());
  conditions_.push_back({.thread = thread,
                         .expression = expression,
                         .reads = reads_in(thread, expression),
                         .guard = guard,
                         .access = access});
  for (const uint32_t read : conditions_.back().reads) dependent_conditions_[read].push_back(number);
}

OrderingValues::ReadSet OrderingValues::reads_in(uint32_t thread, Expr expression) {
  ReadSet reads = pools_[thread].reads_in(expression);
  for (uint32_t& read : reads) read = model_.read_event(thread, read);
  dependences_ += reads.size();
  return reads;
}

ValueNumber OrderingValues::evaluate(uint32_t thread, Expr expression, const ReadSet& reads,
                                     std::span<const ValueNumber> tuple) {
  return pools_[thread].value(expression, table_, [&](uint32_t event) {
    const auto place = std::ranges::lower_bound(reads, model_.read_event(thread, event)) - reads.begin();
    return tuple[static_cast<size_t>(place)];
  });
}

// What is not certain holds, and an address that is not certain is the one that was recorded.
bool OrderingValues::holds(const Condition& condition, std::span<const ValueNumber> tuple) {
  const ValueNumber value = evaluate(condition.thread, condition.expression, condition.reads, tuple);
  if (condition.access == kNone) return value == kUncertainValue || table_.word(value, 0) != 0;
  const uint64_t address =
      value == kUncertainValue ? addresses_.recorded(condition.access) : table_.word(value, 0);
  const EventRef access = addresses_.accesses()[condition.access];
  if (address == model_.event(access.thread, access.event).address) return true;
  addresses_.note(condition.access, address);
  return false;
}

// ---- values as they come out

bool OrderingValues::has_values(const ReadSet& reads) const {
  return std::ranges::all_of(reads, [&](uint32_t read) { return values_[read] != kNone; });
}

void OrderingValues::note_source(uint32_t read, const std::vector<uint32_t>& sources) {
  try_value(model_.reads[read].event, sources);
}

void OrderingValues::note_value(Literal literal, const std::vector<uint32_t>& sources) {
  if (literal.variable() >= meanings_.size()) return;
  const Meaning meaning = meanings_[literal.variable()];
  if (meaning.read_event == UINT32_MAX) return;
  values_[meaning.read_event] = meaning.value;
  set_.push_back(meaning.read_event);
  for (const uint32_t number : dependent_conditions_[meaning.read_event])
    if (!conditions_[number].clauses) check(conditions_[number]);
  for (const uint32_t write : dependent_writes_[meaning.read_event])
    for (const uint32_t reader : write_candidates_[write])
      if (domains_[reader].open) try_value(reader, sources);
}

void OrderingValues::backtrack(uint32_t level) {
  for (; set_.size() > levels_[level]; set_.pop_back()) values_[set_.back()] = kNone;
  levels_.resize(level);
}

void OrderingValues::try_value(uint32_t read_event, const std::vector<uint32_t>& sources) {
  const OrderingReadEvent& event = model_.read_events[read_event];
  if (!domains_[read_event].open || event.count == 0) return;
  for (uint32_t read = event.first; read < event.first + event.count; ++read) {
    if (sources[read] == UINT32_MAX) return;
    const uint32_t write = model_.reads[read].candidates[sources[read]].write;
    if (write != kInitial && !has_values(write_reads_[write])) return;
  }
  const Event& of = model_.event(event.thread, event.event);
  std::vector<Literal> clause;
  std::vector<uint64_t> words(words_of(of.size * 8));
  bool certain = true;
  for (uint32_t read = event.first; read < event.first + event.count; ++read) {
    const OrderingCell& cell = model_.cells[model_.reads[read].cell];
    const OrderingCandidate& source = model_.reads[read].candidates[sources[read]];
    clause.push_back(Literal::of(source.variable, false));
    ValueNumber value = kUncertainValue;
    uint64_t from = of.address;  // where the value begins
    if (source.write == kInitial) {
      value = initial_value(event);
    } else {
      const OrderingWrite& write = model_.writes[source.write];
      const ReadSet& reads = write_reads_[source.write];
      std::vector<ValueNumber> tuple;
      for (const uint32_t dependence : reads) {
        tuple.push_back(values_[dependence]);
        clause.push_back(~literal_of(dependence, values_[dependence]));
      }
      value = evaluate(write.thread, event_of(write).value, reads, tuple);
      from = event_of(write).address;
    }
    certain &= value != kUncertainValue;
    for (uint32_t i = 0; i < cell.size; ++i) {
      const uint64_t source_byte = cell.address + i - from, byte = cell.address + i - of.address;
      words[byte / 8] |= (table_.word(value, source_byte / 8) >> source_byte % 8 * 8 & 0xff) << byte % 8 * 8;
    }
  }
  const ValueNumber value = certain ? table_.number(words) : kUncertainValue;
  if (values_[read_event] == value) return;
  clause.push_back(values_[read_event] == kNone ? literal_of(read_event, value)
                                                : ~literal_of(read_event, values_[read_event]));
  solver_.add_lemma(std::move(clause));
}

void OrderingValues::check(const Condition& condition) {
  if (!has_values(condition.reads)) return;
  std::vector<ValueNumber> tuple;
  for (const uint32_t read : condition.reads) tuple.push_back(values_[read]);
  if (holds(condition, tuple)) return;
  std::vector<Literal> clause = {~condition.guarded};
  for (size_t i = 0; i < tuple.size(); ++i) clause.push_back(~literal_of(condition.reads[i], tuple[i]));
  solver_.add_lemma(std::move(clause));
}

}  // namespace heddle
