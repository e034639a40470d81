#include "driver/core_search.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <utility>

#include "abi/sync_kind.h"
#include "driver/core_baseline.h"
#include "driver/core_candidates.h"
#include "driver/core_earlier.h"
#include "driver/core_repeated.h"
#include "driver/core_slice.h"
#include "driver/hunt.h"
#include "driver/locks_of_run.h"
#include "replay/interrupt.h"
#include "schedule/schedule_check.h"

namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;

// A run whose events can be cut at, by preempting a thread.
struct BaseRun {
  Schedule schedule;
  std::vector<ThreadName> threads;
  std::vector<CoreCandidate> candidates;
  unsigned preemptions = 0;
  uint64_t weight = 1;      // of what made it
  size_t number = 0;        // of that among its parent's candidates
  uint64_t id = 0;          // of this search, from 1
  bool is_earlier = false;  // it has what is tried in place of another preemption; once is enough
};
using Base = std::shared_ptr<const BaseRun>;

class Search {
 public:
  Search(const CoreCase& core, const PassingRun& passing, const CodeNames& names, Executor& executor,
         TryPool* pool, const CoreSearchOptions& options,
         const std::function<void(const CoreSearchResult&)>& progress)
      : core_(core),
        passing_(passing),
        matcher_(core, names),
        executor_(executor),
        pool_(pool),
        options_(options),
        progress_(progress) {
    if (options.time) deadline_ = start_ + *options.time;
    mix_.of_next_run();  // begins with the run without preemptions, which is known
  }

  Result<CoreSearchResult> run() {
    if (check(passing_.execution)) return finish(CoreSearchResult::End::found);
    in_order_ = options_.order == CoreOrder::chess;
    if (!in_order_) {
      HEDDLE_TRY(repeat_passing_run());
      const Execution& run = passing_execution();
      unpreempted_ = base_of(run, nullptr, 0);
      conflicts_.emplace(run.kept_events, run.created, run.pending_events);
      const std::vector<BaselineTry> first = first_of_baseline(*conflicts_, kKeptUpWith);
      ahead_.assign(first.begin(), first.end());
      given_.emplace(run.kept_events);
      HEDDLE_TRY(try_positions());
      apart_ = result_.tries;
      HEDDLE_TRY(search());
      in_order_ = true;
      tried_.clear();  // who goes on behind a preemption is another now
    }
    // What the core told was not enough, or was not asked for: all single preemptions, then all pairs.
    if (!ended_) HEDDLE_TRY(search());
    if (!ended_ && options_.order != CoreOrder::chess) HEDDLE_TRY(wander());
    return finish(ended_.value_or(CoreSearchResult::End::exhausted));
  }

 private:
  // The variant that was followed has its variables, and frames on stacks, at other addresses than the one that
  // performs the tries. What is looked for there must have the addresses that it has there.
  Result<void> repeat_passing_run() {
    critical_ = passing_.critical;
    Execution again = HEDDLE_TRY(executor_.execute(plan_of(nullptr, Lenience::never)));
    const std::vector<heddle_event>& followed = passing_.execution.kept_events;
    const auto same = [](const heddle_event& one, const heddle_event& other) {
      return one.thread == other.thread && one.site == other.site && one.kind == other.kind;
    };
    if (!std::ranges::equal(again.kept_events, followed, same)) return {};
    struct Moved {
      uint64_t size, by;
    };
    std::map<uint64_t, Moved> moved;
    for (size_t i = 0; i < followed.size(); ++i)
      moved.try_emplace(followed[i].address, Moved{std::max<uint64_t>(followed[i].size, 1),
                                                   again.kept_events[i].address - followed[i].address});
    for (CriticalVariable& variable : critical_) {
      uint64_t& address = variable.difference.address;
      auto at = moved.upper_bound(address);
      if (at != moved.begin() && std::prev(at)->first + std::prev(at)->second.size > address) --at;
      if (at != moved.end() && at->first < address + std::max<uint64_t>(variable.difference.size, 1))
        address += at->second.by;
    }
    repeated_ = std::move(again);
    return {};
  }

  const Execution& passing_execution() const { return repeated_ ? *repeated_ : passing_.execution; }

  // No combination led there: the strategies of hunt, for about as long again.
  Result<void> wander() {
    const uint64_t last = result_.tries + std::max(kLeastByChance, result_.tries);
    while (!ended_ && result_.tries < last) HEDDLE_TRY(try_by_chance());
    return {};
  }

  // It may take more preemptions than are combined, or a thread that gives way at once where others have to go
  // first (as a library does that spins before it waits).
  Result<void> try_by_chance() {
    ExecutionPlan plan = plan_of(nullptr, Lenience::never);
    plan.strategy = mix_.of_next_run();
    plan.seed = result_.tries;
    by_chance_ = true;
    HEDDLE_TRY(execute(plan));
    by_chance_ = false;
    return {};
  }

  // Candidates of the passing run, and of each run that a preemption gave, by weight.
  Result<void> search() {
    struct Entry {
      uint64_t weight;
      uint64_t number;  // of equal weight, who came first
      Base base;
      size_t candidate;
      bool operator<(const Entry& other) const {
        return std::pair(weight, number) > std::pair(other.weight, other.number);
      }
    };
    std::priority_queue<Entry> open;
    uint64_t number = 0;
    const auto add = [&](const Base& base, size_t candidate) {
      if (candidate >= base->candidates.size()) return;
      const uint64_t own = base->candidates[candidate].weight;
      // The baseline tries all single preemptions before the first pair.
      const uint64_t in_order = base->preemptions * kNextDepth + base->number * kNextRun + candidate;
      open.push({in_order_ ? in_order : base->weight * own, number++, base, candidate});
    };
    const Base passing = in_order_ ? base_of(passing_execution(), nullptr, 0) : unpreempted_;
    add(passing, 0);
    Base baseline;
    size_t next_of_baseline = 0, guided = 0;
    while (!open.empty() && !ended_) {
      const Entry entry = open.top();
      open.pop();
      add(entry.base, entry.candidate + 1);
      if (!in_order_) HEDDLE_TRY(keep_up());
      if (ended_) break;
      if (pool_ != nullptr) prepare(*entry.base, entry.candidate, open.empty() ? nullptr : open.top().base);
      const Base run = HEDDLE_TRY(perform(*entry.base, entry.candidate));
      if (run != nullptr) add(run, 0);
      if (earlier_) {
        add(std::make_shared<const BaseRun>(BaseRun{.schedule = passing->schedule,
                                                    .threads = passing->threads,
                                                    .candidates = {*std::exchange(earlier_, std::nullopt)},
                                                    .id = ++bases_,
                                                    .is_earlier = true}),
            0);
      }
      if (!in_order_ && !ended_ && result_.tries >= apart_ + kBeforeHeld) HEDDLE_TRY(try_held());
      if (options_.order != CoreOrder::chess && !ended_ && result_.tries >= next_by_chance_) {
        HEDDLE_TRY(try_by_chance());
        // The longer nothing is found, the likelier it is that it takes more.
        next_by_chance_ = result_.tries + (result_.tries < kRarelyByChance ? 3 : 1);
      }
      // What the core tells may mislead: after a while every third try is the next in the order of the run.
      if (in_order_ || ended_ || result_.tries < kAlone + apart_ || ++guided % kGuided != 0) continue;
      if (baseline == nullptr) baseline = baseline_of_passing(*passing);
      for (const uint64_t tries = result_.tries;
           result_.tries == tries && !ended_ && next_of_baseline < baseline->candidates.size();) {
        const CoreCandidate& candidate = baseline->candidates[next_of_baseline++];
        if (tried_.contains({candidate.event, candidate.next})) continue;
        const Base other = HEDDLE_TRY(perform(*baseline, next_of_baseline - 1));
        if (other != nullptr) add(other, 0);
      }
    }
    return {};
  }

  // What the baseline would have tried by now, where that changes anything and was not tried: so the baseline
  // does not find anything before, as long as it has made few tries.
  Result<void> keep_up() {
    std::erase_if(ahead_, [&](const BaselineTry& of) { return given_->find(preemption(of)) != nullptr; });
    while (!ended_ && is_behind()) {
      const CoreCandidate made = preemption(ahead_.front());
      ahead_.pop_front();
      const auto prefix = cut(*unpreempted_, made.event, unpreempted_->threads[made.next], StepKind::run);
      if (!prefix) continue;
      const std::optional<Execution> done = HEDDLE_TRY(execute(plan_of(&*prefix, Lenience::never)));
      if (!done) continue;
      ++apart_;
      given_->add(made, done->kept_events);
    }
    return {};
  }

  // Whether another try of what the core says would leave too few for these. The first one is not theirs.
  bool is_behind() const {
    for (size_t i = 0; result_.tries != 0 && i < ahead_.size(); ++i)
      if (result_.tries + 1 + (i + 1) >= ahead_[i].number) return true;
    return false;
  }

  CoreCandidate preemption(const BaselineTry& of) const {
    return {.event = of.event,
            .thread = passing_execution().kept_events[of.event].thread,
            .next = of.next,
            .weight = UINT64_MAX};  // nothing was looked for behind it
  }

  // All points of the passing run in its order, but those first that change the order of conflicting events:
  // there are far fewer of these, and what the baseline finds is mostly among them.
  Base baseline_of_passing(const BaseRun& guided) {
    in_order_ = true;
    BaseRun base = *base_of(passing_execution(), nullptr, 0);
    in_order_ = false;
    std::map<std::pair<size_t, uint32_t>, const CoreCandidate*> awaited;
    for (const CoreCandidate& candidate : guided.candidates)
      awaited.emplace(std::pair(candidate.event, candidate.next), &candidate);
    const auto in_order = [&](const CoreCandidate& candidate) {
      return std::pair(!awaited.contains({candidate.event, candidate.next}), candidate.weight);
    };
    std::ranges::sort(base.candidates, {}, in_order);
    for (CoreCandidate& candidate : base.candidates) {
      candidate.weight = kBaselineWeight;
      if (const auto found = awaited.find({candidate.event, candidate.next}); found != awaited.end()) {
        candidate.awaited = found->second->awaited;
        candidate.awaited_of = found->second->awaited_of;
        candidate.awaited_writes = found->second->awaited_writes;
      }
    }
    return std::make_shared<const BaseRun>(std::move(base));
  }

  // What is likely to be tried after this candidate: the next ones of its run, and the first of the next run's.
  void prepare(const BaseRun& base, size_t candidate, const Base& following) {
    const auto prepare_one = [&](const BaseRun& of, size_t number) {
      if (number >= of.candidates.size() || !pool_->has_room() || pool_->knows({of.id, number})) return;
      const CoreCandidate& wanted = of.candidates[number];
      if (of.preemptions == 0 && tried_.contains({wanted.event, wanted.next})) return;
      if (is_needless(of, wanted)) return;
      if (std::optional<Schedule> prefix = cut(of, wanted.event, of.threads[wanted.next], StepKind::run))
        pool_->prepare({of.id, number}, *std::move(prefix), plan_of(nullptr, wanted));
    };
    for (size_t i = 1; i <= pool_->size(); ++i) prepare_one(base, candidate + i);
    if (following != nullptr && following->id != base.id) prepare_one(*following, 0);
  }

  Result<CoreSearchResult> finish(CoreSearchResult::End end) {
    // What resembles the failure is better than nothing.
    if (end != CoreSearchResult::End::found && result_.matched == CoreMatch::loose)
      end = CoreSearchResult::End::found;
    result_.end = end;
    result_.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_);
    return std::move(result_);
  }

  // `parent`: null for the passing run.
  Base base_of(const Execution& execution, const BaseRun* parent, size_t candidate) {
    auto base = std::make_shared<BaseRun>(
        BaseRun{.schedule = execution.schedule, .threads = thread_names(execution.created)});
    base->id = ++bases_;
    base->schedule.header.prefix = true;
    base->schedule.header.failure.clear();
    base->schedule.header.events.reset();
    base->schedule.header.values.clear();
    if (parent != nullptr) {
      base->preemptions = parent->preemptions + 1;
      base->number = candidate;
      base->weight = std::min(kMostWeight, parent->weight * parent->candidates[candidate].weight * 2);
    }
    if (base->preemptions >= options_.preemptions) return base;
    std::vector<CriticalVariable> critical = critical_;
    if (core_.hangs()) {
      // Threads may wait for more in this run than in the passing one, which went another way.
      std::erase_if(critical, [](const CriticalVariable& variable) { return variable.sync; });
      std::ranges::move(awaited_objects(core_, execution.kept_events), std::back_inserter(critical));
    }
    CandidateRun run{.events = execution.kept_events,
                     .threads = execution.created,
                     .critical = critical,
                     .aligned = aligned_in(execution, base->threads),
                     .pending = &execution.pending_events};
    if (parent != nullptr) {
      run.from = parent->candidates[candidate].event + 1;
      run.most = kMostOfRun;
    } else {
      if (passing_.alignment) run.failing = passing_.alignment->thread;
      run.positions = &passing_.positions;
    }
    const std::set<size_t> deciding =
        in_order_ ? std::set<size_t>()
                  : deciding_accesses(*core_.regions, execution.kept_events,
                                      decided(execution, base->threads, run.aligned, parent == nullptr));
    run.deciding = &deciding;
    std::vector<uint32_t> dependence;
    if (options_.order == CoreOrder::dependence && !in_order_)
      if (const std::optional<SliceStart> start = slice_start(execution, base->threads, run.aligned)) {
        dependence = dependence_distances(*core_.regions, execution.kept_events, *start);
        run.dependence = &dependence;
      }
    base->candidates = in_order_ ? candidates_in_order(run) : core_candidates(run);
    if (parent != nullptr && !in_order_) leave_out_reversal(parent->candidates[candidate], execution, *base);
    result_.candidates = std::max<uint64_t>(result_.candidates, base->candidates.size());
    return base;
  }

  // What a preemption brought before the event of the thread that was preempted is not to be behind it again.
  static void leave_out_reversal(const CoreCandidate& made, const Execution& execution, BaseRun& base) {
    if (made.awaited == 0) return;
    const std::vector<heddle_event>& events = execution.kept_events;
    const auto came = std::find_if(events.begin() + static_cast<ptrdiff_t>(std::min(made.event, events.size())),
                                   events.end(), [&](const heddle_event& event) { return made.awaits(event); });
    const auto at = static_cast<size_t>(came - events.begin());
    std::erase_if(base.candidates, [&](const CoreCandidate& next) {
      return next.event == at && next.awaited_of == made.thread && next.awaited == made.awaited;
    });
  }

  // Where threads of the run go another way than those of the core; and what failed.
  std::vector<SliceStart> decided(const Execution& execution, const std::vector<ThreadName>& threads,
                                  size_t aligned, bool is_passing) const {
    std::vector<SliceStart> out;
    const bool exact = passing_.alignment && !passing_.alignment->predicate;
    if (!core_.hangs() || !exact)
      if (const std::optional<SliceStart> start = slice_start(execution, threads, aligned))
        out.push_back(*start);
    if (!is_passing) return out;
    std::vector<uint64_t> left(passing_.positions.size());
    for (size_t i = 0; i < left.size(); ++i) left[i] = passing_.positions[i].events;
    for (size_t i = 0; i < execution.kept_events.size(); ++i) {
      const uint32_t thread = execution.kept_events[i].thread;
      if (thread >= left.size() || left[thread] == 0 || --left[thread] != 0) continue;
      const CorePosition& position = passing_.positions[thread];
      if (position.predicate && !position.guessed)
        out.push_back({.instruction = *position.predicate, .thread = thread, .event = i + 1});
    }
    return out;
  }

  // What went another way at the aligned point, or failed there.
  std::optional<SliceStart> slice_start(const Execution& execution, const std::vector<ThreadName>& threads,
                                        size_t aligned) const {
    const ExecutionIndex& index = core_.indexes[core_.failing].index;
    if (!passing_.alignment || index.frames.empty()) return std::nullopt;
    const std::optional<InstructionId> at =
        passing_.alignment->predicate ? passing_.alignment->predicate : index.frames.back().at;
    const ThreadName failing = thread_names(passing_.execution.created)[passing_.alignment->thread];
    const auto here = std::ranges::find(threads, failing);
    if (!at || here == threads.end()) return std::nullopt;
    return SliceStart{.instruction = *at,
                      .thread = static_cast<uint32_t>(here - threads.begin()),
                      .event = std::min(aligned + 1, execution.kept_events.size())};
  }

  // Where the failing thread has performed as many events as at the aligned point of the passing run.
  size_t aligned_in(const Execution& execution, const std::vector<ThreadName>& threads) const {
    if (&execution == &passing_execution() || !passing_.alignment) return passing_.aligned_events;
    const uint32_t failing = passing_.alignment->thread;
    uint64_t left = 0;
    for (size_t i = 0; i < passing_.aligned_events; ++i)
      left += passing_.execution.kept_events[i].thread == failing ? 1 : 0;
    const auto here = std::ranges::find(threads, thread_names(passing_.execution.created)[failing]);
    const auto thread = static_cast<uint32_t>(here - threads.begin());
    for (size_t i = 0; i < execution.kept_events.size(); ++i)
      if (execution.kept_events[i].thread == thread && left-- == 0) return i;
    return execution.kept_events.size();
  }

  // Fails as the core says. What only resembles it is kept, and is the end when nothing better comes within as
  // many tries again, and some more.
  bool check(const Execution& execution) {
    const CoreMatch match = matcher_.match(execution);
    if (match > result_.matched) {
      result_.matched = match;
      result_.by_chance = by_chance_;
      result_.last = execution;
      if (match == CoreMatch::loose) last_try_ = 2 * result_.tries + kMoreTries;
    }
    return match > CoreMatch::loose;
  }

  // The steps of a run up to an event, then another thread.
  static std::optional<Schedule> cut(const BaseRun& base, size_t event, const ThreadName& next, StepKind kind) {
    Schedule out{.header = base.schedule.header, .threads = base.schedule.threads, .steps = {}};
    uint64_t left = event;
    for (const Step& step : base.schedule.steps) {
      if (left == 0) break;
      out.steps.push_back(step);
      if (step.kind != StepKind::run) continue;
      if (step.count > left) {
        out.steps.back().count = left;
        out.steps.back().end = SegmentEnd::preempted;
      }
      left -= std::min(left, step.count);
    }
    std::optional<ThreadIndex> thread = out.find(next);
    if (!thread) {
      out.threads.push_back({.name = next, .start = {}, .created = {}});
      thread = ThreadIndex(out.threads.size() - 1);
    }
    out.steps.push_back(kind == StepKind::timeout ? Step::timeout(*thread) : Step::run(*thread, 1));
    if (!check_schedule(out)) return std::nullopt;  // a thread that cannot exist yet, most of all
    return out;
  }

  // The run that a preemption gives; null when nothing came of it.
  Result<Base> perform(const BaseRun& base, size_t number) {
    const CoreCandidate& candidate = base.candidates[number];
    if (is_needless(base, candidate)) return Base();
    const bool again = is_again(base, candidate);
    for (const uint32_t next : instead_of(base, candidate)) {
      if (next != candidate.next && base.preemptions == 0 && !tried_.insert({candidate.event, next}).second)
        continue;
      for (const StepKind kind : {StepKind::run, StepKind::timeout}) {
        const std::optional<Schedule> prefix = cut(base, candidate.event, base.threads[next], kind);
        if (!prefix) break;
        // What the pool has prepared is the first of these.
        const bool first = next == candidate.next && kind == StepKind::run;
        std::optional<Execution> done = HEDDLE_TRY(execute(
            plan_of(&*prefix, candidate), first ? std::optional(TryPool::Key{base.id, number}) : std::nullopt));
        if (done) result_.prefix_events += std::min<uint64_t>(candidate.event, done->events);
        if (done && again && !ended_) --result_.tries;
        if (done && !in_order_ && !again && base.preemptions == 0 && kind == StepKind::run) {
          CoreCandidate made = candidate;
          made.next = next;
          given_->add(made, done->kept_events);
        }
        if (done && !in_order_ && first && base.preemptions == 0 && !base.is_earlier)
          look_for_earlier(candidate, *done);
        if (done) return ended_ || !is_usable(*done) ? Base() : base_of(*done, &base, number);
        if (!has_timed_waits()) break;
        // The other thread could not go on there; but the time it waits for may end.
      }
    }
    return Base();
  }

  // A single preemption that changes nothing (unless the time of a wait may end there), or gives a run that
  // another one gave, which was as likely.
  bool is_needless(const BaseRun& base, const CoreCandidate& candidate) {
    if (in_order_ || base.preemptions != 0) return false;
    if (candidate.awaited == 0 && !has_timed_waits() &&
        !conflicts_->matters_at(candidate.event, candidate.next))
      return true;
    const RepeatedTries::Try* same = given_->find(candidate);
    return same != nullptr && same->made.weight <= candidate.weight;
  }

  // Its run was given already, and counted; it is needed nevertheless.
  bool is_again(const BaseRun& base, const CoreCandidate& candidate) {
    if (base.preemptions != 0) return false;
    bool again = !tried_.insert({candidate.event, candidate.next}).second;
    if (in_order_) return again;
    if (RepeatedTries::Try* same = given_->find(candidate)) {
      same->made.weight = candidate.weight;
      again = true;
    }
    return again;
  }

  // The same preemption earlier, where this one could not have what it was made for.
  void look_for_earlier(const CoreCandidate& made, const Execution& run) {
    if (made.awaited == 0 || !is_usable(run)) return;
    const std::optional<size_t> event =
        earlier_preemption(made, passing_execution().kept_events, run.kept_events, run.created.size());
    if (!event || tried_.contains({*event, made.next})) return;
    earlier_ = made;
    earlier_->event = *event;
  }

  // Where the thread that is to go on waits, another one may let it.
  std::vector<uint32_t> instead_of(const BaseRun& base, const CoreCandidate& candidate) const {
    std::vector<uint32_t> out = {candidate.next};
    if (in_order_) return out;
    for (uint32_t next = 0; next < base.threads.size(); ++next)
      if (next != candidate.next && next != candidate.thread) out.push_back(next);
    return out;
  }

  static bool is_usable(const Execution& execution) {
    return (execution.outcome == Outcome::passed || execution.outcome == Outcome::failed) &&
           execution.schedule_complete;
  }

  ExecutionPlan plan_of(const Schedule* prefix, Lenience lenience) const {
    return {.strategy = Strategy::nonpreemptive(),
            .schedule = prefix,
            .lenience = lenience,
            .rules = options_.rules,
            .keep_schedule = true,
            .keep_events = true,
            .deadline = deadline_};
  }

  // Who is preempted waits until the other one has come to what it is to do first; then it is the next to go
  // on. The baseline goes on in the order of creation.
  ExecutionPlan plan_of(const Schedule* prefix, const CoreCandidate& candidate) const {
    ExecutionPlan plan = plan_of(prefix, Lenience::never);
    if (in_order_) return plan;
    plan.successor = Successor::preempted;
    if (candidate.awaited != 0)
      plan.delay = Delay{.thread = candidate.thread,
                         .awaited = candidate.awaited_of,
                         .address = candidate.awaited,
                         .behind = candidate.event,
                         .writes = candidate.awaited_writes};
    return plan;
  }

  // Nothing: the schedule cannot be followed.
  Result<std::optional<Execution>> execute(const ExecutionPlan& plan,
                                           std::optional<TryPool::Key> prepared = std::nullopt) {
    Execution execution = pool_ != nullptr && prepared && pool_->knows(*prepared)
                              ? HEDDLE_TRY(pool_->take(*prepared))
                              : HEDDLE_TRY(executor_.execute(plan));
    if (execution.outcome == Outcome::diverged) return std::optional<Execution>();
    ++result_.tries;
    result_.events += execution.events;
    result_.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start_);
    progress_(result_);
    if (check(execution)) {
      ended_ = CoreSearchResult::End::found;
    } else if (execution.outcome == Outcome::interrupted || interrupted()) {
      ended_ = CoreSearchResult::End::interrupted;
    } else if (result_.tries >= std::min(options_.tries, last_try_) ||
               execution.outcome == Outcome::out_of_time || (deadline_ && Clock::now() >= *deadline_)) {
      ended_ = CoreSearchResult::End::limit;
    }
    return std::optional(std::move(execution));
  }

  bool has_timed_waits() {
    if (!timed_)
      timed_ = std::ranges::any_of(passing_.execution.kept_events, [](const heddle_event& event) {
        switch (event.kind - HEDDLE_EVENT_sync) {
          case HEDDLE_SYNC_cond_timedwait:
          case HEDDLE_SYNC_cond_wait_cxx:
          case HEDDLE_SYNC_mutex_timedlock:
          case HEDDLE_SYNC_rwlock_timedrdlock:
          case HEDDLE_SYNC_rwlock_timedwrlock:
          case HEDDLE_SYNC_sem_timedwait:
          case HEDDLE_SYNC_thread_timedjoin:
          case HEDDLE_SYNC_futex:
          case HEDDLE_SYNC_futex_wait_cxx:
          case HEDDLE_SYNC_sleep:
            return true;
          default:
            return false;
        }
      });
    return *timed_;
  }

  // Of a hang, once: whoever comes to where a thread of the core waits is held there as long as others can go
  // on. How often threads had been there before, and who did what, need not be known.
  Result<void> try_held() {
    if (!core_.hangs() || std::exchange(held_, true)) return {};
    ExecutionPlan plan = plan_of(nullptr, Lenience::never);
    std::set<uint32_t> sites;
    for (size_t i = 0; i < core_.indexes.size(); ++i)
      for (const InstructionId at : core_.stands_at(i)) sites.insert(at.value);
    plan.held.assign(sites.begin(), sites.end());
    for (const Successor successor : {Successor::elder, Successor::younger}) {
      plan.successor = successor;
      if (!ended_) HEDDLE_TRY(execute(plan));
    }
    // Threads come to their waits as soon as they are created, before the main thread goes on that may wake
    // them.
    plan.held.clear();
    plan.successor = Successor::elder;
    plan.delay = Delay{.thread = 0, .awaited = 0, .address = kNoAddress, .behind = 0};
    if (!ended_) HEDDLE_TRY(execute(plan));
    return {};
  }

  // All threads to where the core has them. The failing one begins before the others, up to where the passing
  // run goes another way than it: what it saw until then was not theirs yet. If it holds a lock there that
  // others take, too, these came to their places before it was taken. Or it comes last. In which order those
  // that were stopped and those that have ended ran, nobody knows: both ways.
  Result<void> try_positions() {
    using Kind = CorePosition::Kind;
    const std::vector<CorePosition>& positions = passing_.positions;
    if (positions.empty() || positions[0].kind != Kind::midway) return {};
    const uint32_t failing = passing_.alignment ? passing_.alignment->thread : 0;
    std::vector<uint32_t> midway, over;
    for (uint32_t thread = 1; thread < positions.size(); ++thread) {
      if (thread == failing) continue;
      if (positions[thread].kind == Kind::midway) midway.push_back(thread);
      if (positions[thread].kind == Kind::ended) over.push_back(thread);
    }
    const bool begins =
        failing != 0 && positions[failing].kind == Kind::midway && positions[failing].events != 0;
    // Where it was guessed which threads these are, once is enough.
    const bool guessed = std::ranges::any_of(positions, &CorePosition::guessed);
    std::set<Turns> tried;
    for (const bool stopped_first : {true, false})
      for (const bool failing_first : {true, false}) {
        if (guessed && !tried.empty()) continue;
        // Without anybody who was stopped, this is the passing run.
        if (failing_first ? !begins : midway.empty()) continue;
        Turns turns = {{0, events_of(0)}};
        const uint64_t first = failing_first ? outside_of_locks(failing, positions[failing].events) : 0;
        turns.emplace_back(failing, first);
        for (const std::vector<uint32_t>& part :
             stopped_first ? std::array{midway, over} : std::array{over, midway})
          for (const uint32_t thread : part) turns.emplace_back(thread, events_of(thread));
        if (failing != 0) turns.emplace_back(failing, std::max(events_of(failing), first + 1) - first);
        if (!tried.insert(turns).second) continue;
        HEDDLE_TRY(keep_up());
        if (!ended_) HEDDLE_TRY(try_turns(turns));
      }
    return {};
  }

  // How many events a thread had performed in the core. What has ended there had all the events it needed,
  // however many these were.
  uint64_t events_of(uint32_t thread) const {
    const CorePosition& position = passing_.positions[thread];
    if (position.kind == CorePosition::Kind::ended) return kAll;
    if (position.kind != CorePosition::Kind::unknown) return position.events;
    return static_cast<uint64_t>(std::ranges::count(passing_.execution.kept_events, thread,
                                                    [](const heddle_event& event) { return event.thread; }));
  }

  // Own events of the thread in the passing run, up to so many, before it takes locks that others take, too.
  uint64_t outside_of_locks(uint32_t thread, uint64_t performed) const {
    if (core_.hangs()) return performed;  // others wait for what it holds
    const std::vector<heddle_event>& events = passing_.execution.kept_events;
    std::vector<size_t> own;
    for (size_t i = 0; i < events.size() && own.size() <= performed; ++i)
      if (events[i].thread == thread) own.push_back(i);
    if (own.size() <= performed) return performed;
    const LocksOfRun held(events, passing_.execution.created.size());
    for (const auto& [lock, taken] : held.at(own[performed]))
      if (std::ranges::any_of(events, [&](const heddle_event& event) {
            return event.thread != thread && event.kind >= HEDDLE_EVENT_sync && event.address == lock;
          }))
        return static_cast<uint64_t>(std::ranges::find(own, taken) - own.begin());
    return performed;
  }

  using Turns = std::vector<std::pair<uint32_t, uint64_t>>;  // threads, each with its events

  // Each thread in turn, as far as it can go, again and again: threads wait for each other on their way.
  Result<void> try_turns(const Turns& turns) {
    const std::vector<ThreadName> threads = thread_names(passing_.execution.created);
    Schedule prefix{.header = passing_.execution.schedule.header,
                    .threads = passing_.execution.schedule.threads,
                    .steps = {}};
    prefix.header.prefix = true;
    prefix.header.failure.clear();
    prefix.header.events.reset();
    prefix.header.values.clear();
    for (const auto& [thread, count] : turns) {
      const std::optional<ThreadIndex> index = prefix.find(threads[thread]);
      if (index && count != 0) prefix.steps.push_back(Step::run(*index, count));
    }
    if (check_schedule(prefix)) HEDDLE_TRY(execute(plan_of(&prefix, Lenience::put_off)));
    return {};
  }

  static constexpr uint64_t kMostWeight = uint64_t{1} << 32;
  static constexpr uint64_t kNextDepth = uint64_t{1} << 60, kNextRun = uint64_t{1} << 24;
  static constexpr uint64_t kAll = uint64_t{1} << 40;
  static constexpr uint64_t kNoAddress = UINT64_MAX;
  static constexpr uint64_t kBeforeHeld = 2, kAlone = 6, kGuided = 2, kBaselineWeight = 64, kMoreTries = 20;
  static constexpr uint64_t kLeastByChance = 1000, kBeforeChance = 7, kRarelyByChance = 30;
  // Where nearly every schedule fails the baseline is done that soon; elsewhere these are three tries more at
  // most, since the first one is not theirs.
  static constexpr uint64_t kKeptUpWith = 4;
  static constexpr size_t kMostOfRun = 2000;  // candidates of a run that a preemption gave

  const CoreCase& core_;
  const PassingRun& passing_;
  const CoreMatcher matcher_;
  Executor& executor_;
  TryPool* pool_;
  const CoreSearchOptions& options_;
  const std::function<void(const CoreSearchResult&)>& progress_;
  const Clock::time_point start_ = Clock::now();
  std::optional<Clock::time_point> deadline_;
  std::optional<Execution> repeated_;            // the passing run, in the variant that performs the tries
  std::vector<CriticalVariable> critical_;       // with the addresses that they have there
  bool in_order_ = false;                        // the present phase: in the order of the run, or by weight
  std::set<std::pair<size_t, uint32_t>> tried_;  // alone
  Base unpreempted_;                             // the passing run, with what the core says of it
  std::optional<RunConflicts> conflicts_;        // of the passing run
  std::optional<RepeatedTries> given_;           // single preemptions that were tried
  std::deque<BaselineTry> ahead_;                // what the baseline tries first, not tried yet
  std::optional<CoreCandidate> earlier_;         // to be tried instead of what was tried last
  std::optional<bool> timed_;
  StrategyMix mix_{{}};
  bool by_chance_ = false;  // the present try is by a strategy of hunt
  uint64_t next_by_chance_ = kBeforeChance;
  bool held_ = false;               // threads were held where those of the core wait
  uint64_t apart_ = 0;              // tries that were no candidates: by position, or to keep up
  uint64_t bases_ = 0;              // runs that were looked at so far
  uint64_t last_try_ = UINT64_MAX;  // of those that may find something better than what resembles the failure
  std::optional<CoreSearchResult::End> ended_;
  CoreSearchResult result_;
};

}  // namespace

Result<CoreSearchResult> search_core(const CoreCase& core, const PassingRun& passing, const CodeNames& names,
                                     Executor& executor, TryPool* pool, const CoreSearchOptions& options,
                                     const std::function<void(const CoreSearchResult&)>& progress) {
  return Search(core, passing, names, executor, pool, options, progress).run();
}

}  // namespace heddle
