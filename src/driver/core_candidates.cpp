#include "driver/core_candidates.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "driver/event_conflict.h"
#include "driver/locks_of_run.h"

namespace heddle {
namespace {

constexpr uint64_t kMostWords = 512;  // of one event: what large copies touch behind is not looked at

bool is_timed(const heddle_event& event) {
  const uint32_t kind = is_sync(event) ? event.kind - HEDDLE_EVENT_sync : 0;
  return kind == HEDDLE_SYNC_cond_timedwait || kind == HEDDLE_SYNC_cond_wait_cxx;
}

// Events that creating and joining threads puts in an order: no preemption changes it.
class ForkJoinOrder {
 public:
  ForkJoinOrder(const std::vector<heddle_event>& events, const std::vector<heddle_thread_entry>& threads)
      : born_(threads.size()) {
    clocks_.emplace_back(threads.size());
    std::vector<size_t> now(threads.size());  // in clocks_
    std::vector<uint32_t> children(threads.size());
    std::vector<uint64_t> own(threads.size());
    for (const heddle_event& event : events) {
      const uint32_t thread = event.thread, kind = is_sync(event) ? event.kind - HEDDLE_EVENT_sync : 0;
      at_.push_back({thread, ++own[thread], now[thread]});
      if (kind == HEDDLE_SYNC_thread_create || kind == HEDDLE_SYNC_thread_start_cxx) {
        for (size_t child = 1; child < threads.size(); ++child)
          if (threads[child].creator == thread && threads[child].child == children[thread]) {
            clocks_.push_back(clocks_[now[thread]]);
            clocks_.back()[thread] = own[thread];
            now[child] = born_[child] = clocks_.size() - 1;
          }
        ++children[thread];
      }
      if ((kind == HEDDLE_SYNC_thread_join || kind == HEDDLE_SYNC_thread_join_cxx) && event.after == 0 &&
          event.second < threads.size()) {
        clocks_.push_back(clocks_[now[thread]]);
        for (size_t i = 0; i < threads.size(); ++i)
          clocks_.back()[i] = std::max(clocks_.back()[i], clocks_[now[event.second]][i]);
        clocks_.back()[event.second] = own[event.second];
        now[thread] = clocks_.size() - 1;
      }
    }
  }

  bool before(size_t event, size_t other) const { return knows(clocks_[at_[other].clock], event); }
  // Before all that the thread does.
  bool before_thread(size_t event, uint32_t thread) const { return knows(clocks_[born_[thread]], event); }

 private:
  using Clock = std::vector<uint64_t>;  // by thread: how many events of others are over, as far as it is told
  struct Event {
    uint32_t thread;
    uint64_t number;  // among the thread's own, from 1
    size_t clock;
  };
  bool knows(const Clock& clock, size_t event) const { return clock[at_[event].thread] >= at_[event].number; }

  std::vector<Event> at_;
  std::vector<Clock> clocks_;  // a new one where it changes
  std::vector<size_t> born_;
};

struct WordAccess {
  size_t event;
  uint32_t thread;
  bool read, write;
  uint8_t bytes;  // of the word, by bits
};

// By thread and byte of a word: an access. Of several at one byte the last that was put there.
class ByByte {
 public:
  using Each = std::array<const WordAccess*, 8>;

  void put(const WordAccess& access) {
    Each& each = threads_.try_emplace(access.thread, Each{}).first->second;
    for (size_t i = 0; i < each.size(); ++i)
      if ((access.bytes >> i & 1) != 0) each[i] = &access;
  }
  // The one next to the given access among those of the thread that share a byte with it; null: none.
  static const WordAccess* nearest(const Each& each, const WordAccess& to) {
    const auto distance = [&](const WordAccess* access) {
      return access->event > to.event ? access->event - to.event : to.event - access->event;
    };
    const WordAccess* best = nullptr;
    for (size_t i = 0; i < each.size(); ++i)
      if ((to.bytes >> i & 1) != 0 && each[i] != nullptr &&
          (best == nullptr || distance(each[i]) < distance(best)))
        best = each[i];
    return best;
  }
  const WordAccess* nearest(uint32_t thread, const WordAccess& to) const {
    const auto found = threads_.find(thread);
    return found != threads_.end() ? nearest(found->second, to) : nullptr;
  }
  const std::map<uint32_t, Each>& threads() const { return threads_; }

 private:
  std::map<uint32_t, Each> threads_;
};

// The likelier, the smaller; multiplied by the rank among its like.
constexpr uint64_t kDecidedViolation = 2, kDecided = 4, kExplainedViolation = 2, kCriticalViolation = 4,
                   kExplained = 4, kCritical = 8, kViolation = 20, kConflict = 40, kSync = 48, kPosition = 3,
                   kChoice = 8, kRest = 64, kBehind = 4;

class Finder {
 public:
  explicit Finder(const CandidateRun& run)
      : run_(run),
        events_(run.events),
        held_(events_, run.threads.size()),
        order_(events_, run.threads),
        begins_(run.threads.size(), events_.size()),
        met_(run.threads.size(), events_.size()) {
    for (size_t i = events_.size(); i-- > 0;) {
      begins_[events_[i].thread] = i;
      met_[events_[i].thread] = 0;
    }
    if (run.pending != nullptr)
      for (const heddle_event& left : *run.pending) met_[left.thread] = events_.size();
  }

  std::vector<CoreCandidate> find() {
    collect();
    for (const auto& [word, accesses] : words_) look_at_word(word, accesses);
    for (const auto& [object, used] : objects_) look_at_object(object, used);
    look_at_positions();
    look_at_choices();
    look_at_pending();
    return ranked();
  }

 private:
  struct Key {
    size_t event;
    uint32_t next;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  static constexpr uint64_t kNothing = 0;
  struct Awaited {
    uint64_t address = kNothing;
    bool writes = false;
  };
  struct Found {
    uint64_t factor = UINT64_MAX;
    Awaited awaited;
    uint32_t awaited_of = 0;
    uint64_t awaited_factor = UINT64_MAX;
  };

  void collect() {
    std::unordered_map<uint64_t, std::pair<uint32_t, bool>> threads;  // by word: the thread, several
    const auto each_word = [&](const heddle_event& event, auto visit) {
      const uint64_t first = event.address / 8,
                     last = (event.address + std::max<uint64_t>(event.size, 1) - 1) / 8;
      for (uint64_t word = first; word <= last && word - first < kMostWords; ++word) visit(word);
    };
    for (const heddle_event& event : events_)
      if (!is_sync(event) && event.address != 0 && !frees(event))
        each_word(event, [&](uint64_t word) {
          const auto [found, fresh] = threads.try_emplace(word, event.thread, false);
          if (found->second.first != event.thread) found->second.second = true;
        });
    for (const CriticalVariable& variable : run_.critical) {
      const uint64_t begin = variable.difference.address,
                     size = std::max<uint64_t>(variable.difference.size, 1);
      if (variable.sync)
        critical_objects_[begin].push_back(&variable);
      else
        for (uint64_t word = begin / 8; word <= (begin + size - 1) / 8; ++word)
          critical_words_[word].push_back(&variable);
    }
    for (size_t i = 0; i < events_.size(); ++i) {
      const heddle_event& event = events_[i];
      if (event.address == 0) continue;
      if (is_sync(event)) {
        if (role_of(event) != SyncRole::none) objects_[event.address].push_back(i);
        continue;
      }
      each_word(event, [&](uint64_t word) {
        const auto found = threads.find(word);
        if (found == threads.end()) return;
        if (!found->second.second && !(frees(event) && found->second.first != event.thread) &&
            !freed_.contains(word) && !critical_words_.contains(word))
          return;
        words_[word].push_back(
            {i, event.thread, reads(event), writes(event), bytes_of(event.address, event.size, word)});
      });
    }
    // A block that one thread uses and another frees: seen only now.
    if (!freed_.empty()) return;
    for (const heddle_event& event : events_)
      if (frees(event))
        each_word(event, [&](uint64_t word) {
          const auto found = threads.find(word);
          if (found != threads.end() && found->second.first != event.thread) freed_.insert(word);
        });
    if (freed_.empty()) return;
    words_.clear();
    objects_.clear();
    critical_words_.clear();
    critical_objects_.clear();
    collect();
  }

  static uint8_t bytes_of(uint64_t address, uint64_t size, uint64_t word) {
    uint8_t bytes = 0;
    for (uint64_t i = 0; i < 8; ++i) {
      const uint64_t at = word * 8 + i;
      if (at >= address && at - address < std::max<uint64_t>(size, 1)) bytes |= static_cast<uint8_t>(1u << i);
    }
    return bytes;
  }

  // The first access behind an event by each other thread that conflicts with it.
  void look_at_word(uint64_t word, const std::vector<WordAccess>& accesses) {
    if (std::ranges::none_of(accesses, [](const WordAccess& access) { return access.write; })) return;
    ByByte last, next_write, next_read;
    std::vector<const WordAccess*> before(accesses.size(), nullptr);
    for (size_t i = 0; i < accesses.size(); ++i) {
      before[i] = last.nearest(accesses[i].thread, accesses[i]);
      last.put(accesses[i]);
    }
    const bool alone = std::ranges::all_of(
        accesses, [&](const WordAccess& access) { return access.thread == accesses[0].thread; });
    // Backwards: what comes next is known then.
    for (size_t i = accesses.size(); i-- > 0;) {
      const WordAccess& access = accesses[i];
      const auto meet = [&](const ByByte& others) {
        for (const auto& [thread, each] : others.threads())
          if (const WordAccess* other = thread != access.thread ? ByByte::nearest(each, access) : nullptr)
            add_access(word, access, before[i], *other);
      };
      meet(next_write);
      if (access.write) meet(next_read);
      if (is_critical(word, access, alone)) meet_twins(access, before[i], next_write);
      if (access.write) next_write.put(access);
      if (access.read) next_read.put(access);
    }
  }

  // A thread of the same kind that writes nothing there any more in this run may do what this one does, if it
  // comes before: under the same locks, or without those that it only tries to take.
  void meet_twins(const WordAccess& access, const WordAccess* before, const ByByte& writers) {
    for (uint32_t other = 1; other < run_.threads.size(); ++other) {
      if (other == access.thread || run_.threads[other].start != run_.threads[access.thread].start ||
          writers.nearest(other, access) != nullptr)
        continue;
      size_t at = access.event;
      bool tries = false;
      for (const auto& [lock, taken] : held_.at(access.event)) {
        at = std::min(at, taken);
        tries |= role_of(events_[taken]) == SyncRole::tries;
      }
      const auto meet_at = [&](size_t event) {
        const bool violation = before != nullptr && before->event < event;
        add(event, other, violation ? 2 * kCriticalViolation : 2 * kCritical, awaited(access.event));
        concerns(event, other, access.event, access.event);
      };
      if (tries) meet_at(access.event);
      meet_at(at);
    }
  }

  static bool cannot_be_serial(const WordAccess& first, const WordAccess& other, const WordAccess& second) {
    if (other.write)
      return (first.read && !first.write) || (second.read && !second.write) || (first.read && second.write);
    return first.write && second.write;
  }

  // `alone`: nobody else accesses the word, so what the failing thread has in variables of its own is not
  // meant.
  bool is_critical(uint64_t word, const WordAccess& access, bool alone = false) const {
    const auto found = critical_words_.find(word);
    return found != critical_words_.end() &&
           std::ranges::any_of(found->second, [&](const CriticalVariable* variable) {
             const MemoryDifference& difference = variable->difference;
             return (bytes_of(difference.address, difference.size, word) & access.bytes) != 0 &&
                    !(alone && difference.own);
           });
  }

  // The value in the core is what one of the two writes.
  bool explains(const WordAccess& access, const CriticalVariable& variable) const {
    if (!access.write) return false;
    const heddle_event& event = events_[access.event];
    const MemoryDifference& difference = variable.difference;
    if (event.address != difference.address || event.size > 8 || event.size == 0) return false;
    const uint64_t mask = event.size >= 8 ? ~uint64_t{0} : (uint64_t{1} << event.size * 8) - 1;
    const uint64_t written = event.kind == HEDDLE_EVENT_update ? event.after : event.value;
    return (written & mask) == (difference.failing & mask);
  }

  // Where a lock keeps the two apart, the other one must come before the lock is taken; unless it only tries to
  // take it, and may go on without, or waits and has given it back: its time may end.
  template <typename Add>
  void at_preemptions(size_t event, size_t other, Add add_at) {
    if (order_.before(event, other)) return;
    size_t& met = met_[events_[other].thread];
    met = std::max(met, event);
    size_t at = event;
    bool tries = is_timed(events_[other]);
    for (const auto& [lock, taken] : held_.at(event))
      for (const auto& [theirs, taken_there] : held_.at(other))
        if (lock == theirs) {
          at = std::min(at, taken);
          tries |= role_of(events_[taken_there]) == SyncRole::tries;
        }
    if (tries && at != event) add_at(event);
    add_at(at);
  }

  void add_access(uint64_t word, const WordAccess& access, const WordAccess* before, const WordAccess& other) {
    at_preemptions(access.event, other.event,
                   [&](size_t at) { add_conflict(word, access, before, other, at); });
  }

  void add_conflict(uint64_t word, const WordAccess& access, const WordAccess* before, const WordAccess& other,
                    size_t at) {
    const bool violation = before != nullptr && before->event < at && cannot_be_serial(*before, other, access);
    uint64_t factor = violation ? kViolation : kConflict;
    if (is_critical(word, access)) {
      const bool explained =
          std::ranges::any_of(critical_words_.at(word), [&](const CriticalVariable* variable) {
            return explains(access, *variable) || explains(other, *variable);
          });
      factor = violation ? (explained ? kExplainedViolation : kCriticalViolation)
                         : (explained ? kExplained : kCritical);
    }
    if (decides(access, other) || decides(other, access)) {
      factor = std::min(factor, violation ? kDecidedViolation : kDecided);
      const uint32_t following = thread_behind(at);
      if (following != other.thread) {
        add(at, following, factor, awaited(other.event), other.thread);
        concerns(at, following, access.event, other.event);
      }
    }
    add(at, other.thread, factor, awaited(other.event));
    concerns(at, other.thread, access.event, other.event);
  }

  Awaited awaited(size_t event) const { return {events_[event].address, writes(events_[event])}; }

  // Who goes on in the run when the thread that performs the event does not any more.
  uint32_t thread_behind(size_t event) const {
    const auto behind =
        std::find_if(events_.begin() + static_cast<ptrdiff_t>(event), events_.end(),
                     [&](const heddle_event& other) { return other.thread != events_[event].thread; });
    return behind != events_.end() ? behind->thread : events_[event].thread;
  }

  bool decides(const WordAccess& read, const WordAccess& write) const {
    return run_.deciding != nullptr && read.read && write.write && run_.deciding->contains(read.event);
  }

  // A candidate is as near in the slice as the nearest access whose order it changes.
  void concerns(size_t event, uint32_t next, size_t one, size_t other) {
    if (run_.dependence == nullptr) return;
    const uint64_t nearest = std::min((*run_.dependence)[one], (*run_.dependence)[other]);
    const auto [found, fresh] = nearest_.try_emplace({event, next}, nearest);
    if (!fresh) found->second = std::min(found->second, nearest);
  }

  void look_at_object(uint64_t object, const std::vector<size_t>& used) {
    const bool critical = critical_objects_.contains(object);
    std::map<std::pair<uint32_t, SyncRole>, size_t> next;
    for (size_t i = used.size(); i-- > 0;) {
      const size_t event = used[i];
      const SyncRole role = role_of(events_[event]);
      for (const auto& [who, other] : next)
        if (who.first != events_[event].thread && roles_conflict(role, who.second))
          at_preemptions(event, other,
                         [&](size_t at) { add(at, who.first, critical ? kCritical : kSync, {object, false}); });
      next[{events_[event].thread, role}] = event;
    }
  }

  // A thread that the core has in the middle of something was stopped about there: in favour of the failing
  // one, or of another.
  void look_at_positions() {
    if (run_.positions == nullptr) return;
    const std::vector<CorePosition>& positions = *run_.positions;
    std::vector<uint64_t> seen(positions.size());
    for (size_t i = 0; i < events_.size(); ++i) {
      const uint32_t thread = events_[i].thread;
      if (thread >= positions.size()) continue;
      const CorePosition& position = positions[thread];
      if (seen[thread]++ != position.events || position.kind != CorePosition::Kind::midway ||
          position.guessed || thread == 0)
        continue;
      for (uint32_t next = 0; next < positions.size(); ++next) {
        if (next == thread) continue;
        const bool failing = next == run_.failing;
        if (failing || (positions[next].kind == CorePosition::Kind::midway && !positions[next].guessed))
          note({i, next}, failing ? kPosition : 2 * kPosition, {}, next);
      }
    }
  }

  // Where a thread goes on because another one waits or has ended, a third one may instead: that is no
  // preemption.
  void look_at_choices() {
    for (size_t i = 1; i < events_.size(); ++i) {
      if (events_[i].thread == events_[i - 1].thread) continue;
      for (uint32_t next = 0; next < run_.threads.size(); ++next)
        if (next != events_[i].thread && next != events_[i - 1].thread) add(i, next, kChoice, {});
    }
  }

  // Who was left when the process ended: behind the last access of another thread that conflicts with what it
  // would have done next.
  void look_at_pending() {
    if (run_.pending == nullptr) return;
    for (const heddle_event& left : *run_.pending) {
      if (is_sync(left) || left.address == 0) continue;
      const auto meets = [&](const heddle_event& event) {
        return event.thread != left.thread && !is_sync(event) && (writes(event) || writes(left)) &&
               event.address < left.address + std::max<uint64_t>(left.size, 1) &&
               left.address < event.address + std::max<uint64_t>(event.size, 1);
      };
      const auto last = std::find_if(events_.rbegin(), events_.rend(), meets);
      if (last == events_.rend()) continue;
      const auto behind = std::find_if(last.base(), events_.end(),
                                       [&](const heddle_event& event) { return event.thread == last->thread; });
      if (behind == events_.end()) continue;
      const auto event = static_cast<size_t>(last.base() - events_.begin()) - 1;
      const auto critical = critical_words_.find(left.address / 8);
      const bool explained =
          critical != critical_words_.end() &&
          std::ranges::any_of(critical->second, [&](const CriticalVariable* variable) {
            return explains({event, last->thread, reads(*last), writes(*last), 0}, *variable);
          });
      add(static_cast<size_t>(behind - events_.begin()), left.thread,
          explained                           ? kExplained
          : critical != critical_words_.end() ? kCritical
                                              : kConflict,
          {});
    }
  }

  void add(size_t event, uint32_t next, uint64_t factor, Awaited awaited) {
    add(event, next, factor, awaited, next);
  }
  void add(size_t event, uint32_t next, uint64_t factor, Awaited awaited, uint32_t awaited_of) {
    if (event < run_.from || order_.before_thread(event, next)) return;
    if (event >= run_.aligned) factor *= kBehind;
    note({event, next}, factor, awaited, awaited_of);
  }

  // Of several reasons the likeliest one says what is awaited, if it awaits anything.
  void note(const Key& key, uint64_t factor, Awaited awaited, uint32_t awaited_of) {
    Found& found = found_.try_emplace(key).first->second;
    found.factor = std::min(found.factor, factor);
    if (awaited.address == kNothing || factor >= found.awaited_factor) return;
    found.awaited = awaited;
    found.awaited_of = awaited_of;
    found.awaited_factor = factor;
  }

  // Another thread of the same kind, which is to do the same, stands for this one: neither has begun.
  bool has_twin(const Key& key, const Found& found) const {
    for (uint32_t other = 1; other < key.next; ++other) {
      if (other == events_[key.event].thread || run_.threads[other].start != run_.threads[key.next].start ||
          begins_[other] < key.event || begins_[key.next] < key.event)
        continue;
      const auto twin = found_.find({key.event, other});
      if (twin != found_.end() && twin->second.factor <= found.factor) return true;
    }
    return false;
  }

  // What a thread does behind its last conflict with others it does all the same when it comes earlier.
  bool changes_something(const Key& key, const Found& found) const {
    const bool for_another = found.awaited.address != kNothing && found.awaited_of != key.next;
    return for_another || met_[key.next] >= key.event;
  }

  // Among alike ones the last before the aligned point comes first; of those behind it the first.
  std::vector<CoreCandidate> ranked() const {
    std::map<uint64_t, std::vector<Key>> alike;
    for (const auto& [key, found] : found_)
      if (changes_something(key, found)) alike[found.factor * (has_twin(key, found) ? 2 : 1)].push_back(key);
    std::vector<CoreCandidate> out;
    for (auto& [factor, keys] : alike) {
      std::ranges::sort(keys, {}, [&](const Key& key) {
        return std::tuple(in_slice(key), distance(key), key.event, key.next);
      });
      uint64_t rank = 0;
      for (const Key& key : keys)
        out.push_back({.event = key.event,
                       .thread = events_[key.event].thread,
                       .next = key.next,
                       .weight = ++rank * factor,
                       .awaited = found_.at(key).awaited.address,
                       .awaited_of = found_.at(key).awaited_of,
                       .awaited_writes = found_.at(key).awaited.writes});
    }
    std::ranges::sort(out, {}, [](const CoreCandidate& c) { return std::tuple(c.weight, c.event, c.next); });
    if (out.size() > run_.most) out.resize(run_.most);
    return out;
  }

  uint64_t in_slice(const Key& key) const {
    if (run_.dependence == nullptr) return 0;
    const auto found = nearest_.find(key);
    return found != nearest_.end() ? found->second : UINT32_MAX;
  }

  uint64_t distance(const Key& key) const {
    return key.event < run_.aligned ? run_.aligned - key.event : key.event - run_.aligned;
  }

  const CandidateRun& run_;
  const std::vector<heddle_event>& events_;
  const LocksOfRun held_;
  const ForkJoinOrder order_;
  std::vector<size_t> begins_;  // first event by thread
  std::vector<size_t> met_;  // by thread: the last event of others that one of its own behind it conflicts with
  std::map<uint64_t, std::vector<WordAccess>> words_;  // those that several threads use
  std::map<uint64_t, std::vector<size_t>> objects_;
  std::set<uint64_t> freed_;
  std::unordered_map<uint64_t, std::vector<const CriticalVariable*>> critical_words_, critical_objects_;
  std::map<Key, Found> found_;
  std::map<Key, uint64_t> nearest_;  // in the slice
};

}  // namespace

std::vector<CoreCandidate> core_candidates(const CandidateRun& run) {
  return Finder(run).find();
}

std::vector<CoreCandidate> candidates_in_order(const CandidateRun& run) {
  std::vector<CoreCandidate> out;
  for (size_t i = run.from; i < run.events.size() && out.size() < run.most; ++i)
    for (uint32_t next = 0; next < run.threads.size(); ++next)
      if (next != run.events[i].thread)
        out.push_back({.event = i, .thread = run.events[i].thread, .next = next, .weight = out.size()});
  return out;
}

}  // namespace heddle
