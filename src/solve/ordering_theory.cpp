#include "solve/ordering_theory.h"

#include <algorithm>

#include "base/result.h"

namespace heddle {
OrderingTheory::OrderingTheory(OrderingModel& model, SatSolver& solver, OrderingValues& values)
    : model_(model),
      solver_(solver),
      values_(values),
      orders_of_(model.order.moments()),
      writes_at_(model.order.moments()),
      reads_at_(model.order.moments()),
      reads_of_cell_(model.cells.size()),
      sections_at_(model.order.moments()),
      readers_(model.writes.size()),
      sources_(model.reads.size(), kNoSource) {
  for (uint32_t cell = 0; cell < model.cells.size(); ++cell)
    for (const OrderingCell::Chain& chain : model.cells[cell].chains)
      for (const uint32_t write : chain.writes) writes_at_[visible(write)].push_back({cell, write});
}

void OrderingTheory::add_read(uint32_t number) {
  OrderingRead& read = model_.reads[number];
  const Moment moment = moment_of(read);
  reads_at_[moment].push_back({read.cell, number});
  std::vector<ReadsOfChain>& chains = reads_of_cell_[read.cell];
  const uint32_t chain = order().chain_of(moment);
  auto of = std::ranges::find(chains, chain, &ReadsOfChain::chain);
  if (of == chains.end()) of = chains.insert(of, {.chain = chain, .places = {}, .reads = {}});
  of->places.push_back(order().place_of(moment));
  of->reads.push_back(number);

  const uint32_t group = solver_.new_group();
  executed_.push_back(executed(moment));
  std::vector<Literal> clause = {~executed_.back()};
  for (uint32_t i = 0; i < read.candidates.size(); ++i) {
    read.candidates[i].variable = solver_.new_variable();
    solver_.add_to_group(read.candidates[i].variable, group);
    variable(read.candidates[i].variable) = {.kind = Variable::Kind::source, .first = number, .second = i};
    clause.push_back(Literal::of(read.candidates[i].variable));
  }
  solver_.add_clause(clause);
}

void OrderingTheory::add_reads(const std::function<bool()>& stopped) {
  for (uint32_t number = 0; number < model_.reads.size(); ++number) {
    if (number % 64 == 0 && stopped()) return;
    add_read(number);
    reads_in_time_.push_back(number);
  }
  std::ranges::sort(reads_in_time_, {}, [&](uint32_t number) {
    return std::pair(model_.times[moment_of(model_.reads[number])], number);
  });
}

OrderingTheory::Variable& OrderingTheory::variable(uint32_t number) {
  if (number >= variables_.size()) {
    variables_.resize(solver_.variables());
    causes_.resize(solver_.variables());
  }
  return variables_[number];
}

Literal OrderingTheory::before(Moment a, Moment b) {
  HEDDLE_CHECK(a != b);
  const bool turned = a > b;
  if (turned) std::swap(a, b);
  const auto [found, is_new] = order_variables_.emplace(uint64_t{a} << 32 | b, 0);
  if (is_new) {
    if (levels_.empty() && (order().is_before(a, b) || order().is_before(b, a))) {
      order_variables_.erase(found);
      return order().is_before(a, b) != turned ? solver_.truth() : ~solver_.truth();
    }
    found->second = solver_.new_variable(false);
    variable(found->second) = {.kind = Variable::Kind::order, .first = a, .second = b};
    orders_of_[a].push_back({b, found->second});
    orders_of_[b].push_back({a, found->second});
  }
  return Literal::of(found->second, !turned);
}

void OrderingTheory::imply_known(Literal literal) {
  const Variable of = variable(literal.variable());
  if (of.kind != Variable::Kind::order || !solver_.is_open(literal)) return;
  for (const bool positive : {true, false}) {
    const Moment a = positive ? of.first : of.second, b = positive ? of.second : of.first;
    if (!order().is_before(a, b)) continue;
    causes_[literal.variable()] = {
        .source = solver_.truth(), .path = {a, b}, .more = {}, .edges = order().edges()};
    solver_.imply(Literal::of(literal.variable(), positive));
  }
}

// ---- reasons

void OrderingTheory::explain_cause(const Cause& cause, std::vector<Literal>& clause) const {
  std::vector<Literal> literals = {cause.source};
  for (const Path& path : {cause.path, cause.more, cause.third})
    if (path.from != path.to) order().explain(path.from, path.to, cause.edges, literals);
  for (const Literal literal : literals)
    if (literal != solver_.truth()) clause.push_back(~literal);
}

void OrderingTheory::explain(Literal literal, std::vector<Literal>& clause) {
  clause.assign(1, literal);
  explain_cause(causes_[literal.variable()], clause);
}

bool OrderingTheory::derive(Literal literal, Cause cause) {
  if (solver_.is_true(literal)) return true;
  cause.edges = order().edges();
  if (solver_.is_false(literal)) {
    conflict_->assign(1, literal);
    explain_cause(cause, *conflict_);
    return false;
  }
  variable(literal.variable());
  causes_[literal.variable()] = cause;
  solver_.imply(literal);
  return true;
}

bool OrderingTheory::derive_before(Moment a, Moment b, Cause cause) {
  return order().is_before(a, b) || derive(before(a, b), cause);
}

// ---- edges

bool OrderingTheory::add_edge(Moment from, Moment to, Literal literal) {
  if (order().is_before(to, from)) {
    conflict_->assign(1, ~literal);
    explain_cause({.source = solver_.truth(), .path = {to, from}, .more = {}, .edges = order().edges()},
                  *conflict_);
    return false;
  }
  changes_.clear();
  model_.order.insert(from, to, literal, changes_);
  return std::ranges::all_of(changes_, [&](const ChainOrder::Change& change) { return follow(change); });
}

bool OrderingTheory::follow(const ChainOrder::Change& change) {
  const Moment first = order().at(change.to, 0);
  const std::vector<std::pair<Moment, uint32_t>>& others = orders_of_[change.from];
  for (size_t i = 0; i < others.size(); ++i) {  // more may come
    const auto [other, number] = others[i];
    if (other < first + change.now || other >= first + change.old) continue;
    const Literal literal = Literal::of(number, variables_[number].first == change.from);
    if (!derive(literal, {.source = solver_.truth(), .path = {change.from, other}, .more = {}})) return false;
  }
  for (const Place& place : writes_at_[change.from])
    if (!follow_write(change, place)) return false;
  for (const Place& place : reads_at_[change.from])
    if (!follow_read(change, place.access)) return false;
  for (const SectionPlace& place : sections_at_[change.from])
    if (!follow_section(change, place)) return false;
  return true;
}

// A write now comes before more moments of a chain.
bool OrderingTheory::follow_write(const ChainOrder::Change& change, const Place& place) {
  // Who reads from it reads before the chain's next write.
  if (!readers_[place.access].empty()) {
    const auto& chains = model_.cells[place.cell].chains;
    const auto of = std::ranges::find(chains, change.to, &OrderingCell::Chain::chain);
    if (of != chains.end()) {
      const auto next = std::ranges::lower_bound(of->places, change.now);
      if (next != of->places.end() && *next < change.old) {
        const Moment overwriting = order().at(change.to, *next);
        for (const uint32_t reader : readers_[place.access]) {
          const OrderingRead& read = model_.reads[reader];
          if (read.cell != place.cell || moment_of(read) == overwriting) continue;
          if (!derive_before(moment_of(read), overwriting,
                             {.source = source_literal(reader, sources_[reader]),
                              .path = {change.from, overwriting},
                              .more = {}}))
            return false;
        }
      }
    }
  }
  // Reads behind it do not read what it overwrote.
  for (const ReadsOfChain& of : reads_of_cell_[place.cell]) {
    if (of.chain != change.to) continue;
    auto next = std::ranges::lower_bound(of.places, change.now) - of.places.begin();
    for (; next < static_cast<ptrdiff_t>(of.places.size()) && of.places[static_cast<size_t>(next)] < change.old;
         ++next)
      if (!exclude_overwritten(of.reads[static_cast<size_t>(next)], change.from)) return false;
  }
  return true;
}

// `by` writes the cell before the read.
bool OrderingTheory::exclude_overwritten(uint32_t number, Moment by) {
  const OrderingRead& read = model_.reads[number];
  const Moment moment = moment_of(read);
  if (sources_[number] != kNoSource) {
    const uint32_t write = read.candidates[sources_[number]].write;
    const Literal source = source_literal(number, sources_[number]);
    if (write == kInitial)
      return derive(~source, {.source = solver_.truth(), .path = {by, moment}, .more = {}});
    if (visible(write) == by) return true;
    return derive_before(by, visible(write), {.source = source, .path = {by, moment}, .more = {}});
  }
  for (const OrderingCandidate& candidate : read.candidates) {
    const Literal no = Literal::of(candidate.variable, false);
    if (solver_.is_true(no)) continue;
    if (candidate.write == kInitial) {
      if (!derive(no, {.source = solver_.truth(), .path = {by, moment}, .more = {}})) return false;
    } else if (order().is_before(visible(candidate.write), by)) {
      if (!derive(no,
                  {.source = solver_.truth(), .path = {visible(candidate.write), by}, .more = {by, moment}}))
        return false;
    }
  }
  return true;
}

// A read now comes before more moments of a chain: it does not read from those.
bool OrderingTheory::follow_read(const ChainOrder::Change& change, uint32_t number) {
  const OrderingRead& read = model_.reads[number];
  const Moment first = order().at(change.to, 0);
  for (const OrderingCandidate& candidate : read.candidates) {
    if (candidate.write == kInitial || candidate.write == read.own) continue;
    const Moment moment = visible(candidate.write);
    if (moment < first + change.now || moment >= first + change.old) continue;
    if (!derive(Literal::of(candidate.variable, false),
                {.source = solver_.truth(), .path = {change.from, moment}, .more = {}}))
      return false;
  }
  return true;
}

// ---- reads

bool OrderingTheory::set_source(uint32_t number, uint32_t candidate) {
  const OrderingRead& read = model_.reads[number];
  const uint32_t write = read.candidates[candidate].write;
  const Literal literal = source_literal(number, candidate);
  sources_[number] = candidate;
  sources_set_.push_back(number);
  if (write != kInitial) readers_[write].push_back(number);
  if (!add_edge(moment_of(read), model_.end, literal)) return false;
  if (write != kInitial && write != read.own) {
    if (!add_edge(visible(write), moment_of(read), literal)) return false;
    if (read.own != kInitial && !add_edge(visible(read.own), visible(write), literal)) return false;
  }
  return order_others(number, candidate);
}

bool OrderingTheory::order_others(uint32_t number, uint32_t candidate) {
  const OrderingRead& read = model_.reads[number];
  const Moment moment = moment_of(read);
  const uint32_t write = read.candidates[candidate].write;
  const Literal literal = source_literal(number, candidate);
  for (const OrderingCell::Chain& chain : model_.cells[read.cell].chains) {
    const auto behind = std::ranges::lower_bound(chain.places, order().count_before(moment, chain.chain));
    if (behind != chain.places.begin() &&
        !exclude_overwritten(number, order().at(chain.chain, *std::prev(behind))))
      return false;
    const uint32_t from = write == kInitial ? 0 : order().first_after(visible(write), chain.chain);
    const auto next = std::ranges::lower_bound(chain.places, from);
    if (next == chain.places.end()) continue;
    const Moment overwriting = order().at(chain.chain, *next);
    if (overwriting == moment) continue;
    const Path path = write == kInitial ? Path{} : Path{visible(write), overwriting};
    if (!derive_before(moment, overwriting, {.source = literal, .path = path, .more = {}})) return false;
  }
  return true;
}

// ---- the solver's questions

bool OrderingTheory::propagate(SatSolver& solver, std::vector<Literal>& conflict) {
  conflict_ = &conflict;
  variable(solver.variables() - 1);
  if (head_ == 0 && !exclude_all()) return false;
  while (head_ < solver.trail().size()) {
    const Literal literal = solver.trail()[head_++];
    const Variable of = variable(literal.variable());
    if (of.kind == Variable::Kind::order) {
      const bool yes = literal.is_positive();
      if (!add_edge(yes ? of.first : of.second, yes ? of.second : of.first, literal)) return false;
    } else if (of.kind == Variable::Kind::source && literal.is_positive()) {
      if (!set_source(of.first, of.second)) return false;
      values_.note_source(of.first, sources_);
    } else if (of.kind == Variable::Kind::other && literal.is_positive()) {
      values_.note_value(literal, sources_);
    }
  }
  return true;
}

void OrderingTheory::new_level() {
  levels_.push_back(
      {.head = head_, .edges = order().edges(), .sources = sources_set_.size(), .first_open = first_open_});
  values_.new_level();
}

void OrderingTheory::backtrack(uint32_t to) {
  const Level level = levels_[to];
  levels_.resize(to);
  head_ = level.head;
  first_open_ = level.first_open;
  model_.order.undo(level.edges);
  for (; sources_set_.size() > level.sources; sources_set_.pop_back()) {
    const uint32_t number = sources_set_.back();
    const uint32_t write = model_.reads[number].candidates[sources_[number]].write;
    if (write != kInitial) readers_[write].pop_back();
    sources_[number] = kNoSource;
  }
  values_.backtrack(to);
}

void OrderingTheory::check_all(SatSolver&) {
  on_all();
}

}  // namespace heddle
