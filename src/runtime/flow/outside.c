/* Results from outside the program: written down when recording, given back in a replay, in the order of each
 * thread. */
#include <stdio.h>
#include <string.h>

#include "runtime/flow/flow.h"

/* The head of an entry: `size` bytes at `first`, and `more` that the caller appends. */
void rt_fl_note_parts(uint32_t what, int64_t result, const void* first, uint64_t size, uint64_t more) {
  struct rt_fl_local* const local = rt_fl_local;
  const uint64_t number = rt_fl_number();
  uint8_t entry[60];
  uint8_t* to = entry;
  *to++ = HEDDLE_FLOW_outside;
  to = rt_fl_put(to, number - local->last_outside);
  to = rt_fl_put(to, what);
  to = rt_fl_put(to, rt_fl_zigzag(result));
  to = rt_fl_put(to, size + more);
  local->last_outside = number;
  ++heddle_flow_self->data;
  rt_fl_append(entry, (uint64_t)(to - entry));
  if (size != 0) rt_fl_append(first, size);
}

void rt_fl_note(uint32_t what, int64_t result, const void* bytes, uint64_t size) {
  rt_fl_note_parts(what, result, bytes, size, 0);
  rt_fl_commit();
}

_Noreturn void rt_fl_diverged(const char* what, int64_t expected, int64_t found) {
  char text[400];
  const int length = snprintf(
      text, sizeof text,
      "heddle: the replay diverges: thread %s, behind event %llu: %s (%lld, recorded %lld)\n",
      heddle_flow_self->name, (unsigned long long)rt_fl_number(), what, (long long)found, (long long)expected);
  RT_SYS3(SYS_write, 2, text, length);
  for (;;) RT_SYS1(SYS_exit_group, HEDDLE_FLOW_EXIT_DIVERGED);
}

static uint64_t number_at(const uint8_t** at, const uint8_t* end) {
  uint64_t value = 0;
  for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
    const uint8_t byte = *(*at)++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

static int64_t signed_at(const uint8_t** at, const uint8_t* end) {
  const uint64_t value = number_at(at, end);
  return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

static void skip_edges(struct rt_fl_local* local) {
  while (local->given < local->given_end && *local->given != HEDDLE_FLOW_outside) {
    const int numbers = *local->given++ == HEDDLE_FLOW_edge ? 3 : 4;
    for (int i = 0; i < numbers; ++i) number_at(&local->given, local->given_end);
  }
}

bool rt_fl_next_is(uint32_t what) {
  return rt_fl_next_is_at(what, rt_fl_number());
}

bool rt_fl_next_is_at(uint32_t what, uint64_t event) {
  struct rt_fl_local* const local = rt_fl_local;
  skip_edges(local);
  if (local->given >= local->given_end) return false;
  const uint8_t* at = local->given + 1;
  const uint64_t number = local->given_outside + number_at(&at, local->given_end);
  return number == event && number_at(&at, local->given_end) == what;
}

/* ---- a fault in the middle of a stretch (handlers.c): the next result, whatever the present number is. */
static bool next_is_fault(uint64_t* event) {
  struct rt_fl_local* const local = rt_fl_local;
  skip_edges(local);
  if (local->given >= local->given_end) return false;
  const uint8_t* at = local->given + 1;
  *event = local->given_outside + number_at(&at, local->given_end);
  return number_at(&at, local->given_end) == HEDDLE_FLOW_fault && *event <= rt_fl_number();
}

bool rt_fl_in_faulting_stretch(void) {
  uint64_t event;
  if (!next_is_fault(&event)) return false;
  if (event == rt_fl_number()) rt_fl_local->fault_hash = heddle_flow_self->hash;
  return event < rt_fl_number();
}

bool rt_fl_fault_follows(void) {
  uint64_t event;
  return next_is_fault(&event);
}

bool rt_fl_end_faulting_stretch(void) {
  struct rt_fl_local* const local = rt_fl_local;
  uint64_t event, size;
  const uint8_t* bytes;
  if (!next_is_fault(&event)) return false;
  if (local->turned < event) rt_fl_turn(); /* the fault came before the first access */
  STORE(&heddle_flow_self->status, event << HEDDLE_FLOW_STATE_BITS);
  heddle_flow_self->hash = local->fault_hash; /* a recording has the values since then in registers only */
  local->turned = event;
  local->owed = 0;
  local->open = false;
  local->range_count = 0;
  rt_fl_given(HEDDLE_FLOW_fault, &bytes, &size);
  rt_fl_turn_done();
  return true;
}

/* The recording of this thread ends here: so does the thread. */
static void end_if_over(struct rt_fl_local* local) {
  skip_edges(local);
  if (local->given < local->given_end) return;
  if (local->fails) rt_fl_diverged("the recorded run had failed before", 0, 0);
  rt_fl_thread_over();
  for (;;) RT_SYS4(SYS_ppoll, NULL, 0, NULL, NULL);
}

uint32_t rt_fl_next_what(void) {
  struct rt_fl_local* const local = rt_fl_local;
  skip_edges(local);
  if (local->given >= local->given_end) return 0;
  const uint8_t* at = local->given + 1;
  number_at(&at, local->given_end);
  return (uint32_t)number_at(&at, local->given_end);
}

int64_t rt_fl_peek(uint32_t what, const uint8_t** bytes, uint64_t* size) {
  struct rt_fl_local* const local = rt_fl_local;
  end_if_over(local);
  const uint8_t* at = local->given + 1;
  number_at(&at, local->given_end);
  const uint64_t found = number_at(&at, local->given_end);
  const int64_t result = signed_at(&at, local->given_end);
  *size = number_at(&at, local->given_end);
  if (found != what) rt_fl_diverged("another call than the recorded one", (int64_t)found, what);
  *bytes = at;
  return result;
}

int64_t rt_fl_given(uint32_t what, const uint8_t** bytes, uint64_t* size) {
  struct rt_fl_local* const local = rt_fl_local;
  end_if_over(local);
  ++local->given;
  local->given_outside += number_at(&local->given, local->given_end);
  const uint64_t found = number_at(&local->given, local->given_end);
  const int64_t result = signed_at(&local->given, local->given_end);
  const uint64_t length = number_at(&local->given, local->given_end);
  if (found != what) rt_fl_diverged("another call than the recorded one", (int64_t)found, what);
  if (local->given_outside != rt_fl_number())
    rt_fl_diverged("a call at another place than the recorded one", (int64_t)local->given_outside,
                   (int64_t)rt_fl_number());
  *bytes = local->given;
  *size = length;
  local->given += length;
  return result;
}
