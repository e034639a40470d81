#include "report/why.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "report/pattern.h"

namespace heddle {
namespace {

constexpr size_t kMostPairs = 20000;
constexpr size_t kEnough = 12;     // decisive pairs: more than anybody reads
constexpr size_t kForeseen = 200;  // events of each thread behind the end of the failing run

class Explainer {
 public:
  Explainer(Execution& run, Executor& executor, const CodeNames& names, const WhyOptions& options)
      : run_(run), executor_(executor), names_(names), options_(options) {
    deadline_ = std::chrono::steady_clock::now() + options.time;
    look_again();
  }

  Result<Why> explain() {
    if (!order_->complete()) {
      why_.finished = false;  // too long a run
      return std::move(why_);
    }
    if (run_.schedule.header.memory_model != MemoryModel::sc) HEDDLE_TRY(look_at_buffers());
    HEDDLE_TRY(look_at_pairs());
    // What the threads would have done where this one ended.
    if (HEDDLE_TRY(foresee())) HEDDLE_TRY(look_at_pairs());
    if (why_.decisive.empty() && !stopped()) HEDDLE_TRY(look_at_sections());
    choose_among_equals();
    why_.pairs = std::max(why_.pairs, why_.flips);
    HEDDLE_TRY(confirm_pairs());
    name_pattern(*order_, *locks_, names_, why_);
    return std::move(why_);
  }

 private:
  void look_again() {
    order_.emplace(run_);
    locks_.emplace(*order_);
    flipper_.emplace(*order_, executor_, options_.rules);
    flipper_->stop_at(deadline_);
  }

  // Stores that were late: only if the same order without buffers does not fail.
  Result<void> look_at_buffers() {
    if (HEDDLE_TRY(counted(flipper_->without_buffers())) == FlipVerdict::fails) return {};
    for (size_t store = 0; store < order_->event_count() && !stopped(); ++store) {
      if (order_->event(store).kind != HEDDLE_EVENT_write || !order_->was_buffered(store)) continue;
      const size_t reader = overtaken_by(store);
      if (reader == kNoEvent) continue;
      ++why_.pairs;
      ++why_.flips;
      if (HEDDLE_TRY(counted(flipper_->show_at_once(store))) != FlipVerdict::passes) continue;
      why_.decisive.push_back({.first = reader,
                               .second = store,
                               .visibility = true,
                               .flip = {.first = reader, .second = store, .from = reader},
                               .flipped_passed = 1,
                               .flipped_runs = 1});
    }
    return {};
  }

  // The last read of another thread that conflicts with the store while it was not visible yet; a write if
  // there is none.
  size_t overtaken_by(size_t store) const {
    const auto& moments = order_->moments();
    const size_t end = std::min(order_->visible_at(store), moments.size());
    size_t read = kNoEvent, written = kNoEvent;
    for (size_t at = order_->moment_of(store) + 1; at < end; ++at) {
      const Moment& moment = moments[at];
      if (moment.kind != StepKind::run || moment.thread == order_->event(store).thread) continue;
      const heddle_event& event = order_->event(moment.event);
      if (in_conflict(event, order_->event(store))) (is_write(event) ? written : read) = moment.event;
    }
    return read != kNoEvent ? read : written;
  }

  Result<void> look_at_pairs() {
    const std::vector<ConflictPair> pairs = conflict_pairs(*order_, *locks_, kMostPairs);
    why_.pairs = std::max<uint64_t>(why_.pairs, pairs.size());
    for (const ConflictPair& pair : pairs)
      if (pair.rank != ConflictPair::Rank::section && !HEDDLE_TRY(try_flip(pair))) break;
    return {};
  }

  // What they protect says more, so only when nothing else was found.
  Result<void> look_at_sections() {
    for (const ConflictPair& pair : conflict_pairs(*order_, *locks_, kMostPairs))
      if (pair.rank == ConflictPair::Rank::section && !HEDDLE_TRY(try_flip(pair))) break;
    return {};
  }

  // False: no more.
  Result<bool> try_flip(const ConflictPair& pair) {
    if (stopped() || why_.decisive.size() >= kEnough) return false;
    if (is_covered(pair) || !tried_.insert(key_of(pair)).second) return true;
    if (++why_.flips % 16 == 0)
      options_.progress(
          fmt::format("why: {} of {} pairs tried, {} decisive", why_.flips, why_.pairs, why_.decisive.size()));
    const FlipVerdict verdict = HEDDLE_TRY(counted(flipper_->flip(pair)));
    if (verdict == FlipVerdict::impossible) ++why_.impossible;
    if (verdict == FlipVerdict::passes) keep(pair);
    if (verdict != FlipVerdict::fails || !others_between(pair)) return true;
    // A third thread may do what the first one was kept from.
    ConflictPair alone = pair;
    alone.alone = true;
    if (HEDDLE_TRY(counted(flipper_->flip(alone))) == FlipVerdict::passes) keep(alone);
    return true;
  }

  bool others_between(const ConflictPair& pair) const {
    const auto& moments = order_->moments();
    const uint32_t first = order_->event(pair.first).thread, second = order_->event(pair.second).thread;
    for (size_t at = order_->moment_of(pair.from);
         at < std::min(order_->moment_of(pair.second), moments.size()); ++at)
      if (moments[at].thread != first && moments[at].thread != second) return true;
    return false;
  }

  void keep(const ConflictPair& pair) {
    if (!passing_) passing_ = flipper_->last();
    std::erase_if(why_.decisive, [&](const DecisivePair& known) {
      return known.flip.rank > pair.rank && same_way(known, pair) &&
             (is_part(known.flip, pair) || is_part(pair, known.flip));
    });
    why_.decisive.push_back(
        {.first = pair.first, .second = pair.second, .flip = pair, .flipped_passed = 1, .flipped_runs = 1});
  }

  // A flip that moves all that a decisive one moves would tell nothing new, and of synchronisation neither
  // would one that moves a part of it: what the synchronisation is about says more.
  bool is_covered(const ConflictPair& pair) const {
    return std::ranges::any_of(why_.decisive, [&](const DecisivePair& known) {
      if (!same_way(known, pair) || pair.rank < known.flip.rank) return false;
      return is_part(known.flip, pair) || (pair.rank > known.flip.rank && is_part(pair, known.flip));
    });
  }

  bool same_way(const DecisivePair& known, const ConflictPair& pair) const {
    const auto thread = [&](size_t event) { return order_->event(event).thread; };
    return !known.visibility && thread(known.first) == thread(pair.first) &&
           thread(known.second) == thread(pair.second);
  }

  static bool is_part(const ConflictPair& small, const ConflictPair& large) {
    return large.from <= small.from && small.second <= large.second;
  }

  using Key = std::array<size_t, 4>;  // threads and their events, which keep their numbers
  Key key_of(const ConflictPair& pair) const {
    return {order_->event(pair.first).thread, order_->ordinal(pair.first), order_->event(pair.second).thread,
            order_->ordinal(pair.second)};
  }

  // Where one thread ended the run, others may be able to go on from there. Where they are not, the nearest
  // passing run tells.
  Result<const Execution*> future_run() {
    const auto failing = run_.schedule.find(run_.failure->thread);
    if (run_.failure->waits.empty() && failing) {
      HEDDLE_TRY(counted(flipper_->run_others_on(failing->value, kForeseen)));
      // Without the last event of the failing thread.
      if (flipper_->last().kept_events.size() > order_->event_count()) return &flipper_->last();
    }
    return passing_ ? &*passing_ : nullptr;
  }

  // Puts what threads did in another run behind the end of the failing one. Events that were pending get new
  // numbers.
  Result<bool> foresee() {
    if (stopped()) return false;
    const Execution* const later = HEDDLE_TRY(future_run());
    if (later == nullptr) return false;
    std::vector<std::vector<heddle_event>> future(run_.schedule.threads.size());
    for (size_t i = 0; i < later->kept_events.size(); ++i) {
      heddle_event event = later->kept_events[i];
      const auto thread = run_.schedule.find(later->schedule.threads[event.thread].name);
      if (!thread) continue;
      event.thread = static_cast<uint16_t>(thread->value);
      future[thread->index()].push_back(event);
    }
    std::vector<heddle_event> pending;
    for (uint32_t thread = 0; thread < future.size(); ++thread) {
      const auto& own = order_->events_of(thread);
      const auto performed =
          static_cast<size_t>(std::ranges::lower_bound(own, order_->event_count()) - own.begin());
      if (own.size() > performed) pending.push_back(order_->event(own[performed]));
      const size_t from = std::max(own.size(), performed);
      for (size_t i = from; i < future[thread].size() && i < from + kForeseen; ++i)
        pending.push_back(future[thread][i]);
    }
    std::vector<Key> keys;
    for (const DecisivePair& pair : why_.decisive) keys.push_back(key_of(pair.flip));
    run_.pending_events = std::move(pending);
    look_again();
    for (size_t i = 0; i < keys.size(); ++i) {
      DecisivePair& pair = why_.decisive[i];
      pair.second = pair.flip.second = order_->events_of(static_cast<uint32_t>(keys[i][2]))[keys[i][3]];
    }
    return true;
  }

  // Two critical sections change places as a whole: of the accesses in them, those to memory that another
  // decisive pair is about say most.
  void choose_among_equals() {
    const std::vector<ConflictPair> pairs = conflict_pairs(*order_, *locks_, kMostPairs);
    for (DecisivePair& pair : why_.decisive) {
      if (pair.visibility || pair.flip.rank != ConflictPair::Rank::data || is_shared_with_others(pair))
        continue;
      for (const ConflictPair& other : pairs) {
        if (other.rank != ConflictPair::Rank::data || other.from != pair.flip.from || !same_way(pair, other))
          continue;
        if (!in_one_section(other.second, pair.second)) continue;
        DecisivePair instead = pair;
        instead.first = other.first;
        instead.second = other.second;
        if (!is_shared_with_others(instead)) continue;
        pair.first = other.first;
        pair.second = other.second;
        break;
      }
    }
  }

  bool is_shared_with_others(const DecisivePair& pair) const {
    return std::ranges::any_of(why_.decisive, [&](const DecisivePair& other) {
      return order_->event(other.first).thread != order_->event(pair.first).thread &&
             in_conflict_or_same(order_->event(other.second), order_->event(pair.second));
    });
  }

  static bool in_conflict_or_same(const heddle_event& left, const heddle_event& right) {
    return is_access(left) && is_access(right) && left.address < right.address + right.size &&
           right.address < left.address + left.size;
  }

  // Both performed under a lock that was taken once for both.
  bool in_one_section(size_t left, size_t right) const {
    if (order_->event(left).thread != order_->event(right).thread) return false;
    if (left == right) return true;
    for (const HeldLock& a : locks_->at(left))
      for (const HeldLock& b : locks_->at(right))
        if (a.taken == b.taken) return true;
    return false;
  }

  Result<void> confirm_pairs() {
    for (DecisivePair& pair : why_.decisive) {
      if (pair.visibility) continue;
      for (uint64_t seed = 0; seed < options_.confirmations && !stopped(); ++seed) {
        const FlipVerdict flipped = HEDDLE_TRY(counted(flipper_->flip_and_run_on(pair.flip, seed)));
        if (flipped != FlipVerdict::impossible) ++pair.flipped_runs;
        if (flipped == FlipVerdict::passes) ++pair.flipped_passed;
        const FlipVerdict kept = HEDDLE_TRY(counted(flipper_->keep_and_run_on(pair.second, seed + 1)));
        if (kept != FlipVerdict::impossible) ++pair.kept_runs;
        if (kept == FlipVerdict::fails) ++pair.kept_failed;
      }
    }
    return {};
  }

  Result<FlipVerdict> counted(Result<FlipVerdict> verdict) {
    ++why_.runs;
    return verdict;
  }

  bool stopped() {
    if (flipper_->over()) why_.finished = false;
    return !why_.finished;
  }

  Execution& run_;
  Executor& executor_;
  const CodeNames& names_;
  const WhyOptions& options_;
  std::chrono::steady_clock::time_point deadline_;
  std::optional<RunOrder> order_;
  std::optional<HeldLocks> locks_;
  std::optional<Flipper> flipper_;
  std::optional<Execution> passing_;
  std::set<Key> tried_;
  Why why_;
};

}  // namespace

std::string_view text_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::unknown:
      return "unknown";
    case Pattern::atomicity:
      return "atomicity";
    case Pattern::order:
      return "order";
    case Pattern::deadlock:
      return "deadlock";
    case Pattern::lost_wakeup:
      return "lost-wakeup";
    case Pattern::store_buffer:
      return "store-buffer";
    case Pattern::race:
      return "race";
  }
  return "";
}

Result<Why> explain(Execution& run, Executor& executor, const CodeNames& names, const WhyOptions& options) {
  return Explainer(run, executor, names, options).explain();
}

}  // namespace heddle
