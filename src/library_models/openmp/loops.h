// Model of OpenMP's loops (openmp.cpp): which thread of a team executes which iterations.
#pragma once

#include <cstdlib>
#include <cstring>

#include "library_models/openmp/shared.h"

namespace {

// As the program says it; the same and 32 more if parts of the loop are ordered.
enum Schedule { kStaticPieces = 33, kStatic = 34, kDynamic = 35, kGuided = 36, kRuntime = 37, kAuto = 38 };
constexpr int kOrdered = 32, kModifiers = 3 << 29;

template <typename Number, typename Signed>
uint64_t trips_of(Number low, Number high, Signed step) {
  if (step > 0 ? high < low : low < high) return 0;
  const uint64_t apart = step > 0 ? (uint64_t)high - (uint64_t)low : (uint64_t)low - (uint64_t)high;
  return apart / (step > 0 ? (uint64_t)step : 0 - (uint64_t)step) + 1;
}

// One piece for each thread, as even as possible.
void even_piece(uint64_t trips, uint64_t count, uint64_t number, uint64_t* from, uint64_t* to) {
  const uint64_t each = trips / count, more = trips % count;
  *from = number * each + (number < more ? number : more);
  *to = *from + each + (number < more);
}

template <typename Number, typename Signed>
void static_part(int schedule, int* last, Number* low, Number* high, Signed* stride, Signed step,
                 Signed chunk) {
  const Place& here = place();
  const uint64_t trips = trips_of(*low, *high, step), count = (uint64_t)here.team->count,
                 number = (uint64_t)here.number;
  if (last != nullptr) *last = 0;
  if (trips == 0) return;
  const Number first = *low;
  if ((schedule & ~kModifiers) == kStaticPieces) {
    const uint64_t size = chunk < 1 ? 1 : (uint64_t)chunk;
    *low = first + (Number)(number * size * (uint64_t)step);
    *high = *low + (Number)((size - 1) * (uint64_t)step);
    *stride = (Signed)(count * size * (uint64_t)step);
    if (last != nullptr) *last = number == (trips - 1) / size % count;
    return;
  }
  uint64_t from, to;
  even_piece(trips, count, number, &from, &to);
  *stride = (Signed)(trips * (uint64_t)step);
  if (from == to) {  // none: it begins behind its end
    *low = *high + (Number)step;
    return;
  }
  *low = first + (Number)(from * (uint64_t)step);
  *high = first + (Number)((to - 1) * (uint64_t)step);
  if (last != nullptr) *last = to == trips;
}

// ---- in pieces
// What schedule(runtime) stands for: as omp.h counts, from static on; 0: not known yet.
int asked_schedule, asked_chunk;

// With the lock.
void find_schedule() {
  if (asked_schedule != 0) return;
  const char* const text = getenv("OMP_SCHEDULE");
  const char* const comma = text != nullptr ? strchr(text, ',') : nullptr;
  asked_chunk = comma != nullptr ? atoi(comma + 1) : 0;
  asked_schedule = text == nullptr ? 1 : text[0] == 'd' ? 2 : text[0] == 'g' ? 3 : text[0] == 'a' ? 4 : 1;
}

int runtime_schedule(uint64_t* chunk) {
  find_schedule();
  if (asked_chunk > 0) *chunk = (uint64_t)asked_chunk;
  switch (asked_schedule) {
    case 1:
      return asked_chunk > 0 ? kStaticPieces : kStatic;
    case 2:
      return kDynamic;
    case 3:
      return kGuided;
    default:
      return kAuto;
  }
}

// With the lock. The one that the first thread to come has made.
Loop* find_loop(Team& team, unsigned long number) {
  for (Loop* loop = team.loops; loop != nullptr; loop = loop->next)
    if (loop->number == number) return loop;
  Loop* const made = static_cast<Loop*>(calloc(1, sizeof(Loop)));
  if (made == nullptr) abort();
  made->number = number;
  made->next = team.loops;
  team.loops = made;
  return made;
}

void leave_loop(Team& team, Loop* loop) {
  if (++loop->left < team.count) return;
  Loop** at = &team.loops;
  while (*at != loop) at = &(*at)->next;
  *at = loop->next;
  free(loop);
}

void begin_loop(int schedule, uint64_t low, uint64_t step, uint64_t trips, uint64_t chunk) {
  Place& here = place();
  schedule &= ~kModifiers;
  if (schedule > kAuto) schedule -= kOrdered;
  lock();
  if (schedule == kRuntime) schedule = runtime_schedule(&chunk);
  here.loop = find_loop(*here.team, here.loops++);
  here.loop->trips = trips;
  here.loop->schedule = schedule;
  here.loop->chunk = chunk < 1 ? 1 : chunk;
  unlock();
  here.piece = 0;
  here.low = low;
  here.step = step;
}

// With the lock. Whether there is one more piece for this thread.
bool next_piece(Place& here, uint64_t* from, uint64_t* to) {
  Loop& loop = *here.loop;
  const uint64_t count = (uint64_t)here.team->count, number = (uint64_t)here.number;
  switch (loop.schedule) {
    case kDynamic:
    case kGuided: {
      uint64_t size = (loop.trips - loop.given) / (2 * count);
      if (loop.schedule == kDynamic || size < loop.chunk) size = loop.chunk;
      *from = loop.given;
      *to = loop.trips - *from < size ? loop.trips : *from + size;
      loop.given = *to;
      break;
    }
    case kStaticPieces:
      *from = (here.piece++ * count + number) * loop.chunk;
      *to = loop.trips - *from < loop.chunk ? loop.trips : *from + loop.chunk;
      break;
    default:
      even_piece(loop.trips, count, number, from, to);
      if (here.piece++ != 0) *from = *to;
  }
  return *from < *to && *from < loop.trips;
}

template <typename Number, typename Signed>
int next_part(int* last, Number* low, Number* high, Signed* stride) {
  Place& here = place();
  uint64_t from = 0, to = 0;
  lock();
  const bool more = next_piece(here, &from, &to);
  const bool at_end = to == here.loop->trips;
  if (!more) leave_loop(*here.team, here.loop);
  unlock();
  if (!more) {
    here.loop = nullptr;
    return 0;
  }
  here.iteration = from;
  here.was_in_order = false;
  *low = (Number)(here.low + from * here.step);
  *high = (Number)(here.low + (to - 1) * here.step);
  if (stride != nullptr) *stride = (Signed)here.step;
  if (last != nullptr) *last = at_end;
  return 1;
}

// ---- parts that are executed in the order of the iterations
void wait_in_order(Place& here) {
  if (here.loop == nullptr) return;
  lock();
  while (here.loop->in_order != here.iteration) wait_for_change(*here.team);
  unlock();
}

void pass_on(Place& here) {
  if (here.loop == nullptr) return;
  lock();
  ++here.loop->in_order;
  pthread_cond_broadcast(&here.team->changed);
  unlock();
  here.was_in_order = true;
}

void end_iteration() {
  Place& here = place();
  if (!here.was_in_order) {
    wait_in_order(here);
    pass_on(here);
  }
  ++here.iteration;
  here.was_in_order = false;
}

}  // namespace

#define LOOPS(suffix, Number, Signed)                                                                       \
  void __kmpc_for_static_init_##suffix(void*, int, int schedule, int* last, Number* low, Number* high,      \
                                       Signed* stride, Signed step, Signed chunk) {                         \
    static_part<Number, Signed>(schedule, last, low, high, stride, step, chunk);                            \
  }                                                                                                         \
  void __kmpc_dispatch_init_##suffix(void*, int, int schedule, Number low, Number high, Signed step,        \
                                     Signed chunk) {                                                        \
    begin_loop(schedule, (uint64_t)low, (uint64_t)(int64_t)step, trips_of<Number, Signed>(low, high, step), \
               chunk < 1 ? 1 : (uint64_t)chunk);                                                            \
  }                                                                                                         \
  int __kmpc_dispatch_next_##suffix(void*, int, int* last, Number* low, Number* high, Signed* stride) {     \
    return next_part<Number, Signed>(last, low, high, stride);                                              \
  }                                                                                                         \
  void __kmpc_dispatch_fini_##suffix(void*, int) {                                                          \
    end_iteration();                                                                                        \
  }

extern "C" {
LOOPS(4, int32_t, int32_t)
LOOPS(4u, uint32_t, int32_t)
LOOPS(8, int64_t, int64_t)
LOOPS(8u, uint64_t, int64_t)

void omp_set_schedule(int schedule, int chunk) {
  lock();
  asked_schedule = schedule & 7;
  asked_chunk = chunk;
  unlock();
}
void omp_get_schedule(int* schedule, int* chunk) {
  lock();
  find_schedule();
  *schedule = asked_schedule;
  *chunk = asked_chunk;
  unlock();
}

void __kmpc_for_static_fini(void*, int) {}
void __kmpc_dispatch_deinit(void*, int) {}

void __kmpc_ordered(void*, int) {
  wait_in_order(place());
}
void __kmpc_end_ordered(void*, int) {
  pass_on(place());
}
}  // extern "C"
