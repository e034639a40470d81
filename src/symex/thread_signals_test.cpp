#include "symex/thread_signals.h"

#include <gtest/gtest.h>

#include "abi/sync_kind.h"

namespace heddle {
namespace {

Event signal_event(EventKind kind, uint64_t receiver) {
  return {.kind = kind, .sync = HEDDLE_SYNC_thread_kill, .address = receiver};
}

TEST(ThreadSignals, AreOrderedOnlyWhereTheProgramSentThemAll) {
  Trace trace;
  trace.threads.resize(2);
  trace.threads[0].events = {signal_event(EventKind::semaphore_post, 10),
                             signal_event(EventKind::semaphore_post, 20)};
  trace.threads[1].events = {signal_event(EventKind::semaphore_wait, 10),
                             signal_event(EventKind::semaphore_wait, 20),
                             signal_event(EventKind::semaphore_wait, 20),
                             {.kind = EventKind::semaphore_wait, .sync = HEDDLE_SYNC_sem_wait, .address = 30}};
  forget_signals_from_outside(trace);
  EXPECT_EQ(trace.threads[0].events[0].kind, EventKind::semaphore_post);
  EXPECT_EQ(trace.threads[1].events[0].kind, EventKind::semaphore_wait);
  EXPECT_EQ(trace.threads[0].events[1].kind, EventKind::sync);
  EXPECT_EQ(trace.threads[1].events[1].kind, EventKind::sync);
  EXPECT_EQ(trace.threads[1].events[2].kind, EventKind::sync);
  EXPECT_EQ(trace.threads[1].events[3].kind, EventKind::semaphore_wait) << "a real semaphore";
}

}  // namespace
}  // namespace heddle
