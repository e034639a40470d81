#include "solve/ordering_values.h"

#include <algorithm>
#include <deque>

namespace heddle {
namespace {

constexpr size_t kMostValues = 40;   // of a read that are written down beforehand
constexpr size_t kMostTuples = 300;  // of values that an expression depends on
constexpr size_t kMostClauses = 12'000'000;

}  // namespace

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
    if (rounds % 16 == 0 && stopped()) return;
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
    if (++closed_reads_ % 8 == 0 && stopped()) return;
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

}  // namespace heddle
