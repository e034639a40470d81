#include "explore/unit_search.h"

#include <fmt/format.h>

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
  for (const auto& [id, report] : kept.reports) note_size(report);
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
      const uint32_t attempt = ++last_attempt_;
      HEDDLE_TRY(pool.ask(unit.id, fmt::format("{} {}", attempt, unit_line(unit, behaviour()))));
      const uint64_t id = unit.id;
      given_.insert_or_assign(id, Given{.unit = std::move(unit), .attempt = attempt});
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
  sizes_.begin_anew();
  progress().frontier = 0;
}

Result<void> UnitSearch::carry_out_here(const SearchUnit& unit) {
  begin_attempt(++last_attempt_);
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
  note_size(report);
  for (SearchUnit& unit : report.found) put(std::move(unit));
  return count(report);
}

void UnitSearch::note_size(const UnitReport& report) {
  std::vector<uint64_t> found;
  for (const SearchUnit& unit : report.found) found.push_back(unit.id);
  sizes_.carried_out(report.id, size_of(report), found);
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
  be_worker(*own_executor_);
}

std::string UnitSearch::answer(const std::string& question) {
  const size_t space = question.find(' ');
  const Result<SearchUnit> unit =
      parse_unit(question.substr(space + 1, question.size() - space - 2), behaviour());
  if (!unit) return "";
  go_on();
  begin_attempt(static_cast<uint32_t>(std::stoul(question)));
  const Result<UnitReport> report = carry_out(*unit);
  return report ? report_block(*report, behaviour()) : "";
}

Result<void> UnitSearch::take(WorkerPool::Answered& answered) {
  const Given given = std::move(given_.extract(answered.tag).mapped());
  const SearchUnit& unit = given.unit;
  if (!answered.text) {
    constexpr unsigned kMostDeaths = 5;
    if (give_up_attempt(given.attempt) && ++deaths_[unit.id] < kMostDeaths)
      put(unit);
    else
      end(ExploreResult::End::not_covered, "worker processes die again and again at the same place");
    return {};
  }
  UnitReport report = HEDDLE_TRY(parse_block(*answered.text, behaviour()));
  // The worker will not meet again what it has learned: that must not be lost, whatever becomes of the unit.
  HEDDLE_TRY(learn_again(report.lessons));
  if (over()) return {};
  if (!answered.text->empty() && !report.special) return absorb(report);
  if (give_up_attempt(given.attempt)) return carry_out_here(unit);
  end(ExploreResult::End::not_covered, "worker processes meet the unexpected again and again");
  return {};
}

}  // namespace heddle
