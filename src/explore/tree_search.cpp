// The algorithm of heddle's own: explorer.h.
//
// With worker processes or a journal a pass is divided into units (unit_search.h): from a path on, so many
// states; what is left then are the next units. Workers are copies of the process as it was when the pass
// began; what they learn, it learns too, and a pass in which it learned nothing is the last. They share the set
// of visited states (shared_hash_set.h).
//
// Outcomes are counted as long as there are not too many states (ExploreOptions::counted_states). Then the
// search begins anew with merged histories (merged_histories.h), which are found again for each pass; the last
// pass is one in which nothing at all was learned. Under TSO and PSO the first passes are those of SC, since
// most of what is to be learned is learned there, in a fraction of the states.
#include <algorithm>
#include <random>

#include "explore/hash_set.h"
#include "explore/library_spin.h"
#include "explore/merged_histories.h"
#include "explore/persistent_set.h"
#include "explore/shared_hash_set.h"
#include "explore/unit_search.h"

namespace heddle {
namespace {

constexpr uint64_t kStatesBetweenLooks = 4096;
constexpr size_t kSamples = 100, kSamplesOfUnit = 4;  // of the ends, that are executed as a whole
constexpr size_t kOrders = 50;                        // the same for random walks
// Kinds of passes in the journal, beside those that count outcomes.
constexpr const char *kMerged = "merged", *kMergedAtOnce = "merged at once";

struct Frame {
  MachineState state;
  std::vector<Action> actions;
  size_t next = 0;
  size_t depth = 0;     // choices before it
  uint64_t states = 0;  // when the last action was begun with
};

class TreeSearch : public UnitSearch {
 public:
  TreeSearch(Executor& executor, const ExploreOptions& options,
             const std::function<void(const ExploreProgress&)>& progress)
      : UnitSearch(executor, options, progress),
        choice_(behaviour(), machine()),
        merged_(behaviour(), machine()) {}

 private:
  using Reached = std::optional<MachineState>;

  Result<void> search() override {
    const bool is_divided = options().jobs > 1 || !options().journal.empty() || !options().resume.empty();
    if (is_divided) {
      keep_lessons();
      states_of_unit_ = options().states_of_unit;
      most_samples_ = kSamplesOfUnit;
    }
    bool resumes = !options().resume.empty();
    HEDDLE_TRY(execute({}));
    HEDDLE_TRY(resumes ? resume(resumes) : begin_journal());
    if (!is_divided) HEDDLE_TRY(wander());
    for (; !over(); resumes = false) {
      const uint64_t changes = behaviour().changes();
      const auto is_last = [&] { return !is_stale() && behaviour().changes() == changes && !has_learned(); };
      if (!resumes) HEDDLE_TRY(begin_pass());
      HEDDLE_TRY(carry_out_all());
      if (over()) break;
      if (is_too_large()) {
        merge(machine().model() != MemoryModel::sc);
      } else if (is_last() && at_once_) {
        merge(false);
      } else if (is_last()) {
        HEDDLE_TRY(try_orders());
        if (!is_last()) continue;
        if (progress().ends == 0 && result().failures.empty())
          end(ExploreResult::End::not_covered, "no interleaving was followed to its end");
        break;
      }
    }
    return {};
  }

  // Random walks, until many of them in a row have learned nothing: a pass goes through all of one part of the
  // program's runs before it comes to the next, and what it learns there late makes another pass necessary.
  Result<void> wander() {
    constexpr unsigned kMostWalks = 20000;
    std::minstd_rand random;
    for (unsigned walks = 0, in_vain = 0; walks < kMostWalks && in_vain < options().walks && !over(); ++walks) {
      const uint64_t changes = behaviour().changes();
      clear_pass();
      progress().states = 0;
      HEDDLE_TRY(walk(random));
      in_vain = is_stale() || behaviour().changes() != changes ? 0 : in_vain + 1;
    }
    return {};
  }

  Result<void> walk(std::minstd_rand& random) {
    start_.clear();
    stack_.clear();
    Reached next = state_after(start_);
    while (next) {
      HEDDLE_TRY(enter(*std::move(next)));
      std::vector<Action>& actions = stack_.back().actions;
      if (over() || is_stale() || actions.empty()) break;
      if (!next_of_library_spin(stack_.back().state)) actions = choice_.possible();
      std::swap(actions.front(), actions[random() % actions.size()]);
      next = HEDDLE_TRY(carry_out_next());
    }
    return {};
  }

  // Where nothing that comes in tells who was first (at a lock, say), all orders are one outcome, and few of
  // them were executed. If a library can tell (rand, a string stream), the program does not do the same in all
  // of them: some are executed, as they come.
  Result<void> try_orders() {
    constexpr auto kLeast = std::chrono::milliseconds(20);
    const ExploreProgress before = progress();
    const auto start = std::chrono::steady_clock::now();
    const auto enough = start + std::max<std::chrono::steady_clock::duration>(kLeast, before.elapsed / 5);
    const uint64_t changes = behaviour().changes();
    while (progress().samples < before.samples + kOrders && before.executions < options().executions) {
      HEDDLE_TRY(walk(random_));
      if (over() || is_stale() || behaviour().changes() != changes) return {};
      HEDDLE_TRY(execute(path()));
      ++progress().samples;
      if (over() || is_stale() || behaviour().changes() != changes) return {};
      progress().executions = before.executions;
      progress().states = before.states;
      if (std::chrono::steady_clock::now() >= enough) break;
    }
    return {};
  }

  Result<void> begin_pass() {
    ++progress().passes;
    clear_pass();
    take_lessons();  // whoever learned them has told them
    clear_frontier();
    known_.clear();
    forget_ends();
    progress().states = 0;
    if (progress().merged) merged_.find();
    HEDDLE_TRY(write(SearchJournal::line_of_pass(!progress().merged ? ""
                                                 : at_once_         ? kMergedAtOnce
                                                                    : kMerged)));
    UnitReport first{.found = {SearchUnit{}}};
    return absorb(first);
  }

  bool is_too_large() const { return !progress().merged && progress().states >= options().counted_states; }

  uint64_t size_of(const UnitReport& report) const override { return report.states; }

  uint64_t expected() const override {
    if (sizes_.knows_nothing() && unit_sizes().knows_nothing()) return 0;
    double remaining = unit_sizes().remaining();
    if (states_of_unit_ == UINT64_MAX)
      for (const Frame& frame : stack_)
        remaining += static_cast<double>(frame.actions.size() - frame.next) * sizes_.expected(frame.depth);
    return progress().states + static_cast<uint64_t>(remaining);
  }

  void merge(bool at_once) {
    sizes_.clear();
    progress().merged = true;
    at_once_ = at_once;
    choice_.set_at_once(at_once);
  }

  bool has_learned() {
    if (const std::vector<NodeId> learned = behaviour().take_learned(); progress().merged && !learned.empty()) {
      merged_.learn(learned);
      learned_ = true;
    }
    return learned_;
  }

  bool is_visited_first(const MachineState& state) {
    has_learned();
    const Hash128 hash = machine().hash(state, progress().merged ? &merged_ : nullptr);
    return visited_by_all_ ? visited_by_all_->insert(hash) : visited_.insert(hash);
  }

  void begin_attempt(uint32_t attempt) override {
    if (visited_by_all_) visited_by_all_->set_owner(attempt);
  }

  bool give_up_attempt(uint32_t attempt) override {
    return !visited_by_all_ || visited_by_all_->make_void(attempt);
  }

  void clear_pass() {
    behaviour().take_learned();
    visited_.clear();
    if (options().jobs > 1) visited_by_all_.emplace();
    shared_ = behaviour().shared();
    learned_ = false;
  }

  // `goes_on`: with the last pass of the journal; not, if that has to be begun anew.
  Result<void> resume(bool& goes_on) {
    SearchJournal::Contents kept = HEDDLE_TRY(resume_journal());
    progress().executions += kept.executions;
    progress().passes = kept.passes;
    HEDDLE_TRY(learn_again(kept.lessons));
    take_lessons();
    goes_on = kept.passes != 0;
    if (!kept.last_pass.empty()) {
      merge(kept.last_pass == kMergedAtOnce);
      merged_.find();
    }
    clear_pass();
    for (const auto& [id, report] : kept.reports) {
      HEDDLE_TRY(count(report));
      goes_on &= !report.stale;
      learned_ |= !report.lessons.empty();
    }
    for (auto& [id, unit] : kept.units) {
      if (unit.key != Hash128{}) known_.insert(unit.key);
      if (!kept.reports.contains(id)) put(std::move(unit));
    }
    return {};
  }

  // States do not have the contents of memory that was private when they were made.
  bool is_stale() const override { return behaviour().shared() != shared_ || is_too_large(); }

  bool is_new(const SearchUnit& unit) override {
    return unit.key == Hash128{} || known_.insert(unit.key).second;
  }

  Result<void> count(const UnitReport& report) override {
    for (const Hash128& each : report.ends) note_end(each);
    learned_ |= report.again || (progress().merged && !report.lessons.empty());
    return UnitSearch::count(report);
  }

  Result<UnitReport> carry_out(const SearchUnit& unit) override {
    UnitReport report{.id = unit.id};
    const ExploreProgress before = progress();
    start_ = unit.path;
    reached_.clear();
    late_waits_ = false;
    samples_.clear();
    const uint64_t changes = behaviour().changes();
    HEDDLE_TRY(search_from_start(report));
    HEDDLE_TRY(try_samples(changes));
    report.ends = std::exchange(reached_, {});
    report.executions = progress().executions - before.executions;
    report.states = progress().states - before.states;
    report.awaits = progress().awaits;
    report.library_spins = progress().library_spins;
    report.lessons = take_lessons();
    report.stale = is_stale();
    report.special = over();  // failures and races are lessons
    report.again = late_waits_;
    return report;
  }

  std::vector<Action> path() const {
    std::vector<Action> out = start_;
    for (const Frame& frame : stack_) {
      if (frame.next == 0) break;  // entered just now
      out.push_back(frame.actions[frame.next - 1]);
    }
    return out;
  }

  Result<void> search_from_start(UnitReport& report) {
    stack_.clear();
    std::optional<MachineState> first = state_after(start_);
    if (!first) {  // another process knows more
      HEDDLE_TRY(execute(start_));
      if (over() || is_stale()) return {};
      first = state_after(start_);
    }
    if (!first && last().failed) return {};
    if (!first) {
      end(ExploreResult::End::not_covered, "an execution left the order that it was to follow");
      return {};
    }
    if (!is_visited_first(*first)) return {};
    const uint64_t last_state =
        states_of_unit_ == UINT64_MAX ? UINT64_MAX : progress().states + states_of_unit_;
    HEDDLE_TRY(enter(std::move(*first)));
    while (!stack_.empty() && !over() && !is_stale() && progress().states < last_state) HEDDLE_TRY(step());
    if (!over() && !is_stale()) hand_over(report);
    return {};
  }

  // What is left, as units.
  void hand_over(UnitReport& report) {
    std::vector<Action> before = start_;
    for (const Frame& frame : stack_) {
      for (size_t i = frame.next; i < frame.actions.size(); ++i) {
        SearchUnit unit{.path = before};
        unit.path.push_back(frame.actions[i]);
        MachineState state = frame.state;
        if (machine().perform(state, frame.actions[i]) == OperationalMachine::Step::done)
          unit.key = progress().merged ? machine().hash(state, &merged_) : machine().full_hash(state);
        report.found.push_back(std::move(unit));
      }
      if (frame.next > 0) before.push_back(frame.actions[frame.next - 1]);
    }
  }

  Result<void> step() {
    Frame& frame = stack_.back();
    if (frame.next > 1) sizes_.note(frame.depth, progress().states - frame.states);
    if (frame.next == frame.actions.size()) {
      stack_.pop_back();
      return {};
    }
    frame.states = progress().states;
    Reached state = HEDDLE_TRY(carry_out_next());
    if (!state || !is_visited_first(*state)) return {};
    return enter(*std::move(state));
  }

  // The state behind the next action of the last frame; none where the search ends, or this way of it.
  Result<Reached> carry_out_next() {
    Frame& frame = stack_.back();
    const Action action = frame.actions[frame.next++];
    MachineState state =
        frame.next == frame.actions.size() ? std::move(frame.state) : frame.state;  // not needed again
    if (machine().perform(state, action) != OperationalMachine::Step::unknown) return Reached(std::move(state));
    HEDDLE_TRY(execute(path()));  // it ends with the action
    if (over() || is_stale()) return Reached();
    late_waits_ |= machine().waits_in_loop(state, action.thread);  // it should not have been chosen
    if (machine().perform(state, action) != OperationalMachine::Step::unknown) return Reached(std::move(state));
    if (!last().failed)  // else it ends here
      end(ExploreResult::End::not_covered, "an execution left the order that it was to follow",
          behaviour().node(state.threads[action.thread].node).operation.site);
    return Reached();
  }

  Result<void> enter(MachineState state) {
    if (++progress().states % kStatesBetweenLooks == 0) look();
    const size_t depth = stack_.empty() ? 0 : stack_.back().depth + (stack_.back().actions.size() > 1);
    stack_.push_back({.state = std::move(state), .depth = depth});
    const auto is_unknown = [&](const ThreadState& thread) {
      return thread.there && !thread.over && behaviour().node(thread.node).state == Behaviour::State::unknown;
    };
    const MachineState& here = stack_.back().state;
    if (!here.exited && std::ranges::any_of(here.threads, is_unknown)) {
      HEDDLE_TRY(execute(path()));
      if (over() || is_stale()) return {};
      if (std::ranges::any_of(here.threads, is_unknown)) {
        end(ExploreResult::End::not_covered, "what a thread does next could not be found out");
        return {};
      }
    }
    if (has_open_loop(here)) HEDDLE_TRY(look_at_loops(here, path()));
    if (over() || is_stale()) return {};
    HEDDLE_TRY(look_at_spins(here));
    if (over() || is_stale()) return {};
    if (const std::optional<Action> next = next_of_library_spin(here)) {
      progress().library_spins = true;
      stack_.back().actions = {*next};
      return {};
    }
    if (options().races) HEDDLE_TRY(look_for_races(here));
    if (over() || is_stale()) return {};
    stack_.back().actions = choice_.find(here, progress().awaits);
    if (!stack_.back().actions.empty()) return {};
    if (note_end(here)) {
      reached_.push_back(machine().inputs_hash(here));
      keep_sample();
    }
    const auto waits = [&](const ThreadState& thread) { return thread.there && !thread.over; };
    if (here.exited || std::ranges::none_of(here.threads, waits)) return {};
    HEDDLE_TRY(execute(path()));
    if (!over() && !last().failed && !is_stale())
      end(ExploreResult::End::not_covered, "the program goes on where every thread seemed to wait");
    return {};
  }

  // Of the ends that are reached some, each with the same probability.
  void keep_sample() {
    const size_t at = reached_.size() <= most_samples_ ? samples_.size() : random_() % reached_.size();
    if (at >= most_samples_) return;
    if (at == samples_.size()) samples_.emplace_back();
    samples_[at] = path();
  }

  // The machine knows each thread's part of these runs from other runs, but not that they go together. What
  // threads tell each other behind its back (state of a library, the clock, files) would show in what comes of
  // them: they are executed from beginning to end. Not where another pass comes anyway.
  Result<void> try_samples(uint64_t changes) {
    const uint64_t executions = progress().executions;  // these are counted by themselves
    for (const std::vector<Action>& sample : std::exchange(samples_, {})) {
      if (over() || is_stale() || behaviour().changes() != changes || executions >= options().executions)
        return {};
      HEDDLE_TRY(execute(sample));
      progress().executions = executions;
      ++progress().samples;
    }
    return {};
  }

  // Two threads that are about to touch the same memory: that is a race, which an execution has to show.
  Result<void> look_for_races(const MachineState& state) {
    for (uint32_t t = 0; t < state.threads.size() && !state.exited; ++t) {
      const Operation* one = next_access(state, t);
      if (one == nullptr) continue;
      for (uint32_t u = t + 1; u < state.threads.size(); ++u) {
        const Operation* other = next_access(state, u);
        if (other == nullptr || !may_race(*one, *other) || has_race(one->site, other->site)) continue;
        if (!tried_.insert(std::minmax(one->site, other->site)).second) continue;
        std::vector<Action> both = path();
        both.push_back({.thread = t});
        both.push_back({.thread = u});
        HEDDLE_TRY(execute(both));
        if (over() || is_stale()) return {};
        one = next_access(state, t);  // nodes have moved
      }
    }
    return {};
  }

  const Operation* next_access(const MachineState& state, uint32_t thread) const {
    const ThreadState& self = state.threads[thread];
    if (!self.there || self.over || !machine().is_enabled(state, thread)) return nullptr;
    const Operation& operation = behaviour().node(self.node).operation;
    return operation.kind <= HEDDLE_EVENT_update && operation.size != 0 ? &operation : nullptr;
  }

  static bool may_race(const Operation& one, const Operation& other) {
    const auto is_plain = [](const Operation& each) { return each.order == HEDDLE_ORDER_plain; };
    return (one.kind != HEDDLE_EVENT_read || other.kind != HEDDLE_EVENT_read) &&
           (is_plain(one) || is_plain(other)) && one.address < other.address + other.size &&
           other.address < one.address + one.size;
  }

  // Threads that may have begun to spin in the library: it is seen when they go on to the end.
  Result<void> look_at_spins(const MachineState& state) {
    for (uint32_t t = 0; t < state.threads.size() && !state.exited; ++t) {
      const ThreadState& thread = state.threads[t];
      if (!thread.there || thread.over || !machine().is_enabled(state, t)) continue;
      const std::optional<uint64_t> value = library_read_again(behaviour(), thread.node);
      if (!value || machine().next_input(state, t) != value || !spins_.insert(thread.node).second) continue;
      HEDDLE_TRY(execute(path(), heddle::Step::run(ThreadIndex(t), kStepsOfLibrarySpin - 1)));
      if (over() || is_stale()) break;
    }
    return {};
  }

  // Of a thread in the library that spins before it waits: it goes on alone.
  std::optional<Action> next_of_library_spin(const MachineState& state) const {
    for (uint32_t t = 0; t < state.threads.size() && !state.exited; ++t) {
      const ThreadState& thread = state.threads[t];
      if (!thread.there || thread.over || !machine().is_enabled(state, t)) continue;
      const std::optional<uint64_t> value = library_spin(behaviour(), thread.node);
      const bool reads = behaviour().node(thread.node).operation.kind == HEDDLE_EVENT_read;
      if (value && (!reads || machine().next_input(state, t) == value)) return Action{.thread = t};
    }
    return std::nullopt;
  }

  PersistentSet choice_;
  std::vector<Action> start_;  // of the unit
  std::vector<Frame> stack_;   // behind it
  BranchSizes sizes_;          // of what is behind the actions of frames
  HashSet visited_;
  std::optional<SharedHashSet> visited_by_all_;  // instead, with workers
  MergedHistories merged_;
  bool at_once_ = false;                      // stores become visible as under SC
  std::unordered_set<Hash128> known_;         // keys of units
  std::vector<Hash128> reached_;              // ends, in this unit
  std::vector<std::vector<Action>> samples_;  // paths to some of them
  size_t most_samples_ = kSamples;
  std::minstd_rand random_;
  uint64_t states_of_unit_ = UINT64_MAX;
  std::set<std::pair<uint32_t, uint32_t>>
      tried_;                         // places that may be in a race: an execution has shown or not
  std::unordered_set<NodeId> spins_;  // look_at_spins() was there
  bool late_waits_ = false;           // a thread went on of which was learned then that it waits
  bool learned_ = false;              // by somebody, something that needs another pass
  uint64_t shared_ = 0;               // what was shared when the pass began
};

}  // namespace

std::unique_ptr<Exploration> tree_search(Executor& executor, const ExploreOptions& options,
                                         const std::function<void(const ExploreProgress&)>& progress) {
  return std::make_unique<TreeSearch>(executor, options, progress);
}

}  // namespace heddle
