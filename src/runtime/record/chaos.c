/* record --chaos: short stops, other processors and other priorities at random places, to make rare
 * interleavings likelier. Nothing of the program's own synchronisation is touched.
 *
 * Each thread draws from a generator of its own, seeded by the seed of the run and the thread's name. Phases
 * with many disturbances change with phases that have few: a thread that is always slow meets as little as one
 * that is never.
 *
 * One run in three, of small programs two, hold threads back instead, as the strategy "hold" of controlled runs
 * does: at some places of the code, drawn for the run, whoever comes there rests for long.
 */
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "runtime/record/runtime.h"

#define NO_CHAOS (1ull << 62)

uint64_t rt_next_random(uint64_t* state) { /* splitmix64 */
  uint64_t z = (*state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

uint64_t rt_thread_seed(const struct rt_thread* thread) {
  uint64_t hash = rt.chaos_seed;
  for (const char* at = thread->name; *at != 0; ++at) hash = (hash ^ (uint8_t)*at) * 0x100000001b3ull;
  return hash;
}

static uint64_t below(struct rt_thread* self, uint64_t limit) {
  return rt_next_random(&self->random) % limit;
}

static void spin(uint64_t cycles) {
  const uint64_t begin = rt_tsc();
  while (rt_tsc() - begin < cycles) __builtin_ia32_pause();
}

static void sleep_us(uint64_t us) {
  const struct timespec time = {.tv_nsec = (long)us * 1000};
  RT_SYS2(SYS_nanosleep, &time, NULL);
}

/* To one processor of those it may use, and back at the next occasion. */
static void move(struct rt_thread* self) {
  uint64_t place[16] = {0};
  if (self->moved) {
    memcpy(place, self->home, sizeof place);
  } else {
    unsigned count = 0;
    for (unsigned i = 0; i < 16; ++i) count += (unsigned)__builtin_popcountll(self->home[i]);
    if (count < 2) return;
    uint64_t skip = below(self, count);
    for (unsigned processor = 0; processor < 1024; ++processor)
      if ((self->home[processor / 64] >> processor % 64 & 1) != 0 && skip-- == 0)
        place[processor / 64] = 1ull << processor % 64;
  }
  self->moved = !self->moved;
  RT_SYS3(SYS_sched_setaffinity, 0, sizeof place, place);
}

#define PLACES_LOOKED_AT 20000 /* by each thread; then the run is disturbed like the others */
#define MOST_RESTS 60          /* of all threads: others may wait for who rests */

static uint32_t rests;

extern const uint32_t heddle_chaos_places __attribute__((weak)); /* HEDDLE_CHAOS_PLACES */

static uint32_t places(void) {
  return &heddle_chaos_places == NULL ? UINT32_MAX : heddle_chaos_places;
}

static bool is_hold_run(void) {
  return rt.chaos_seed % 3 < (places() < 64 ? 2 : 1);
}

/* From one place in four to one in 256, but not so rarely that there would be none. */
static bool is_held(const void* place) {
  extern const char __executable_start;
  uint64_t ways = 1;
  while (ways < 7 && 4u << ways < places()) ++ways;
  uint64_t state = rt.chaos_seed ^ (uint64_t)((const char*)place - &__executable_start) << 20;
  return rt_next_random(&state) % (4ull << rt.chaos_seed / 3 % ways) == 0;
}

static bool hold(struct rt_thread* self, const void* place) {
  if (!is_hold_run() || self->looked_at == PLACES_LOOKED_AT) return false;
  ++self->looked_at;
  heddle_record_state.chaos = 1;
  if (!is_held(place) || below(self, 4) == 0) return true;
  if (__atomic_fetch_add(&rests, 1, __ATOMIC_RELAXED) >= MOST_RESTS) {
    self->looked_at = PLACES_LOOKED_AT;
    return true;
  }
  sleep_us(100 + below(self, 2000));
  return true;
}

void rt_disturb(struct rt_thread* self, const void* place) {
  if (hold(self, place)) return;
  if (below(self, 16) == 0) self->dense = !self->dense;
  heddle_record_state.chaos = 1 + below(self, self->dense ? 12 : 200);
  const uint64_t draw = below(self, 1000);
  if (draw < 600) return;
  if (draw < 780)
    RT_SYS0(SYS_sched_yield);
  else if (draw < 920)
    spin(3000 + below(self, 150000)); /* some 1 to 50 us */
  else if (draw < 960)
    sleep_us(50 + below(self, 450));
  else if (draw < 972)
    sleep_us(500 + below(self, 2500));
  else if (draw < 988)
    move(self);
  else
    RT_SYS3(SYS_setpriority, PRIO_PROCESS, self->tid, below(self, 10)); /* may be refused */
}

void rt_rest(uint64_t* random) {
  const uint64_t draw = rt_next_random(random) % 100;
  if (draw < 50)
    spin(3000 + rt_next_random(random) % 100000);
  else
    sleep_us(20 + rt_next_random(random) % (draw < 80 ? 300 : 3000)); /* a thread takes that long to begin */
}

void heddle_record_chaos(void) {
  if (rt.chaos)
    rt_disturb(rt_self, __builtin_return_address(0));
  else
    heddle_record_state.chaos = NO_CHAOS;
}

void rt_chaos_begin(struct rt_thread* self) {
  self->random = rt_thread_seed(self);
  self->dense = below(self, 2) != 0;
  RT_SYS3(SYS_sched_getaffinity, 0, sizeof self->home, self->home);
  rt_disturb(self, NULL);
}

/* Threads that live on use what main has freed and what exit handlers have destroyed, if they have the time. */
void rt_chaos_end(void) {
  uint64_t state = ~rt.chaos_seed;
  if (rt.chaos && rt_next_random(&state) % 2 == 0 && rt_others_live())
    sleep_us(200 + rt_next_random(&state) % 5000);
}
