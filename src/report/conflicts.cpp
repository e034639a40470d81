#include "report/conflicts.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "abi/sync_role.h"

namespace heddle {

bool is_access(const heddle_event& event) {
  return event.kind <= HEDDLE_EVENT_call && event.kind != HEDDLE_EVENT_fence && event.size != 0;
}

bool frees(const heddle_event& event) {
  return event.kind == HEDDLE_EVENT_call && event.order == HEDDLE_CALL_frees;
}

bool is_write(const heddle_event& event) {
  if (event.kind == HEDDLE_EVENT_call) return event.order != HEDDLE_CALL_reads;
  return event.kind == HEDDLE_EVENT_write || event.kind == HEDDLE_EVENT_update;
}

bool in_conflict(const heddle_event& left, const heddle_event& right) {
  return is_access(left) && is_access(right) && (is_write(left) || is_write(right)) &&
         left.address < right.address + right.size && right.address < left.address + left.size;
}

namespace {

constexpr uint64_t kWordSize = 8;
constexpr uint64_t kLarge = 512;   // bytes: such accesses are compared one by one
constexpr size_t kNearest = 3;     // of each other thread, before and behind each access
constexpr size_t kMostLarge = 64;  // large accesses looked at

enum class SyncRole : uint8_t { none, section, choice };

// section: order decides who comes first into what is protected. choice: order decides the result, or who
// waits.
SyncRole role_of(const heddle_event& event) {
  const uint32_t sync = sync_of(event);
  if (heddle_sync_locks(sync) || sync == HEDDLE_SYNC_guard_acquire) return SyncRole::section;
  if (heddle_sync_tries(sync) || heddle_sync_unlocks(sync)) return SyncRole::choice;
  switch (sync) {
    case HEDDLE_SYNC_mutex_destroy:
    case HEDDLE_SYNC_cond_wait:
    case HEDDLE_SYNC_cond_timedwait:
    case HEDDLE_SYNC_cond_signal:
    case HEDDLE_SYNC_cond_broadcast:
    case HEDDLE_SYNC_cond_destroy:
    case HEDDLE_SYNC_sem_wait:
    case HEDDLE_SYNC_sem_trywait:
    case HEDDLE_SYNC_sem_timedwait:
    case HEDDLE_SYNC_sem_post:
    case HEDDLE_SYNC_sem_getvalue:
    case HEDDLE_SYNC_once:
    case HEDDLE_SYNC_futex:
    case HEDDLE_SYNC_futex_wait_cxx:
    case HEDDLE_SYNC_futex_notify_cxx:
      return SyncRole::choice;
    default:
      return SyncRole::none;
  }
}

bool unlocks(const heddle_event& event) {
  return heddle_sync_unlocks(sync_of(event)) != 0;
}

bool tries(const heddle_event& event) {
  return heddle_sync_tries(sync_of(event)) != 0;
}

class PairFinder {
 public:
  PairFinder(const RunOrder& order, const HeldLocks& locks) : order_(order), locks_(locks) {}

  std::vector<ConflictPair> find(size_t most) {
    find_accesses();
    find_objects();
    find_cancellations();
    std::vector<ConflictPair> out;
    for (const auto& [events, rank] : pairs_) {
      ConflictPair pair{.first = events.first, .second = events.second, .from = events.first, .rank = rank};
      complete(pair);
      out.push_back(pair);
    }
    std::ranges::sort(out, {}, [](const ConflictPair& pair) {
      return std::tuple(pair.rank, pair.moved, pair.first, pair.second);
    });
    if (out.size() > most) out.resize(most);
    return out;
  }

 private:
  using List = std::vector<size_t>;
  using Rank = ConflictPair::Rank;

  // A loop that looks at the same again and again: its first and last look are enough.
  void collapse(List& list) const {
    List out;
    for (size_t i = 0; i < list.size(); ++i) {
      const auto same = [&](size_t j) {
        const heddle_event &a = order_.event(list[i]), &b = order_.event(list[j]);
        return a.thread == b.thread && a.site == b.site && a.kind == b.kind && a.value == b.value &&
               a.after == b.after && !is_write(a);
      };
      if (i > 0 && i + 1 < list.size() && same(i - 1) && same(i + 1)) continue;
      out.push_back(list[i]);
    }
    list = std::move(out);
  }

  // For each, the nearest of each other thread on both sides.
  void pair_up(const List& list, const auto& matters) {
    for (size_t i = 0; i < list.size(); ++i) {
      std::unordered_map<uint32_t, size_t> seen;
      for (size_t j = i; j-- > 0 && j + 200 > i;) consider(list[j], list[i], seen, list[j], matters);
      seen.clear();
      for (size_t j = i + 1; j < list.size() && j < i + 200; ++j)
        consider(list[i], list[j], seen, list[j], matters);
    }
  }

  void consider(size_t first, size_t second, std::unordered_map<uint32_t, size_t>& seen, size_t other,
                const auto& matters) {
    const heddle_event &a = order_.event(first), &b = order_.event(second);
    if (a.thread == b.thread || order_.is_pending(first)) return;
    const std::optional<Rank> rank = matters(a, b, order_.is_pending(second));
    if (!rank || seen[order_.event(other).thread]++ >= kNearest) return;
    Rank& known = pairs_.try_emplace({first, second}, *rank).first->second;
    known = std::min(known, *rank);
  }

  void find_accesses() {
    std::unordered_map<uint64_t, List> words;
    List large;
    for (size_t i = 0; i < order_.all_events(); ++i) {
      const heddle_event& event = order_.event(i);
      if (!is_access(event)) continue;
      if (event.size > kLarge) {
        large.push_back(i);
        continue;
      }
      for (uint64_t word = event.address / kWordSize; word <= (event.address + event.size - 1) / kWordSize;
           ++word)
        words[word].push_back(i);
    }
    if (large.size() > kMostLarge) large.erase(large.begin(), large.end() - kMostLarge);
    const auto matters = [](const heddle_event& a, const heddle_event& b, bool) -> std::optional<Rank> {
      if (!in_conflict(a, b)) return std::nullopt;
      return Rank::data;
    };
    std::map<uint64_t, List> sorted(std::make_move_iterator(words.begin()),
                                    std::make_move_iterator(words.end()));
    for (auto& [word, list] : sorted) {
      for (const size_t each : large)
        if (const heddle_event& event = order_.event(each);
            event.address / kWordSize <= word && word <= (event.address + event.size - 1) / kWordSize)
          list.insert(std::ranges::lower_bound(list, each), each);
      collapse(list);
      pair_up(list, matters);
    }
  }

  // Not even begun when the run ended: whether the thread comes to it depends on what is flipped.
  bool is_foreseen(size_t event) const {
    if (!order_.is_pending(event)) return false;
    const List& own = order_.events_of(order_.event(event).thread);
    const size_t ordinal = order_.ordinal(event);
    return ordinal > 0 && order_.is_pending(own[ordinal - 1]);
  }

  void find_objects() {
    std::map<uint64_t, List> objects;
    for (size_t i = 0; i < order_.all_events(); ++i) {
      const heddle_event& event = order_.event(i);
      if (role_of(event) == SyncRole::none || is_foreseen(i)) continue;
      objects[event.address].push_back(i);
      // Who waits gives a mutex back, which others may only have tried for.
      if (is_wait(event) && event.second != event.address) objects[event.second].push_back(i);
    }
    const auto matters = [](const heddle_event& a, const heddle_event& b, bool pending) -> std::optional<Rank> {
      // That a lock was given back before it was taken cannot be otherwise, unless somebody only tried.
      if (unlocks(a) && unlocks(b)) return std::nullopt;
      if ((unlocks(a) || unlocks(b)) && !tries(a) && !tries(b)) return std::nullopt;
      const bool section = role_of(a) == SyncRole::section && role_of(b) == SyncRole::section;
      // Who waits for a lock for ever says more than what the lock protects.
      return !section ? Rank::choice : pending ? Rank::data : Rank::section;
    };
    for (auto& [object, list] : objects) pair_up(list, matters);
  }

  // A request to cancel, and what its thread does where it may end.
  void find_cancellations() {
    for (size_t i = 0; i < order_.event_count(); ++i) {
      if (sync_of(order_.event(i)) != HEDDLE_SYNC_thread_cancel) continue;
      const auto thread = static_cast<uint32_t>(order_.event(i).second);
      if (thread >= order_.run().schedule.threads.size()) continue;
      for (const size_t each : order_.events_of(thread))
        if (sync_of(order_.event(each)) == HEDDLE_SYNC_thread_testcancel)
          pairs_.try_emplace(each < i ? std::pair(each, i) : std::pair(i, each), Rank::choice);
    }
  }

  // Where the first thread must stop: before the outermost lock that it holds there and the other one needs.
  void complete(ConflictPair& pair) const {
    const uint32_t first_thread = order_.event(pair.first).thread,
                   second_thread = order_.event(pair.second).thread;
    const List& others = order_.events_of(second_thread);
    const size_t last = order_.ordinal(pair.second);
    for (bool changed = true; changed;) {
      changed = false;
      for (const HeldLock& lock : locks_.at(pair.from)) {
        bool needed = false;
        for (size_t i = last + 1; i-- > 0 && others[i] > lock.taken && !needed;)
          needed =
              HeldLocks::taken_by(order_.event(others[i])) == lock.object && !tries(order_.event(others[i]));
        if (needed && lock.taken < pair.from) {
          pair.from = lock.taken;
          changed = true;
        }
      }
    }
    const auto between = [&](uint32_t thread) {
      const List& list = order_.events_of(thread);
      return static_cast<uint64_t>(std::ranges::upper_bound(list, pair.second) -
                                   std::ranges::lower_bound(list, pair.from));
    };
    pair.moved = between(first_thread) + between(second_thread);
  }

  const RunOrder& order_;
  const HeldLocks& locks_;
  std::map<std::pair<size_t, size_t>, Rank> pairs_;
};

}  // namespace

std::vector<ConflictPair> conflict_pairs(const RunOrder& order, const HeldLocks& locks, size_t most) {
  return PairFinder(order, locks).find(most);
}

}  // namespace heddle
