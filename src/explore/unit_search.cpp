#include "explore/unit_search.h"

#include <algorithm>

namespace heddle {

Result<void> UnitSearch::begin_journal() {
  if (options().journal.empty()) return {};
  return journal_.begin(options().journal, options().journal_head);
}

Result<SearchJournal::Contents> UnitSearch::resume_journal() {
  SearchJournal::Contents kept =
      HEDDLE_TRY(journal_.resume(options().resume, options().journal_head, behaviour()));
  for (const auto& [id, unit] : kept.units) last_id_ = std::max(last_id_, id);
  return kept;
}

Result<void> UnitSearch::write(const std::string& block) {
  return journal_.is_open() ? journal_.add(block) : Result<void>();
}

Result<void> UnitSearch::carry_out_all() {
  WorkerPool pool(
      options().jobs, [this] { become_worker(); },
      [this](const std::string& question) { return answer(question); });
  while (!over() && !is_stale() && (!frontier_.empty() || pool.is_busy())) {
    if (options().jobs <= 1) {
      HEDDLE_TRY(carry_out_here(next_unit()));
      continue;
    }
    while (!frontier_.empty() && pool.has_idle()) {
      SearchUnit unit = next_unit();
      HEDDLE_TRY(pool.ask(unit.id, unit_line(unit, behaviour())));
      given_.insert_or_assign(unit.id, std::move(unit));
    }
    for (WorkerPool::Answered& each : HEDDLE_TRY(pool.wait(std::chrono::milliseconds(100))))
      if (!over() && !is_stale()) HEDDLE_TRY(take(each));
    progress().replaced = replaced_ + pool.replaced();
    look();
  }
  replaced_ += pool.replaced();
  return {};
}

void UnitSearch::put(SearchUnit unit) {
  ++progress().frontier;
  frontier_[rank(unit)].push_back(std::move(unit));
}

SearchUnit UnitSearch::next_unit() {
  const auto first = frontier_.begin();
  SearchUnit unit = std::move(first->second.back());
  first->second.pop_back();
  if (first->second.empty()) frontier_.erase(first);
  --progress().frontier;
  return unit;
}

void UnitSearch::clear_frontier() {
  frontier_.clear();
  given_.clear();
  progress().frontier = 0;
}

Result<void> UnitSearch::carry_out_here(const SearchUnit& unit) {
  UnitReport report = HEDDLE_TRY(carry_out(unit));
  if (over()) return {};
  progress().executions -= report.executions;  // counted with the others
  progress().states -= report.states;
  progress().solving -= report.solving;
  return absorb(report);
}

// What a unit has led to: into the journal first, then into the frontier.
Result<void> UnitSearch::absorb(UnitReport& report) {
  std::erase_if(report.found, [&](const SearchUnit& unit) { return !is_new(unit); });
  for (SearchUnit& unit : report.found) {
    unit.id = ++last_id_;
    unit.parent = report.id;
  }
  if (journal_.is_open()) HEDDLE_TRY(journal_.add(report_block(report, behaviour())));
  for (SearchUnit& unit : report.found) put(std::move(unit));
  return count(report);
}

Result<void> UnitSearch::count(const UnitReport& report) {
  progress().executions += report.executions;
  progress().states += report.states;
  progress().solving += report.solving;
  progress().awaits |= report.awaits;
  progress().library_spins |= report.library_spins;
  if (progress().executions >= options().executions && !frontier_.empty())
    end(ExploreResult::End::limit, "executions");
  return {};
}

// ---- workers

void UnitSearch::become_worker() {
  own_executor_ = options().make_executor();
  use_executor(*own_executor_);
}

std::string UnitSearch::answer(const std::string& question) {
  const Result<SearchUnit> unit = parse_unit(question.substr(0, question.size() - 1), behaviour());
  if (!unit) return "";
  go_on();
  const Result<UnitReport> report = carry_out(*unit);
  return report ? report_block(*report, behaviour()) : "";
}

Result<void> UnitSearch::take(WorkerPool::Answered& answered) {
  const SearchUnit unit = std::move(given_.extract(answered.tag).mapped());
  if (!answered.text) {
    constexpr unsigned kMostDeaths = 5;
    if (++deaths_[unit.id] < kMostDeaths)
      put(unit);
    else
      end(ExploreResult::End::not_covered, "worker processes die again and again at the same place");
    return {};
  }
  UnitReport report = HEDDLE_TRY(parse_block(*answered.text, behaviour()));
  // The worker will not meet again what it has learned: that must not be lost, whatever becomes of the unit.
  HEDDLE_TRY(learn_again(report.lessons));
  if (over()) return {};
  return answered.text->empty() || report.special ? carry_out_here(unit) : absorb(report);
}

}  // namespace heddle
