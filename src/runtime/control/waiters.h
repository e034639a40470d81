/* Threads that wait until somebody wakes them: on condition variables and on futexes.
 *
 * Of the threads that wait at the time of a wake-up any one may be the one that goes on; which, is decided only
 * when the scheduler runs it. So a wake-up is a token. Let w1, w2, ..., wn be the waiters of an object by age
 * (tickets). A wake-up leaves its token at the youngest, wn: "for this one or an older one". A waiter may go on
 * when there is a token at itself or at a younger one, and takes the nearest. Leaving, it passes the tokens at
 * itself on to the next older.
 *
 * Never are there more tokens at the oldest k waiters than k. When there are just k, these k go on whatever
 * happens: they are marked `signalled`, and take no further part in this.
 *
 * A waiter whose time is over, that was woken for no reason or that is to be cancelled, is on its way out
 * (though it may have to wait for its mutex still): it gets no tokens any more, and leaves those at itself to
 * others. If there are no others the wake-up came before: then it was woken by it. (As in glibc, where a waiter
 * that ran out of time but has used up a signal passes that on.)
 */
#ifndef HEDDLE_RUNTIME_CONTROL_WAITERS_H
#define HEDDLE_RUNTIME_CONTROL_WAITERS_H

#include "runtime/control/control.h"

/* The current thread becomes the youngest waiter of the object of its operation. To be called in the event that
 * lets it wait; the next operation, on the same object, is the one that goes on, and calls rt_stop_waiting().
 */
void rt_start_waiting(struct rt_thread* self);
/* It goes on. Was it woken by one of the functions below? */
bool rt_stop_waiting(struct rt_thread* self);

bool rt_is_awake(const struct rt_thread* waiter); /* for `ready`: it may go on, for whatever reason */
/* The oldest of those that wait and are neither woken nor on their way out, behind `after` (null: from the
 * start). */
struct rt_thread* rt_oldest_waiter(const void* object, const struct rt_thread* after);

/* Wakes any `count` waiters; answers how many it woke. */
uint64_t rt_wake(const void* object, uint64_t count);
/* From now on the tokens are those of the oldest: for those who then pick waiters by themselves, with
 * rt_wake_this. */
void rt_settle_wakes(const void* object);
void rt_wake_this(struct rt_thread* waiter);
/* A waiter now waits for another object. After rt_settle_wakes(). */
void rt_move_waiter(struct rt_thread* waiter, const void* object);

#endif
