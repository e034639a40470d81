// Searches that go on from runs by seeds: paths that the next runs begin with. Each seed is a unit of work by
// itself (decision D11): nothing but the path is needed to carry on from it, so units are carried out by worker
// processes (--jobs), and a journal of units is all that is needed to go on after a kill (--resume). What is more
// than seeds and reads (failures, races, the unexpected) workers leave to the process that has everything together,
// which carries such units out itself.
//
//   mcr, mcr-s, mcr-s+   seeds are what the maximal causality of the run leaves open: closure.h
//   se-mcr               the same, without seeds that lead where an earlier one led. The thesis (chapter 5)
//   finds
//                        pairs of seeds of one run that may be swapped; here a seed is known again by the state
//                        it leads to, whichever way, so that swaps over several runs, and under TSO and PSO,
//                        are found too, and prefixes need not be extended to where locks are released. A run
//                        whose reads are known beforehand to be those of an earlier run is not executed.
//   icb                  iterative context bounding (Musuvathi and Qadeer, PLDI 2007): all schedules, those
//   with
//                        few preemptions first; a buffered store that becomes visible counts as one
#include <algorithm>
#include <map>

#include "explore/closure.h"
#include "explore/exploration.h"
#include "explore/journal.h"
#include "explore/worker_pool.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

FixedValues fixed_values(Algorithm algorithm) {
  return algorithm == Algorithm::mcr_s        ? FixedValues::needed
         : algorithm == Algorithm::mcr_s_plus ? FixedValues::needed_or_before
                                              : FixedValues::all;
}

class SeedSearch : public Exploration {
 public:
  SeedSearch(Executor& executor, const ExploreOptions& options,
             const std::function<void(const ExploreProgress&)>& progress)
      : Exploration(executor, options, progress),
        closure_(behaviour(), machine(), fixed_values(options.algorithm),
                 [this](const MachineState& state) { return all_actions(state); }) {}

 private:
  using Path = std::vector<Action>;

  Result<void> search() override {
    HEDDLE_TRY(options().resume.empty() ? begin() : resume());
    WorkerPool pool(
        options().jobs, [this] { become_worker(); },
        [this](const std::string& question) { return answer(question); });
    while (!over() && (!frontier_.empty() || pool.is_busy())) {
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
        HEDDLE_TRY(take(each));
      progress().replaced = pool.replaced();
      look();
    }
    if (!over() && !cut_by_.empty()) end(ExploreResult::End::limit, cut_by_);
    return {};
  }

  // ---- units

  Result<void> begin() {
    if (!options().journal.empty()) HEDDLE_TRY(journal_.begin(options().journal, options().journal_head));
    UnitReport nothing;
    add({}, 0, {}, nothing);
    return absorb(nothing);
  }

  Result<void> resume() {
    SearchJournal::Contents kept =
        HEDDLE_TRY(journal_.resume(options().resume, options().journal_head, behaviour()));
    std::vector<SearchUnit> again;
    for (const auto& [id, report] : kept.reports) {
      count(report);
      if (report.special && kept.units.contains(id)) again.push_back(kept.units.at(id));
    }
    for (auto& [id, unit] : kept.units) {
      last_id_ = std::max(last_id_, id);
      known_.insert(unit.key);
      if (!kept.reports.contains(id)) put(std::move(unit));
    }
    // Failures and races are not in the journal: only where they were.
    for (const SearchUnit& unit : again) {
      if (over()) break;
      HEDDLE_TRY(execute(unit.path));
      --progress().executions;
    }
    return {};
  }

  void put(SearchUnit unit) {
    ++progress().frontier;
    frontier_[options().algorithm == Algorithm::icb ? unit.cost : 0].push_back(std::move(unit));
  }

  SearchUnit next_unit() {
    const auto cheapest = frontier_.begin();
    SearchUnit unit = std::move(cheapest->second.back());
    cheapest->second.pop_back();
    if (cheapest->second.empty()) frontier_.erase(cheapest);
    --progress().frontier;
    return unit;
  }

  void add(Path path, uint64_t cost, const Hash128& key, UnitReport& report) {
    if (path.size() > options().depth || cost > options().preemptions) {
      report.cut_by = path.size() > options().depth ? "depth" : "preemptions";
      return;
    }
    report.found.push_back({.cost = cost, .key = key, .path = std::move(path)});
  }

  Result<void> carry_out_here(const SearchUnit& unit) {
    UnitReport report = HEDDLE_TRY(carry_out(unit));
    if (over()) return {};
    progress().executions -= report.executions;  // counted with the others
    progress().states -= report.states;
    progress().solving -= report.solving;
    return absorb(report);
  }

  // What a unit has led to: into the journal first, then into the frontier.
  Result<void> absorb(UnitReport& report) {
    std::string block;
    std::vector<SearchUnit> fresh;
    for (SearchUnit& unit : report.found) {
      if (options().algorithm == Algorithm::se_mcr && !known_.insert(unit.key).second) continue;
      unit.id = ++last_id_;
      unit.parent = report.id;
      if (journal_.is_open()) block += unit_line(unit, behaviour());
      fresh.push_back(std::move(unit));
    }
    if (journal_.is_open()) HEDDLE_TRY(journal_.add(block + report_line(report)));
    for (SearchUnit& unit : fresh) put(std::move(unit));
    count(report);
    return {};
  }

  void count(const UnitReport& report) {
    progress().executions += report.executions;
    progress().states += report.states;
    progress().solving += report.solving;
    progress().awaits |= report.awaits;
    if (report.executed && !note_end(report.end)) ++progress().redundant;
    if (!report.cut_by.empty()) cut_by_ = report.cut_by;
    if (progress().executions >= options().executions && !frontier_.empty())
      end(ExploreResult::End::limit, "executions");
  }

  Result<UnitReport> carry_out(const SearchUnit& unit) {
    UnitReport report{.id = unit.id};
    const ExploreProgress before = progress();
    const size_t special = result().failures.size() + races_found();
    const bool may_skip = options().algorithm == Algorithm::se_mcr;
    if (std::optional<Path> known = may_skip ? foretold(unit.path) : std::nullopt) {
      HEDDLE_TRY(expand(unit.path, *known, unit.cost, report));
    } else {
      HEDDLE_TRY(execute(unit.path));
      if (!over()) {
        report.executed = true;
        report.end = machine().inputs_hash(last().end);
        keep_outcome(last().end);
        const Path actions = last().actions;
        HEDDLE_TRY(expand(unit.path, actions, unit.cost, report));
      }
    }
    report.executions = progress().executions - before.executions;
    report.states = progress().states - before.states;
    report.solving = progress().solving - before.solving;
    report.awaits = progress().awaits;
    report.special = over() || result().failures.size() + races_found() != special;
    return report;
  }

  // ---- workers

  void become_worker() {
    own_executor_ = options().make_executor();
    use_executor(*own_executor_);
  }

  // An empty answer: the unit is for the process that has everything together.
  std::string answer(const std::string& question) {
    const Result<SearchUnit> unit = parse_unit(question.substr(0, question.size() - 1), behaviour());
    if (!unit) return "";
    go_on();
    const Result<UnitReport> report = carry_out(*unit);
    if (!report || report->special) return "";
    note_end(report->end);  // for foretold()
    std::string out;
    for (const SearchUnit& each : report->found) out += unit_line(each, behaviour());
    return out + report_line(*report);
  }

  Result<void> take(WorkerPool::Answered& answered) {
    const SearchUnit unit = std::move(given_.extract(answered.tag).mapped());
    if (!answered.text) {
      constexpr unsigned kMostDeaths = 5;
      if (++deaths_[unit.id] < kMostDeaths)
        put(unit);
      else
        end(ExploreResult::End::not_covered, "worker processes die again and again at the same place");
      return {};
    }
    if (answered.text->empty()) return carry_out_here(unit);
    UnitReport report;
    std::vector<SearchUnit> found;
    std::string_view rest = *answered.text;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(line.size() + 1);
      if (line.front() == 'u')
        found.push_back(HEDDLE_TRY(parse_unit(line, behaviour())));
      else
        report = HEDDLE_TRY(parse_report(line));
    }
    report.found = std::move(found);
    return absorb(report);
  }

  // The whole of a run along the path, if all of it is known and its reads are those of an earlier one.
  std::optional<Path> foretold(const Path& path) {
    std::optional<MachineState> state = state_after(path);
    if (!state) return std::nullopt;
    Path out = path;
    while (!state->exited) {
      const std::vector<Action> actions = all_actions(*state);
      if (actions.empty()) break;
      const auto same = std::ranges::find(actions, Action{.thread = out.empty() ? 0 : out.back().thread});
      const Action next = same != actions.end() ? *same : actions.front();
      if (machine().perform(*state, next) == OperationalMachine::Step::unknown) return std::nullopt;
      out.push_back(next);
    }
    const auto is_open = [&](const ThreadState& thread) {
      return thread.there && !thread.over && behaviour().node(thread.node).state == Behaviour::State::unknown;
    };
    if (std::ranges::any_of(state->threads, is_open) || !has_end(*state)) return std::nullopt;
    return out;
  }

  Result<void> expand(const Path& path, const Path& actions, uint64_t cost, UnitReport& report) {
    const Clock::time_point before = Clock::now();
    const Result<void> done =
        options().algorithm == Algorithm::icb ? add_switches(path, actions, cost, report) : add_seeds(path, actions, report);
    progress().solving += std::chrono::duration<double>(Clock::now() - before).count();
    return done;
  }

  Result<void> add_seeds(const Path& path, const Path& actions, UnitReport& report) {
    const std::optional<MachineState> start = state_after(path);
    if (!start) {
      if (!result().failures.empty()) return {};  // it failed on its way
      end(ExploreResult::End::not_covered, "an execution left the order that it was to follow");
      return {};
    }
    // Loops along the run.
    MachineState state = *start;
    for (size_t i = path.size(); i <= actions.size(); ++i) {
      if (has_open_loop(state)) HEDDLE_TRY(look_at_loops(state, std::span(actions).first(i)));
      if (over()) return {};
      if (i < actions.size() && machine().perform(state, actions[i]) == OperationalMachine::Step::unknown)
        break;
    }
    const std::span<const Action> trace = std::span(actions).subspan(std::min(path.size(), actions.size()));
    std::vector<Seed> seeds = closure_.seeds(*start, trace, options().states - progress().states);
    progress().states += closure_.states();
    if (!closure_.complete()) {
      end(ExploreResult::End::limit, "states");
      return {};
    }
    for (Seed& seed : seeds) {
      Path next = path;
      next.insert(next.end(), seed.path.begin(), seed.path.end());
      const uint64_t preemptions = options().preemptions == UINT64_MAX ? 0 : preemptions_of(next);
      add(std::move(next), preemptions, seed.key, report);
    }
    return {};
  }

  // Is it a preemption to do this after that?
  bool preempts(const MachineState& state, const Action& before, const Action& next) {
    if (next.flush) return true;
    return next.thread != before.thread && machine().is_enabled(state, before.thread) &&
           !machine().waits_in_loop(state, before.thread);
  }

  uint64_t preemptions_of(const Path& path) {
    uint64_t count = 0;
    MachineState state = machine().begin();
    for (size_t i = 0; i < path.size(); ++i) {
      count += i > 0 && preempts(state, path[i - 1], path[i]);
      if (machine().perform(state, path[i]) == OperationalMachine::Step::unknown) break;
    }
    return count;
  }

  Result<void> add_switches(const Path& path, const Path& actions, uint64_t cost, UnitReport& report) {
    std::optional<MachineState> state = state_after(path);
    if (!state) return {};
    for (size_t i = path.size(); i <= actions.size() && !over(); ++i) {
      if (has_open_loop(*state)) HEDDLE_TRY(look_at_loops(*state, std::span(actions).first(i)));
      for (const Action& other : all_actions(*state)) {
        if (i < actions.size() && other == actions[i]) continue;
        Path next(actions.begin(), actions.begin() + static_cast<ptrdiff_t>(i));
        const bool preempts_last = i > 0 && preempts(*state, actions[i - 1], other);
        next.push_back(other);
        add(std::move(next), cost + preempts_last, {}, report);
      }
      if (i == actions.size()) break;
      if (i > 0) cost += preempts(*state, actions[i - 1], actions[i]);
      if (machine().perform(*state, actions[i]) == OperationalMachine::Step::unknown) break;
      ++progress().states;
    }
    return {};
  }

  Closure closure_;
  std::map<uint64_t, std::vector<SearchUnit>> frontier_;  // by preemptions, where they decide
  std::map<uint64_t, SearchUnit> given_;                  // to workers
  std::map<uint64_t, unsigned> deaths_;                   // of workers, by unit
  std::unordered_set<Hash128> known_;
  std::string cut_by_;
  uint64_t last_id_ = 0;
  SearchJournal journal_;
  std::unique_ptr<Executor> own_executor_;  // of a worker
};

}  // namespace

std::unique_ptr<Exploration> seed_search(Executor& executor, const ExploreOptions& options,
                                         const std::function<void(const ExploreProgress&)>& progress) {
  return std::make_unique<SeedSearch>(executor, options, progress);
}

}  // namespace heddle
