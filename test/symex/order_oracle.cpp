// The order oracle: a trace, made from the recording alone, evaluated under the order in which its events
// really happened, must give the values that really were read and written; all its constraints must hold, and
// the run must fail as it did.
//
//   order_oracle RECORDING [--verbose]
//
// The recording was made by the variant record-order, which writes down every access beside each log
// (abi/order.h). Between accesses, synchronisation stands where its clock stamps say; what a stamp leaves open
// (an event that waits is stamped when it came back) is decided by what is possible: what lets others go on
// comes as early as it can, what waits for others as late as it can. A release is done somewhere between the
// beginning and the end of its call: it comes later where a failed try shows that it was not done yet.
//
// Races do not make the order doubtful: the runtime of that variant lets one thread at a time do an access,
// from its hook to the next hook, so what is logged as the order of two accesses is their order, and a value
// that was read is that of the last write before. What a thread does that kept the others waiting for too long
// is marked
// (`lost`), and its values are not compared. Accesses of a thread's own memory have no hook, and no entry; they
// are events only where addresses are used again, and stand between their neighbours.
//
// Of a recording with --sync-order, whose stamps are no times, only this is checked: that the accesses came in
// the order that the stamps say.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include "abi/control.h"
#include "abi/order.h"
#include "base/files.h"
#include "driver/recorded_trace.h"
#include "recording/recording_info.h"
#include "trace/execution.h"
#include "trace/trace_check.h"
#include "trace/trace_text.h"

namespace heddle {
namespace {

enum class Access { read, write, update, fence };

// Ticks by which a processor may read its clock too early or too late beside other instructions.
constexpr uint64_t kTogether = 64;

// By instruction, what it does, and how often the thread had done so.
using Key = std::tuple<uint32_t, Access, uint64_t>;
using HappenedAccesses = std::map<Key, heddle_order_entry>;

Result<HappenedAccesses> read_accesses(const fs::path& file) {
  HappenedAccesses out;
  if (!fs::exists(file)) return out;
  const std::string bytes = HEDDLE_TRY(read_file(file));
  std::map<std::pair<uint32_t, Access>, uint64_t> counts;
  for (size_t at = 0; at + sizeof(heddle_order_entry) <= bytes.size(); at += sizeof(heddle_order_entry)) {
    heddle_order_entry entry;
    std::memcpy(&entry, bytes.data() + at, sizeof entry);
    if (entry.tsc == 0) break;
    const auto add = [&](Access access) { out[{entry.site, access, ++counts[{entry.site, access}]}] = entry; };
    switch (entry.kind) {
      case HEDDLE_EVENT_read:
        add(Access::read);
        break;
      case HEDDLE_EVENT_write:
        add(Access::write);
        break;
      case HEDDLE_EVENT_update:
        add(Access::update);
        break;
      case HEDDLE_EVENT_fence:
        add(Access::fence);
        break;
      default:
        add(Access::read);
        add(Access::write);
    }
  }
  return out;
}

std::optional<Access> access_of(EventKind kind) {
  switch (kind) {
    case EventKind::read:
      return Access::read;
    case EventKind::write:
      return Access::write;
    case EventKind::update:
      return Access::update;
    case EventKind::fence:
      return Access::fence;
    default:
      return std::nullopt;
  }
}

bool is_failed_try(EventKind kind) {
  return kind == EventKind::lock_failed || kind == EventKind::read_lock_failed ||
         kind == EventKind::write_lock_failed || kind == EventKind::semaphore_failed;
}

class Oracle {
 public:
  Oracle(const Trace& trace, std::vector<HappenedAccesses> accesses)
      : trace_(trace), accesses_(std::move(accesses)) {
    for (uint32_t t = 0; t < trace.threads.size(); ++t) {
      ends_.push_back(end_of(t));
      std::vector<uint64_t>& times = times_.emplace_back(trace.threads[t].events.size());
      // What waits for others is as late as it can be: it has happened when the thread is known to have gone
      // on.
      uint64_t latest = UINT64_MAX;
      for (uint32_t e = static_cast<uint32_t>(times.size()); e-- > 0;) {
        times[e] = time_of(t, e);
        if (entry_of(t, e) != nullptr) latest = times[e];
        if (!waits(event(t, e).kind)) continue;
        const uint64_t high = event(t, e).tsc_high;
        if (high != 0 || latest != UINT64_MAX) times[e] = high != 0 ? std::min(latest, high) : latest;
      }
      join_steps(t, times);
      for (uint32_t e = 1; e < times.size(); ++e) times[e] = std::max(times[e], times[e - 1]);
    }
  }

  // Carries the trace out. What went wrong, for people; empty: nothing.
  std::string run() {
    std::string problem = try_to_run();
    while (!problem.empty() && put_off_release()) problem = try_to_run();
    return problem;
  }

  bool verbose = false;  // prints the events in their order
  uint64_t events = 0, values = 0, undecided = 0, lost = 0;

 private:
  std::string try_to_run() {
    events = values = undecided = lost = 0;
    problem_.clear();
    done_.clear();
    refused_tries_.clear();
    TraceExecution execution(
        trace_, MemoryModel::sc,
        [this](uint32_t t, uint32_t e, std::span<const uint64_t> read, std::span<const uint64_t> written,
               bool certain) { compare(t, e, read, written, certain); });
    while (const std::optional<OrderItem> item = next(execution)) {
      if (verbose)
        fmt::print("{} {}: {}\n", times_[item->thread][item->event], trace_.threads[item->thread].name,
                   event_text(trace_, item->thread, item->event));
      if (const std::optional<Evaluation> wrong = execution.perform(*item)) {
        problem_ = wrong->text(trace_);
      } else {
        ++events;
        done_.push_back(*item);
      }
      if (!problem_.empty()) break;
    }
    for (uint32_t t = 0; t < trace_.threads.size(); ++t) {
      const OrderItem item{.thread = t, .event = execution.next_event(t)};
      if (item.event < ends_[t] && is_failed_try(event(t, item.event).kind) && execution.refusal(item))
        refused_tries_.push_back(item);
    }
    if (!problem_.empty()) return problem_;
    std::string stuck;
    for (uint32_t t = 0; t < trace_.threads.size(); ++t) {
      if (execution.next_event(t) == ends_[t]) continue;
      const Evaluation refused = *execution.refusal({.thread = t, .event = execution.next_event(t)});
      stuck += fmt::format("nothing is possible any more: {}\n", refused.text(trace_));
    }
    if (!stuck.empty()) return stuck;
    const Evaluation end = execution.finish();
    undecided = end.undecided;
    return end.kind == Evaluation::Kind::holds ? "" : end.text(trace_);
  }

  // The object that it lets go of, if it does.
  static std::optional<uint64_t> released_by(const Event& e) {
    switch (e.kind) {
      case EventKind::unlock:
      case EventKind::read_unlock:
      case EventKind::write_unlock:
      case EventKind::semaphore_post:
        return e.address;
      case EventKind::wait_begin:
        return e.second;
      default:
        return std::nullopt;
    }
  }

  // A try failed though the object had been let go of: the call that did so had begun, and had not yet done it.
  bool put_off_release() {
    for (const OrderItem& tried : refused_tries_) {
      const Event& failed = event(tried.thread, tried.event);
      for (size_t i = done_.size(); i-- > 0;) {
        const Event& release = event(done_[i].thread, done_[i].event);
        if (done_[i].thread == tried.thread || released_by(release) != failed.address) continue;
        if (release.tsc_high != 0 && release.tsc_high + kTogether < failed.tsc_low) break;
        return put_off_[{done_[i].thread, done_[i].event}].insert({tried.thread, tried.event}).second;
      }
    }
    return false;
  }

  bool is_put_off(const OrderItem& item, const TraceExecution& execution) const {
    const auto found = put_off_.find({item.thread, item.event});
    return found != put_off_.end() && std::ranges::any_of(found->second, [&](const auto& tried) {
             return execution.next_event(tried.first) <= tried.second;
           });
  }

  const Event& event(uint32_t thread, uint32_t number) const { return trace_.threads[thread].events[number]; }

  const heddle_order_entry* entry_of(uint32_t thread, uint32_t number) const {
    const Event& e = event(thread, number);
    const std::optional<Access> access = access_of(e.kind);
    if (!access) return nullptr;
    const auto found =
        accesses_[thread].find({trace_.threads[thread].places[e.place].instruction, *access, e.occurrence});
    return found == accesses_[thread].end() ? nullptr : &found->second;
  }

  // A thread that was stopped with the process has entered its last block, and need not have come to the last
  // accesses of it, nor to what it does behind them. (A trace has them: whoever reaches the failure must not
  // need them.)
  uint32_t end_of(uint32_t thread) const {
    const std::vector<Event>& all = trace_.threads[thread].events;
    auto end = static_cast<uint32_t>(all.size());
    if (end == 0 || all.back().kind == EventKind::exit) return end;
    uint32_t missing = end;
    for (; end > 0 && entry_of(thread, end - 1) == nullptr; --end)
      if (is_access(all[end - 1].kind) && all[end - 1].occurrence != 0) missing = end - 1;
    return missing;
  }

  // Nobody comes between the events of a step, so it begins when the first of them happened that was logged:
  // what a copy reads from the thread's own memory may be long after the access before.
  void join_steps(uint32_t thread, std::vector<uint64_t>& times) const {
    for (uint32_t e = static_cast<uint32_t>(times.size()); e-- > 1;)
      if (entry_of(thread, e - 1) == nullptr && event(thread, e - 1).step == event(thread, e).step &&
          is_access(event(thread, e - 1).kind) && is_access(event(thread, e).kind))
        times[e - 1] = std::max(times[e - 1], times[e]);
  }

  uint64_t time_of(uint32_t thread, uint32_t number) const {
    const Event& e = event(thread, number);
    const heddle_order_entry* entry = entry_of(thread, number);
    return entry != nullptr ? entry->tsc : e.tsc_low;
  }

  static bool waits(EventKind kind) {
    switch (kind) {
      case EventKind::allocate:
      case EventKind::lock:
      case EventKind::read_lock:
      case EventKind::write_lock:
      case EventKind::wait_end:
      case EventKind::wait_timeout:
      case EventKind::barrier_leave:
      case EventKind::semaphore_wait:
      case EventKind::join:
      case EventKind::once_begin:
      case EventKind::once_passed:
        return true;
      default:
        return is_failed_try(kind);
    }
  }

  // The earliest that is possible. What fails because somebody holds a lock may have to come before its time,
  // while that is so.
  std::optional<OrderItem> next(const TraceExecution& execution) const {
    std::vector<std::pair<uint64_t, uint32_t>> waiting;
    for (uint32_t t = 0; t < trace_.threads.size(); ++t)
      if (execution.next_event(t) < ends_[t]) waiting.emplace_back(times_[t][execution.next_event(t)], t);
    std::ranges::sort(waiting);
    std::optional<OrderItem> first;
    for (const auto& [time, t] : waiting) {
      const OrderItem item{.thread = t, .event = execution.next_event(t)};
      if (execution.refusal(item) || is_put_off(item, execution)) continue;
      first = item;
      break;
    }
    if (!first) return first;
    const uint64_t object = event(first->thread, first->event).address;
    for (const auto& [time, t] : waiting) {
      const OrderItem item{.thread = t, .event = execution.next_event(t)};
      const Event& e = event(t, item.event);
      if (t != first->thread && is_failed_try(e.kind) && e.address == object && !execution.refusal(item))
        return item;
    }
    return first;
  }

  void compare(uint32_t thread, uint32_t number, std::span<const uint64_t> read,
               std::span<const uint64_t> written, bool certain) {
    const Event& e = event(thread, number);
    if (verbose)
      fmt::print("    read {:x}, wrote {:x}{}\n", fmt::join(read, " "), fmt::join(written, " "),
                 certain ? "" : " (not certain)");
    if (!access_of(e.kind) || !problem_.empty() || e.occurrence == 0) return;
    const std::string where =
        fmt::format("thread {} event {} ({})", trace_.threads[thread].name, number,
                    trace_.instruction_texts.at(trace_.threads[thread].places[e.place].instruction));
    const heddle_order_entry* entry = entry_of(thread, number);
    if (entry == nullptr) {
      problem_ = fmt::format("{}: there was no such access", where);
      return;
    }
    if (entry->kind == HEDDLE_EVENT_call || entry->kind == HEDDLE_EVENT_fence) return;
    if (entry->lost != 0) ++lost;
    // The access came behind its entry, and before the thread's next stamp.
    if (entry->lost == 0 && ((e.tsc_low != 0 && entry->tsc + kTogether < e.tsc_low) ||
                             (e.tsc_high != 0 && entry->tsc > e.tsc_high + kTogether)))
      problem_ = fmt::format("{}: it happened at {}, by the clocks from {} to {}", where, entry->tsc, e.tsc_low,
                             e.tsc_high);
    if (e.size != entry->size) return;  // in pieces
    if (!e.address_expression && e.address != entry->address && !ProgramImage::is_made_up(e.address))
      problem_ = fmt::format("{}: the address was {:#x}, not {:#x}", where, entry->address, e.address);
    const uint64_t mask = e.size < 8 ? (uint64_t{1} << 8 * e.size) - 1 : UINT64_MAX;
    const auto same = [&](uint64_t real, std::span<const uint64_t> computed, std::string_view what) {
      values += certain;
      if (problem_.empty() && certain && entry->lost == 0 && !ProgramImage::is_made_up(computed[0]) &&
          (real & mask) != (computed[0] & mask))
        problem_ = fmt::format("{}: {} {:#x}, computed {:#x}", where, what, real & mask, computed[0] & mask);
    };
    if (e.kind == EventKind::read) same(entry->value, read, "it read");
    if (e.kind == EventKind::write) same(entry->value, written, "it wrote");
    if (e.kind == EventKind::update) {
      same(entry->value, read, "it read");
      same(entry->after, written, "it wrote");
    }
  }

  const Trace& trace_;
  std::vector<HappenedAccesses> accesses_;
  std::vector<std::vector<uint64_t>> times_;  // growing, by thread
  std::vector<uint32_t> ends_;                // how many of a thread's events happened
  std::vector<OrderItem> done_, refused_tries_;
  using Ref = std::pair<uint32_t, uint32_t>;  // thread and event
  std::map<Ref, std::set<Ref>> put_off_;      // releases: the failed tries before them
  std::string problem_;
};

// What the recorded order of synchronisation says (record --sync-order) holds of the accesses: whatever was
// done before a number was taken came before all that was done behind a greater one. Returns what is wrong, or
// nothing.
std::string check_sync_order(const Trace& trace, const std::vector<HappenedAccesses>& accesses,
                             uint64_t& compared) {
  struct Done {
    uint64_t number, happened;  // it was done before this number was taken; the latest of those so far
  };
  const auto entry_of = [&](uint32_t t, const Event& event) -> const heddle_order_entry* {
    const std::optional<Access> access = access_of(event.kind);
    if (!access || event.occurrence == 0) return nullptr;
    const auto found =
        accesses[t].find({trace.threads[t].places[event.place].instruction, *access, event.occurrence});
    return found == accesses[t].end() || found->second.lost != 0 ? nullptr : &found->second;
  };
  std::vector<std::vector<Done>> done(trace.threads.size());
  for (uint32_t t = 0; t < trace.threads.size(); ++t)
    for (const Event& event : trace.threads[t].events)
      if (const heddle_order_entry* entry = entry_of(t, event); entry != nullptr && event.tsc_high != 0)
        done[t].push_back({event.tsc_high, entry->tsc});
  for (uint32_t t = 0; t < trace.threads.size(); ++t)
    for (const Event& event : trace.threads[t].events) {
      const heddle_order_entry* entry = entry_of(t, event);
      if (entry == nullptr) continue;
      for (uint32_t other = 0; other < trace.threads.size(); ++other) {
        // Both grow along a thread.
        const auto behind = std::ranges::upper_bound(done[other], event.tsc_low, {}, &Done::number);
        if (other == t || behind == done[other].begin()) continue;
        ++compared;
        if (std::prev(behind)->happened >= entry->tsc)
          return fmt::format("thread {} at {}: what thread {} did before {} came later", trace.threads[t].name,
                             trace.instruction_texts.at(trace.threads[t].places[event.place].instruction),
                             trace.threads[other].name, std::prev(behind)->number);
      }
    }
  return "";
}

Result<int> check(const fs::path& recording, bool verbose) {
  SymbolicStatistics statistics;
  const Trace trace = HEDDLE_TRY(trace_of_recording(recording, {}, {.jobs = 2}, statistics));
  HEDDLE_TRY(check_trace(trace));
  std::vector<HappenedAccesses> accesses;
  for (const ThreadTrace& thread : trace.threads)
    accesses.push_back(HEDDLE_TRY(read_accesses(recording / kThreadsFolder / (thread.name + ".order"))));
  if (trace.sync_order) {
    uint64_t compared = 0, events = 0;
    for (const ThreadTrace& thread : trace.threads) events += thread.events.size();
    const std::string problem = check_sync_order(trace, accesses, compared);
    if (!problem.empty()) fmt::print("{}\n", problem);
    fmt::print("{} threads, {} events, {} facts compared\n", trace.threads.size(), events, compared);
    return problem.empty() ? 0 : 1;
  }
  Oracle oracle(trace, std::move(accesses));
  oracle.verbose = verbose;
  std::string problem = oracle.run();
  if (problem.empty() && statistics.mismatches != 0) problem = "mismatch: " + statistics.first_mismatch;
  if (problem.empty() && !trace.exact) problem = fmt::format("not exact after {} passes", statistics.passes);
  if (!problem.empty()) fmt::print("{}\n", problem);
  fmt::print(
      "{} threads, {} events, {} values compared, {} undecided constraints, {} approximations, {} lost, "
      "failure {}\n",
      trace.threads.size(), oracle.events, oracle.values, oracle.undecided, trace.approximations.size(),
      oracle.lost, text_of(trace.failure.kind));
  return problem.empty() ? 0 : 1;
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const heddle::Result<int> result = heddle::check(argv[1], argc > 2 && std::strcmp(argv[2], "--verbose") == 0);
  if (result) return *result;
  fmt::print("{}\n", result.error().text());
  return 1;
}
