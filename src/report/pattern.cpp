#include "report/pattern.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "abi/sync_kind.h"
#include "base/library_file.h"

namespace heddle {
namespace {

class Namer {
 public:
  Namer(const RunOrder& order, const HeldLocks& locks, const CodeNames& names, Why& why)
      : order_(order), locks_(locks), names_(names), why_(why) {}

  void name() {
    find_local_events();
    put_unit_first();
    find_protection();
    why_.pattern = pattern();
  }

 private:
  const Failure& failure() const { return *order_.run().failure; }
  uint32_t thread(size_t event) const { return order_.event(event).thread; }

  Pattern pattern() const {
    if (std::ranges::any_of(why_.decisive, &DecisivePair::visibility)) return Pattern::store_buffer;
    if (stands_in_a_circle()) return Pattern::deadlock;
    // The runtime calls it so when a signal came before the wait; otherwise a decisive pair says so.
    const bool about_signal =
        failure().kind == "lost-wakeup" || std::ranges::any_of(why_.decisive, [&](const DecisivePair& pair) {
          return is_signal_and_wait(order_.event(pair.first), order_.event(pair.second));
        });
    if (!failure().waits.empty() && about_signal) return Pattern::lost_wakeup;
    if (why_.decisive.empty()) return Pattern::unknown;
    if (why_.local_first == kNoEvent) return Pattern::order;
    return is_plain_race() ? Pattern::race : Pattern::atomicity;
  }

  static bool is_signal_and_wait(const heddle_event& first, const heddle_event& second) {
    const auto waits = [](const heddle_event& event) {
      const uint32_t sync = sync_of(event);
      return is_wait(event) || sync == HEDDLE_SYNC_futex || sync == HEDDLE_SYNC_futex_wait_cxx;
    };
    const auto signals = [](const heddle_event& event) {
      const uint32_t sync = sync_of(event);
      return sync == HEDDLE_SYNC_cond_signal || sync == HEDDLE_SYNC_cond_broadcast ||
             sync == HEDDLE_SYNC_futex || sync == HEDDLE_SYNC_futex_notify_cxx;
    };
    return (signals(first) && waits(second)) || (waits(first) && signals(second));
  }

  // The data has no protection at all, and what was interrupted is no unit that the program spells out: one
  // statement, code of a library, or a thread that comes back to what it has written.
  bool is_plain_race() const {
    if (!why_.unprotected) return false;
    const heddle_event &first = order_.event(why_.local_first), &second = order_.event(why_.local_second);
    const auto from = names_.place_of_site(first.site), to = names_.place_of_site(second.site);
    if (from && to && from->file == to->file && from->line == to->line) return true;
    if (from && to && is_library_file(from->file) && is_library_file(to->file)) return true;
    return first.kind == HEDDLE_EVENT_write && second.kind == HEDDLE_EVENT_read &&
           first.address == second.address;
  }

  // Each of some threads waits for the next one.
  bool stands_in_a_circle() const {
    const auto& waits = failure().waits;
    for (const WaitingThread& begin : waits) {
      std::set<ThreadName> seen;
      const WaitingThread* at = &begin;
      while (at != nullptr && holder_of(*at)) {
        if (!seen.insert(at->thread).second) return true;
        const auto next = std::ranges::find(waits, *holder_of(*at), &WaitingThread::thread);
        at = next == waits.end() ? nullptr : &*next;
      }
      // It waits for a signal and keeps a lock from those who could give it.
      if (at != nullptr && at != &begin && !begin.kind.starts_with("thread_")) return true;
    }
    return false;
  }

  // Of a semaphore: who has taken it and has not given it back since.
  std::optional<ThreadName> holder_of(const WaitingThread& wait) const {
    if (wait.holder || !wait.kind.starts_with("sem_")) return wait.holder;
    const auto waiter = order_.run().schedule.find(wait.thread);
    if (!waiter || order_.events_of(waiter->value).empty()) return std::nullopt;
    uint64_t object = 0;
    for (const size_t each : order_.events_of(waiter->value))
      if (order_.is_pending(each)) {
        object = order_.event(each).address;
        break;
      }
    std::map<uint32_t, int> taken;
    for (size_t i = 0; i < order_.event_count(); ++i) {
      const heddle_event& event = order_.event(i);
      if (event.address != object) continue;
      const uint32_t sync = sync_of(event);
      if (sync == HEDDLE_SYNC_sem_post) --taken[event.thread];
      if (sync == HEDDLE_SYNC_sem_wait || (sync == HEDDLE_SYNC_sem_trywait && event.after == 0))
        ++taken[event.thread];
    }
    for (const auto& [thread, count] : taken)
      if (count > 0 && thread != waiter->value) return order_.run().schedule.threads[thread].name;
    return std::nullopt;
  }

  // Two pairs in opposite directions between two threads: what one of them did in between was not to be
  // interrupted. Where there are several: a read and the write that follows from it; then accesses that nothing
  // protects, since what a lock or an atomic operation orders is often only who took which part of the work;
  // one with all of the remote part between; one with a single remote event or the order there; the shortest.
  void find_local_events() {
    using Rank = std::tuple<bool, bool, bool, bool, size_t>;
    Rank best;
    bool atomics_only = false;
    for (const DecisivePair& there : why_.decisive)
      for (const DecisivePair& back : why_.decisive) {
        if (thread(there.first) != thread(back.second) || thread(there.second) != thread(back.first)) continue;
        if (there.first >= back.second) continue;
        const bool encloses = there.first < back.first && there.second < back.second;
        const bool is_update = loses_update(there, back);
        const Rank rank{!is_update, !is_unprotected(there) && !is_unprotected(back), !is_update && !encloses,
                        !is_update && there.second > back.first, back.second - there.first};
        if (why_.local_first != kNoEvent && rank >= best) continue;
        best = rank;
        why_.local_first = there.first;
        why_.local_second = back.second;
        atomics_only = !is_update && are_atomics(there) && are_atomics(back);
      }
    // Of atomic operations in whose order plain data meets, the data says more.
    if (atomics_only &&
        std::ranges::any_of(why_.decisive, [&](const DecisivePair& pair) { return is_unprotected(pair); }))
      why_.local_first = why_.local_second = kNoEvent;
  }

  // One thread reads something and then writes it; another one writes it in between.
  bool loses_update(const DecisivePair& there, const DecisivePair& back) const {
    const heddle_event &read = order_.event(there.first), &write = order_.event(back.second);
    return is_access(read) && is_access(write) && !is_write(read) && is_write(write) && !frees(write) &&
           read.address == write.address && read.size == write.size && there.second < back.second &&
           !there.visibility && !back.visibility;
  }

  // Behind it, what nothing protects before the rest.
  void put_unit_first() {
    std::vector<DecisivePair> sorted;
    for (const bool of_unit : {true, false})
      for (const bool unprotected : {true, false})
        std::ranges::copy_if(why_.decisive, std::back_inserter(sorted), [&](const DecisivePair& pair) {
          return is_of_unit(pair) == of_unit && is_unprotected(pair) == unprotected;
        });
    why_.decisive = std::move(sorted);
  }

  bool is_of_unit(const DecisivePair& pair) const {
    return why_.local_first != kNoEvent && (pair.first == why_.local_first || pair.second == why_.local_second);
  }

  // Of the pairs that the pattern is made of: those of the unit, or else all.
  void find_protection() {
    why_.unprotected = !why_.decisive.empty();
    for (const DecisivePair& pair : why_.decisive)
      if ((why_.local_first == kNoEvent || is_of_unit(pair)) && !is_unprotected(pair)) why_.unprotected = false;
  }

  // Plain accesses without a lock in common.
  bool is_unprotected(const DecisivePair& pair) const {
    const auto plain = [](const heddle_event& event) {
      return is_access(event) && (event.kind == HEDDLE_EVENT_call || event.order == HEDDLE_ORDER_plain);
    };
    return !pair.visibility && plain(order_.event(pair.first)) && plain(order_.event(pair.second)) &&
           !have_common_lock(pair);
  }

  bool are_atomics(const DecisivePair& pair) const {
    const auto atomic = [](const heddle_event& event) {
      return is_access(event) && event.kind != HEDDLE_EVENT_call && event.order != HEDDLE_ORDER_plain;
    };
    return atomic(order_.event(pair.first)) && atomic(order_.event(pair.second)) && !have_common_lock(pair);
  }

  bool have_common_lock(const DecisivePair& pair) const {
    const std::vector<HeldLock> left = locks_.at(pair.first), right = locks_.at(pair.second);
    return std::ranges::any_of(left, [&](const HeldLock& lock) {
      return std::ranges::find(right, lock.object, &HeldLock::object) != right.end();
    });
  }

  const RunOrder& order_;
  const HeldLocks& locks_;
  const CodeNames& names_;
  Why& why_;
};

}  // namespace

void name_pattern(const RunOrder& order, const HeldLocks& locks, const CodeNames& names, Why& why) {
  Namer(order, locks, names, why).name();
}

}  // namespace heddle
