// Searches that go on from runs by seeds: paths that the next runs begin with. Each seed is a unit of work by
// itself (decision D11, unit_search.h): nothing but the path is needed to carry on from it.
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
#include <random>

#include "explore/closure.h"
#include "explore/unit_search.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

FixedValues fixed_values(Algorithm algorithm) {
  return algorithm == Algorithm::mcr_s        ? FixedValues::needed
         : algorithm == Algorithm::mcr_s_plus ? FixedValues::needed_or_before
                                              : FixedValues::all;
}

class SeedSearch : public UnitSearch {
 public:
  SeedSearch(Executor& executor, const ExploreOptions& options,
             const std::function<void(const ExploreProgress&)>& progress)
      : UnitSearch(executor, options, progress),
        closure_(behaviour(), machine(), fixed_values(options.algorithm), options.engine,
                 [this](const MachineState& state) { return all_actions(state); }) {}

 private:
  using Path = std::vector<Action>;

  // Where memory turns out to be used by several threads that only one seemed to use, seeds were found without
  // it, and all begins anew; runs that are known are not executed again (se-mcr).
  Result<void> search() override {
    if (options().jobs > 1 || !options().journal.empty() || !options().resume.empty()) keep_lessons();
    bool resumes = !options().resume.empty();
    HEDDLE_TRY(resumes ? resume(resumes) : begin_journal());
    while (!over()) {
      if (!resumes) HEDDLE_TRY(begin_pass());
      HEDDLE_TRY(carry_out_all());
      if (!is_stale()) break;
      resumes = false;
    }
    if (!over() && !cut_by_.empty()) end(ExploreResult::End::limit, cut_by_);
    return {};
  }

  // ---- units

  Result<void> begin_pass() {
    clear_frontier();
    known_.clear();
    standing_.clear();
    cut_by_.clear();
    shared_ = behaviour().shared();
    HEDDLE_TRY(write(SearchJournal::line_of_pass()));
    UnitReport nothing;
    add({}, 0, {}, nothing);
    return absorb(nothing);
  }

  bool is_stale() const override { return behaviour().shared() != shared_; }

  uint64_t size_of(const UnitReport& report) const override { return report.executions; }

  uint64_t expected() const override {
    if (unit_sizes().knows_nothing()) return 0;
    return progress().executions + static_cast<uint64_t>(unit_sizes().remaining());
  }

  // `goes_on`: with the last pass of the journal; not, if that has to be begun anew.
  Result<void> resume(bool& goes_on) {
    SearchJournal::Contents kept = HEDDLE_TRY(resume_journal());
    progress().executions += kept.executions;
    HEDDLE_TRY(learn_again(kept.lessons));
    take_lessons();
    goes_on = kept.passes != 0;
    shared_ = behaviour().shared();
    std::vector<SearchUnit> again;
    for (const auto& [id, report] : kept.reports) {
      HEDDLE_TRY(count(report));
      goes_on &= !report.stale;
      if (report.special && kept.units.contains(id)) again.push_back(kept.units.at(id));
    }
    for (auto& [id, unit] : kept.units) {
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

  uint64_t rank(const SearchUnit& unit) const override {
    return options().algorithm == Algorithm::icb ? unit.cost : 0;
  }

  bool is_new(const SearchUnit& unit) override {
    return options().algorithm != Algorithm::se_mcr || known_.insert(unit.key).second;
  }

  Result<void> count(const UnitReport& report) override {
    uint64_t fresh = 0;
    for (const Hash128& each : report.ends) {
      executed_.insert(each);
      fresh += note_end(each);
    }
    progress().expanded += report.expanded;
    progress().decided += report.decided;
    progress().asked += report.asked;
    progress().refuted += report.refuted;
    progress().redundant += report.executions - std::min(report.executions, fresh);
    if (!report.cut_by.empty()) cut_by_ = report.cut_by;
    return UnitSearch::count(report);
  }

  void add(Path path, uint64_t cost, const Hash128& key, UnitReport& report) {
    if (path.size() > options().depth || cost > options().preemptions) {
      report.cut_by = path.size() > options().depth ? "depth" : "preemptions";
      return;
    }
    report.found.push_back({.cost = cost, .key = key, .path = std::move(path)});
  }

  Result<UnitReport> carry_out(const SearchUnit& unit) override {
    UnitReport report{.id = unit.id};
    ran_.clear();
    const ExploreProgress before = progress();
    const size_t special = result().failures.size() + races_found();
    const Foretold run =
        options().algorithm == Algorithm::se_mcr ? foretold(unit.path) : Foretold{.path = unit.path};
    if (run.is_known) {
      ran_.push_back(run.reads);
      HEDDLE_TRY(expand(unit.path, run.path, unit.cost, report));
    } else {
      HEDDLE_TRY(execute(run.path));
      if (!over()) {
        note_run();
        const Path actions = last().actions;
        if (!is_stale()) HEDDLE_TRY(expand(unit.path, actions, unit.cost, report));
      }
    }
    report.ends = ran_;
    report.executions = progress().executions - before.executions;
    report.states = progress().states - before.states;
    report.solving = progress().solving - before.solving;
    report.awaits = progress().awaits;
    report.special = over() || result().failures.size() + races_found() != special;
    report.lessons = take_lessons();
    report.stale = is_stale();
    return report;
  }

  void note_run() override {
    ran_.push_back(machine().inputs_hash(last().end));
    executed_.insert(ran_.back());
    keep_outcome(last().end);
  }

  // How a run along the path goes on, as far as that is known: to its end, or to the first step that nobody has
  // seen, behind which its reads are new. (The runtime by itself might go on otherwise, to reads that are
  // known.)
  struct Foretold {
    Path path;
    bool is_known = false;  // all of it, and its reads are those of an earlier run
    Hash128 reads;          // then
  };
  Foretold foretold(const Path& path) {
    Foretold out{.path = path};
    std::optional<MachineState> state = state_after(path);
    if (!state) return out;
    while (!state->exited) {
      const std::vector<Action> actions = all_actions(*state);
      if (actions.empty()) break;
      const auto same =
          std::ranges::find(actions, Action{.thread = out.path.empty() ? 0 : out.path.back().thread});
      out.path.push_back(same != actions.end() ? *same : actions.front());
      if (machine().perform(*state, out.path.back()) == OperationalMachine::Step::unknown) return out;
    }
    const auto is_open = [&](const ThreadState& thread) {
      return thread.there && !thread.over && behaviour().node(thread.node).state == Behaviour::State::unknown;
    };
    const auto waits = [](const ThreadState& thread) { return thread.there && !thread.over; };
    const bool stands = !state->exited && std::ranges::any_of(state->threads, waits);  // that is to be seen
    out.reads = machine().inputs_hash(*state);
    out.is_known = !stands && std::ranges::none_of(state->threads, is_open) && executed_.contains(out.reads);
    return out;
  }

  Result<void> expand(const Path& path, const Path& actions, uint64_t cost, UnitReport& report) {
    const Clock::time_point before = Clock::now();
    const Result<void> done = options().algorithm == Algorithm::icb ? add_switches(path, actions, cost, report)
                                                                    : add_seeds(path, actions, report);
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
      if (options().algorithm == Algorithm::se_mcr) HEDDLE_TRY(go_round(state, std::span(actions).first(i)));
      if (!over() && has_open_loop(state)) HEDDLE_TRY(look_at_loops(state, std::span(actions).first(i)));
      if (over() || is_stale()) return {};
      if (i < actions.size() && machine().perform(state, actions[i]) == OperationalMachine::Step::unknown)
        break;
    }
    const std::span<const Action> trace = std::span(actions).subspan(std::min(path.size(), actions.size()));
    std::vector<Seed> seeds = closure_.seeds(*start, trace, options().states - progress().states);
    progress().states += closure_.states();
    report.expanded = 1;
    report.decided = closure_.was_decided();
    report.asked = closure_.asked().asked;
    report.refuted = closure_.asked().refuted;
    if (!closure_.complete()) {
      end(ExploreResult::End::limit, "states");
      return {};
    }
    std::ranges::shuffle(seeds, random_);  // else the small ones come first, and are no measure for the others
    for (Seed& seed : seeds) {
      if (seed.stands && !standing_.insert(seed.key).second) continue;
      Path next = path;
      next.insert(next.end(), seed.path.begin(), seed.path.end());
      const uint64_t preemptions = options().preemptions == UINT64_MAX ? 0 : preemptions_of(next);
      add(std::move(next), preemptions, seed.key, report);
    }
    return {};
  }

  // A loop that may wait goes round once more than was seen: its reads are new then, and if it ends it does not
  // wait.
  Result<void> go_round(MachineState state, std::span<const Action> path) {
    const std::optional<uint32_t> thread = open_loop(state);
    if (!thread || behaviour().knows_whether_waits(state.threads[*thread].node)) return {};
    Path longer(path.begin(), path.end());
    while (machine().is_enabled(state, *thread)) {
      longer.push_back({.thread = *thread});
      if (machine().perform(state, longer.back()) == OperationalMachine::Step::unknown) break;
    }
    HEDDLE_TRY(execute(longer));
    if (!over() && last().complete) note_run();
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
    for (size_t i = path.size(); i <= actions.size() && !over() && !is_stale(); ++i) {
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
  std::unordered_set<Hash128> known_;     // keys of units
  std::unordered_set<Hash128> standing_;  // states in which nobody can go on
  std::unordered_set<Hash128> executed_;  // what all reads returned in runs that are known here
  std::vector<Hash128> ran_;              // what all reads returned in runs of this unit
  std::string cut_by_;
  std::minstd_rand random_;
  uint64_t shared_ = 0;  // what was shared when the pass began
};

}  // namespace

std::unique_ptr<Exploration> seed_search(Executor& executor, const ExploreOptions& options,
                                         const std::function<void(const ExploreProgress&)>& progress) {
  return std::make_unique<SeedSearch>(executor, options, progress);
}

}  // namespace heddle
