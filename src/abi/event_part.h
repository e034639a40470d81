/* Which part of a synchronisation operation an event is, where its kind does not say it all: in the size of the
 * event (struct heddle_event), which synchronisation has no other use for. A C header without includes.
 */
#ifndef HEDDLE_ABI_EVENT_PART_H
#define HEDDLE_ABI_EVENT_PART_H

enum heddle_event_part {
  HEDDLE_PART_none, /* of a futex: an operation that only the runtime understands (bit sets, requeueing) */
  /* futexes */
  HEDDLE_PART_compare,       /* goes to sleep if the word is `second`, else it is refused */
  HEDDLE_PART_timed_compare, /* the same, its wait may end by its time */
  HEDDLE_PART_go_on,         /* after a wait */
  HEDDLE_PART_timed_go_on,
  HEDDLE_PART_wake, /* at most `second` of those who wait */
  /* harness.c, of kind `attribute` */
  HEDDLE_PART_choice, /* one more or not: ends by its "time" for one more */
  HEDDLE_PART_atomic_begin,
  HEDDLE_PART_atomic_end,
  /* mutexes */
  HEDDLE_PART_robust, /* who ends as its holder leaves it to the next */
  /* joins */
  HEDDLE_PART_result, /* who joins asks for what the thread returned: `value`, as of the thread's end */
  /* of kind `file_wait`, on a channel that the program has made (channels.c); `address` is its name */
  HEDDLE_PART_channel_make,  /* `second`: enum heddle_channel_kind */
  HEDDLE_PART_channel_read,  /* at most `second` bytes; what was written to memory is behind the event */
  HEDDLE_PART_channel_write, /* `second` bytes; what was read of memory is behind the event */
  HEDDLE_PART_channel_close, /* `second`: enum heddle_channel_end */
};

enum heddle_channel_kind { HEDDLE_CHANNEL_pipe = 1, HEDDLE_CHANNEL_counter, HEDDLE_CHANNEL_semaphore };
enum heddle_channel_end { HEDDLE_END_reads = 1, HEDDLE_END_writes = 2 };

/* The order of synchronisation, whose value is, of a cancellation, whether it is asynchronous. */
enum heddle_sync_order {
  HEDDLE_SYNC_cancellable,
  HEDDLE_SYNC_not_cancellable, /* the thread has forbidden it, or ends already */
};

/* In the value of an event of a robust mutex, beside its kind: nobody can have it any more. */
#define HEDDLE_MUTEX_LOST (1ull << 32)

#endif
