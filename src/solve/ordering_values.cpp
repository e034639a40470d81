#include "solve/ordering_values.h"

#include <algorithm>
#include <deque>

#include "base/result.h"

namespace heddle {
namespace {

constexpr size_t kMostValues = 40;   // of a read that are written down beforehand
constexpr size_t kMostTuples = 300;  // of values that an expression depends on
constexpr size_t kMostClauses = 12'000'000;

}  // namespace

OrderingValues::OrderingValues(const OrderingModel& model, SatSolver& solver, AddressCases& addresses)
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
  const Trace& trace = *model.problem().trace;
  for (const ThreadTrace& thread : trace.threads) pools_.emplace_back(thread.pool);
  for (uint32_t write = 0; write < model.writes.size(); ++write) {
    write_reads_[write] = reads_in(model.writes[write].thread, event_of(model.writes[write]).value);
    for (const uint32_t read : write_reads_[write]) dependent_writes_[read].push_back(write);
  }
  for (const OrderingRead& read : model.reads)
    for (const OrderingCandidate& candidate : read.candidates)
      if (candidate.write != kInitial) {
        std::vector<uint32_t>& readers = write_candidates_[candidate.write];
        if (readers.empty() || readers.back() != read.event) readers.push_back(read.event);
      }
  for (uint32_t access = 0; access < addresses.accesses().size(); ++access) {
    const auto [thread, event] = addresses.accesses()[access];
    add_condition(thread, model.event(thread, event).address_expression, model.moment(thread, event), access);
  }
  for (uint32_t t = 0; t < trace.threads.size(); ++t)
    for (const Constraint& constraint : trace.threads[t].constraints)
      add_condition(t, constraint.condition,
                    constraint.events == 0 ? model.end : model.moment(t, constraint.events - 1));
  if (trace.failure.kind == FailurePredicate::Kind::condition)
    add_condition(trace.failure.thread, trace.failure.condition, model.end);
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

// ---- possible values

bool OrderingValues::is_always_guarded(const Condition& condition, uint32_t read_event) const {
  return condition.guard == model_.end || condition.guard == model_.read_events[read_event].moment ||
         model_.order.is_before(condition.guard, model_.end);
}

bool OrderingValues::fits(uint32_t read_event, ValueNumber value) {
  return std::ranges::all_of(dependent_conditions_[read_event], [&](uint32_t number) {
    const Condition& condition = conditions_[number];
    if (condition.reads.size() != 1 || !is_always_guarded(condition, read_event)) return true;
    return holds(condition, {&value, 1});
  });
}

// Reads one cell as it was written.
bool OrderingValues::has_simple_sources(const OrderingReadEvent& event) const {
  const Event& of = model_.event(event.thread, event.event);
  return event.count == 1 &&
         std::ranges::all_of(model_.reads[event.first].candidates, [&](const auto& candidate) {
           return candidate.write == kInitial || event_of(model_.writes[candidate.write]).size == of.size;
         });
}

ValueNumber OrderingValues::initial_value(const OrderingReadEvent& event) {
  const Event& of = model_.event(event.thread, event.event);
  const std::map<uint64_t, uint8_t>& initial = model_.problem().trace->initial;
  std::vector<uint64_t> words(words_of(of.size * 8));
  for (auto byte = initial.lower_bound(of.address); byte != initial.end() && byte->first - of.address < of.size;
       ++byte)
    words[(byte->first - of.address) / 8] |= uint64_t{byte->second} << (byte->first - of.address) % 8 * 8;
  return table_.number(words);
}

// Whether there are no more than `most`.
bool OrderingValues::each_tuple(const ReadSet& reads, size_t most,
                                const std::function<void(std::span<const ValueNumber>)>& visit) {
  size_t count = 1;
  for (const uint32_t read : reads) {
    if (domains_[read].open) return false;
    count *= domains_[read].values.size();
    if (count > most) return false;
  }
  std::vector<ValueNumber> tuple(reads.size());
  for (size_t i = 0; i < count; ++i) {
    size_t rest = i;
    for (size_t k = 0; k < reads.size(); ++k) {
      const std::vector<ValueNumber>& values = domains_[reads[k]].values;
      tuple[k] = values[rest % values.size()];
      rest /= values.size();
    }
    visit(tuple);
  }
  return true;
}

bool OrderingValues::grow(uint32_t read_event) {
  const OrderingReadEvent& event = model_.read_events[read_event];
  Domain& domain = domains_[read_event];
  if (domain.open) return false;
  const size_t before = domain.values.size();
  const auto add = [&](ValueNumber value) {
    if (std::ranges::find(domain.values, value) == domain.values.end() && fits(read_event, value))
      domain.values.push_back(value);
  };
  for (const OrderingCandidate& candidate : model_.reads[event.first].candidates) {
    if (candidate.write == kInitial) {
      add(initial_value(event));
      continue;
    }
    const Domain& written = written_[candidate.write];
    for (const ValueNumber value : written.values) add(value);
    if (written.open || domain.values.size() > kMostValues) {
      domain.open = true;
      domain.values.clear();
      return true;
    }
  }
  return domain.values.size() != before;
}

// What a write can write, by what it depends on.
void OrderingValues::find_written(uint32_t number) {
  const OrderingWrite& write = model_.writes[number];
  Domain& written = written_[number];
  if (written.open) return;
  written.values.clear();
  written.open = !each_tuple(write_reads_[number], kMostTuples, [&](std::span<const ValueNumber> tuple) {
    const ValueNumber value = evaluate(write.thread, event_of(write).value, write_reads_[number], tuple);
    if (std::ranges::find(written.values, value) == written.values.end()) written.values.push_back(value);
  });
}

void OrderingValues::find_possible(const std::function<bool()>& stopped) {
  for (uint32_t write = 0; write < written_.size(); ++write) find_written(write);
  std::deque<uint32_t> queue;
  std::vector<bool> queued(domains_.size(), true);
  for (uint32_t read = 0; read < domains_.size(); ++read) {
    if (!has_simple_sources(model_.read_events[read])) domains_[read].open = true;
    queue.push_back(read);
  }
  for (uint64_t rounds = 1; !queue.empty(); ++rounds) {
    if (rounds % 256 == 0 && stopped()) return;
    const uint32_t read = queue.front();
    queue.pop_front();
    queued[read] = false;
    const bool starts_open = domains_[read].open;
    if (!grow(read) && !starts_open) continue;
    for (const uint32_t write : dependent_writes_[read]) {
      find_written(write);
      for (const uint32_t reader : write_candidates_[write])
        if (!queued[reader] && !domains_[reader].open) {
          queued[reader] = true;
          queue.push_back(reader);
        }
    }
  }
  if (clauses_beforehand() > kMostClauses) std::ranges::fill(domains_, Domain{.open = true, .values = {}});
}

// ---- clauses beforehand

size_t OrderingValues::clauses_beforehand() {
  size_t all = 0;
  for (uint32_t read = 0; read < domains_.size(); ++read) {
    if (domains_[read].open) continue;
    for (const OrderingCandidate& candidate : model_.reads[model_.read_events[read].first].candidates) {
      size_t tuples = 1;
      if (candidate.write != kInitial)
        for (const uint32_t on : write_reads_[candidate.write]) tuples *= domains_[on].values.size();
      all += tuples;
    }
  }
  return all;
}

Literal OrderingValues::literal_of(uint32_t read_event, ValueNumber value) {
  const auto [found, is_new] = variables_[read_event].emplace(value, 0);
  if (is_new) {
    found->second = solver_.new_variable();
    solver_.add_to_group(found->second, groups_[read_event]);
    meanings_.resize(solver_.variables());
    meanings_[found->second] = {.read_event = read_event, .value = value};
  }
  return Literal::of(found->second);
}

void OrderingValues::encode_source(uint32_t read_event, const OrderingCandidate& candidate) {
  const Literal source = Literal::of(candidate.variable);
  const std::vector<ValueNumber>& possible = domains_[read_event].values;
  std::vector<Literal> clause;
  const auto add = [&](ValueNumber value) {
    clause.push_back(~source);
    if (std::ranges::find(possible, value) != possible.end()) clause.push_back(literal_of(read_event, value));
    solver_.add_clause(clause);
  };
  if (candidate.write == kInitial) return add(initial_value(model_.read_events[read_event]));
  const OrderingWrite& write = model_.writes[candidate.write];
  const ReadSet& reads = write_reads_[candidate.write];
  each_tuple(reads, kMostTuples, [&](std::span<const ValueNumber> tuple) {
    clause.clear();
    for (size_t i = 0; i < reads.size(); ++i) clause.push_back(~literal_of(reads[i], tuple[i]));
    add(evaluate(write.thread, event_of(write).value, reads, tuple));
  });
}

void OrderingValues::encode_condition(Condition& condition) {
  if (condition.reads.size() == 1 && !domains_[condition.reads[0]].open &&
      is_always_guarded(condition, condition.reads[0])) {
    condition.clauses = true;  // no other value is possible
    return;
  }
  condition.clauses = each_tuple(condition.reads, kMostTuples, [&](std::span<const ValueNumber> tuple) {
    if (holds(condition, tuple)) return;
    std::vector<Literal> clause = {~condition.guarded};
    for (size_t i = 0; i < condition.reads.size(); ++i)
      clause.push_back(~literal_of(condition.reads[i], tuple[i]));
    solver_.add_clause(clause);
  });
}

void OrderingValues::encode(const std::function<Literal(Moment)>& executed,
                            const std::function<bool()>& stopped) {
  for (uint32_t& group : groups_) group = solver_.new_group();
  for (uint32_t read = 0; read < domains_.size(); ++read) {
    if (domains_[read].open) continue;
    if (++closed_reads_ % 64 == 0 && stopped()) return;
    std::vector<Literal> clause = {~executed(model_.read_events[read].moment)};
    for (const ValueNumber value : domains_[read].values) clause.push_back(literal_of(read, value));
    solver_.add_clause(clause);
    for (const OrderingCandidate& candidate : model_.reads[model_.read_events[read].first].candidates)
      encode_source(read, candidate);
  }
  for (Condition& condition : conditions_) {
    condition.guarded = condition.guard == model_.end ? solver_.truth() : executed(condition.guard);
    encode_condition(condition);
    if (condition.access != kNone && !condition.clauses) addresses_.note_not_all_values();
  }
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
