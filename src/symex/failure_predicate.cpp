#include "symex/failure_predicate.h"

#include <algorithm>
#include <map>

#include "abi/sync_kind.h"

namespace heddle {
namespace {

// The operation that a thread did not come out of; none if nothing in the program can end it.
std::optional<Event> waiting_operation(const SyncEntry& pending) {
  Event event{.sync = static_cast<uint8_t>(pending.kind), .address = pending.object[0]};
  switch (pending.kind) {
    case HEDDLE_SYNC_mutex_lock:
    case HEDDLE_SYNC_spin_lock:
      event.kind = EventKind::lock;
      return event;
    case HEDDLE_SYNC_rwlock_rdlock:
      event.kind = EventKind::read_lock;
      return event;
    case HEDDLE_SYNC_rwlock_wrlock:
      event.kind = EventKind::write_lock;
      return event;
    case HEDDLE_SYNC_cond_wait:
    case HEDDLE_SYNC_cond_wait_cxx:
      event.kind = EventKind::wait_end;
      event.second = pending.object[1];
      return event;
    case HEDDLE_SYNC_barrier_wait:
      event.kind = EventKind::barrier_leave;
      return event;
    case HEDDLE_SYNC_sem_wait:
      event.kind = EventKind::semaphore_wait;
      return event;
    default:
      return std::nullopt;
  }
}

// A thread of a hang that does not wait for anything that a trace knows: that it is there is all.
constexpr Event kNeverPossible{.kind = EventKind::once_passed};

// All threads of a hang are at their ends, and cannot go on. Those that have ended too: before that they could
// still let the others go on.
std::vector<FailurePredicate::Waiting> waiting_threads(std::span<const ThreadEnd> threads) {
  std::vector<FailurePredicate::Waiting> out;
  for (uint32_t i = 0; i < threads.size(); ++i) {
    const std::optional<Event> operation =
        threads[i].pending && !threads[i].finished ? waiting_operation(*threads[i].pending) : std::nullopt;
    out.push_back({.thread = i, .operation = operation.value_or(kNeverPossible)});
  }
  // Locks that prefer writers let no more readers in while a writer waits.
  for (FailurePredicate::Waiting& reader : out) {
    if (reader.operation.kind != EventKind::read_lock) continue;
    for (const FailurePredicate::Waiting& writer : out)
      if (writer.operation.kind == EventKind::write_lock &&
          writer.operation.address == reader.operation.address)
        reader.operation = kNeverPossible;
  }
  return out;
}

void end_before(ThreadTrace& thread, size_t event) {
  thread.events.resize(event);
  std::erase_if(thread.constraints,
                [&](const Constraint& constraint) { return constraint.events > thread.events.size(); });
}

// In whatever thread: the C library may notice it late.
bool died_releasing(const RecordingInfo& info) {
  if (info.failure->kind != "abort") return false;
  return std::ranges::any_of(info.threads, [](const RecordedThread& thread) {
    return std::ranges::any_of(thread.stack, [](const RecordedFrame& frame) {
      return !frame.library.empty() && (frame.function == "free" || frame.function == "cfree" ||
                                        frame.function == "__libc_free" || frame.function == "realloc");
    });
  });
}

// The C library has found a block to be free already, by now or when it cleaned up behind a thread: who
// released it second? The thread that failed if that is known.
void require_double_free(const RecordingInfo& info, std::span<ThreadEnd> threads, FailurePredicate& out) {
  struct Release {
    uint32_t thread;
    size_t event;
  };
  std::map<uint64_t, std::vector<Release>> releases;
  for (uint32_t i = 0; i < threads.size(); ++i) {
    const std::vector<Event>& events = threads[i].trace.events;
    for (size_t e = 0; e < events.size(); ++e)
      if (events[e].kind == EventKind::release) releases[events[e].address].push_back({i, e});
  }
  for (const auto& [address, all] : releases) {
    if (all.size() < 2) continue;
    const auto failed = std::ranges::find_if(all.rbegin(), all.rend(), [&](const Release& release) {
      return threads[release.thread].trace.name == info.failure->thread;
    });
    const Release& second = failed != all.rend() ? *failed : all.back();
    out = {
        .kind = FailurePredicate::Kind::freed, .thread = second.thread, .address = address, .text = out.text};
    return end_before(threads[second.thread].trace, second.event);
  }
}

// A synchronisation call that refused its object found there what others had left: it lies in a block that
// another thread has released. What the thread did then only told of it. (A controlled run ends at the use of
// the block.)
void require_gone_object(std::span<ThreadEnd> threads, FailurePredicate& out) {
  ThreadTrace& thread = threads[out.thread].trace;
  const auto is_gone = [&](const Event& refused) {
    for (uint32_t i = 0; i < threads.size(); ++i) {
      if (i == out.thread || refused.kind != EventKind::sync || refused.address == 0) continue;
      for (const Event& event : threads[i].trace.events)
        if (event.kind == EventKind::release && event.address <= refused.address &&
            refused.address - event.address < event.size)
          return true;
    }
    return false;
  };
  const auto refused = std::ranges::find_if(thread.events.rbegin(), thread.events.rend(), is_gone);
  if (refused == thread.events.rend()) return;
  out.kind = FailurePredicate::Kind::freed;
  out.address = refused->address;
  end_before(thread, static_cast<size_t>(thread.events.rend() - refused) - 1);
}

}  // namespace

FailurePredicate failure_predicate(const RecordingInfo& info, std::span<ThreadEnd> threads) {
  FailurePredicate out;
  if (!info.failure) return out;
  out.text = info.failure->identity;
  if (info.failure->kind == "hang") {
    out.kind = FailurePredicate::Kind::deadlock;
    out.waiting = waiting_threads(threads);
    return out;
  }
  // The branches that lead to a failed assertion are constraints already: that the thread comes there is the
  // rest. Without a thread, the process has ended by its exit code: the main thread did it, or one that called
  // exit().
  out.kind = FailurePredicate::Kind::reached;
  for (uint32_t i = 0; i < threads.size(); ++i)
    if (threads[i].trace.name == info.failure->thread || (info.failure->thread.empty() && threads[i].exits))
      out.thread = i;
  // The process has ended by its exit code, and nobody called exit(): the run as a whole led there.
  if (info.failure->kind.starts_with("exit:") && !threads[out.thread].exits) {
    out.kind = FailurePredicate::Kind::deadlock;
    for (uint32_t i = 0; i < threads.size(); ++i)
      out.waiting.push_back({.thread = i, .operation = kNeverPossible});
  }
  if (died_releasing(info))
    require_double_free(info, threads, out);
  else if (out.kind == FailurePredicate::Kind::reached)
    require_gone_object(threads, out);
  return out;
}

}  // namespace heddle
