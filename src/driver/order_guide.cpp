#include "driver/order_guide.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "abi/sync_kind.h"

namespace heddle {
namespace {

bool ends_by_time(const Event& event) {
  switch (event.kind) {
    case EventKind::wait_timeout:
      return true;
    case EventKind::lock_failed:
      return event.sync == HEDDLE_SYNC_mutex_timedlock;
    case EventKind::read_lock_failed:
      return event.sync == HEDDLE_SYNC_rwlock_timedrdlock;
    case EventKind::write_lock_failed:
      return event.sync == HEDDLE_SYNC_rwlock_timedwrlock;
    case EventKind::semaphore_failed:
      return event.sync == HEDDLE_SYNC_sem_timedwait;
    default:
      return false;
  }
}

// What a controlled run does there; nothing if it has no such event.
std::optional<heddle_step_target> target_of(const Event& event) {
  if (event.kind == EventKind::start) return HEDDLE_TARGET_begin;
  if (event.kind == EventKind::exit) return HEDDLE_TARGET_end;
  if (event.occurrence == 0) return std::nullopt;
  switch (event.kind) {
    case EventKind::read:
      return HEDDLE_TARGET_read;
    case EventKind::write:
    case EventKind::release:
      return HEDDLE_TARGET_write;
    case EventKind::update:
      return HEDDLE_TARGET_update;
    case EventKind::fence:
      return HEDDLE_TARGET_fence;
    case EventKind::allocate:
      return std::nullopt;
    default:
      return ends_by_time(event) ? HEDDLE_TARGET_timeout : HEDDLE_TARGET_sync;
  }
}

}  // namespace

// Recordings count children from 1 and write 0.1, schedules from 0 and write 0:0.
Result<ThreadName> recorded_thread(std::string_view text) {
  ThreadName name;
  for (size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.', dot + 1)) {
    uint32_t child = 0;
    std::from_chars(text.data() + dot + 1, text.data() + text.size(), child);
    if (child == 0) return Error{.what = fmt::format("'{}' is no thread of a recording", text)};
    name = name.child(child - 1);
  }
  return name;
}

Result<OrderGuide> guide_of(const Trace& trace, std::span<const OrderItem> order) {
  OrderGuide out;
  Guide& guide = out.guide;
  for (const ThreadTrace& thread : trace.threads) {
    const ThreadName name = HEDDLE_TRY(recorded_thread(thread.name));
    if (!name.is_main() && std::ranges::find(guide.threads, name.parent()) == guide.threads.end())
      return Error{
          .what = fmt::format("thread {} was created by one that the recording does not have", thread.name),
          .next = "record again"};
    guide.threads.push_back(name);
  }
  for (size_t i = 0; i < order.size(); ++i) {
    const OrderItem& item = order[i];
    const ThreadTrace& thread = trace.threads[item.thread];
    const Event& event = thread.events[item.event];
    const std::optional<heddle_step_target> target = target_of(event);
    // The main thread ends with the process.
    if (!target || (*target == HEDDLE_TARGET_end && item.thread == 0)) continue;
    const GuideStep step{.kind = item.flush ? GuideStep::Kind::flush : GuideStep::Kind::run,
                         .thread = item.thread,
                         .target = *target,
                         .site = event.place == 0 ? HEDDLE_NO_SITE : thread.places[event.place].instruction,
                         .occurrence = std::max<uint64_t>(event.occurrence, 1)};
    // Who comes to a later event has performed the earlier ones.
    if (!guide.steps.empty() && guide.steps.back().thread == step.thread && step.kind == GuideStep::Kind::run &&
        guide.steps.back().kind == GuideStep::Kind::run && guide.steps.back().target != HEDDLE_TARGET_timeout)
      guide.steps.back() = step;
    else
      guide.steps.push_back(step);
    out.items.resize(guide.steps.size());
    out.items.back() = i;
    // At once: a signal that comes before the thread has the mutex again must not wake it.
    if (event.kind == EventKind::wait_begin && item.event + 1 < thread.events.size() &&
        thread.events[item.event + 1].kind == EventKind::wait_timeout) {
      guide.steps.push_back({.kind = GuideStep::Kind::timeout, .thread = item.thread});
      out.items.push_back(i);
    }
  }
  return out;
}

}  // namespace heddle
