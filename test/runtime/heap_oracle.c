/* The heap of the control runtime against a simple model: random calls of the whole family by several threads.
 *
 *   - blocks are aligned, do not overlap, keep their contents, calloc gives zeros
 *   - touching a freed block, freeing twice and freeing what is no block are recognised, everything else is not
 *   - names of blocks are right
 *   - addresses depend on what a thread did, not on when it did it
 *   - after a reset contents are those of the snapshot, and the same calls give the same addresses
 *
 * Usage: heap_oracle FIRST_SEED COUNT. The rest of the runtime is played by this file. */
#include <malloc.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/control/heap.h"

/* ---- the rest of the runtime */
struct rt_globals rt;
__thread uint32_t heddle_control_site __attribute__((tls_model("initial-exec")));
static struct rt_thread threads[80];
static jmp_buf failed;
static bool expecting;
static enum heddle_outcome outcome;
static uint32_t events;

long rt_system_call(long number, long a, long b, long c, long d, long e, long f) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

#define CHECK(condition) ((condition) ? (void)0 : wrong(#condition, __LINE__))
static uint64_t seed;
static _Noreturn void wrong(const char* what, int line) {
  rt.active = false;
  fprintf(stderr, "heap oracle: seed %llu: line %d: %s\n", (unsigned long long)seed, line, what);
  _exit(1);
}

void rt_fail_at(enum heddle_outcome what, const void* address, uint32_t other_thread, uint32_t other_site,
                const char* text) {
  (void)address, (void)other_thread, (void)other_site;
  if (!expecting) wrong(text, __LINE__);
  outcome = what;
  longjmp(failed, 1);
}
void rt_fail(enum heddle_outcome what, const char* text) {
  (void)what;
  wrong(text, __LINE__);
}
void rt_bug(const char* text) {
  wrong(text, __LINE__);
}
void rt_heap_event(void* at, uint64_t size) {
  (void)at, (void)size;
  ++events;
}
void rt_heap_moved(const void* from, const void* to, uint64_t size) {
  (void)from;
  (void)to;
  (void)size;
}
static _Alignas(4096) uint8_t kept[1 << 20];
static uint64_t kept_size;
void* rt_permanent(size_t size) {
  void* p = kept + kept_size;
  kept_size += (size + 15) & ~15ull;
  return p;
}
bool rt_is_permanent(const void* at) {
  return (uint64_t)((const uint8_t*)at - kept) < sizeof kept;
}

/* ---- the model */
struct model {
  uint8_t* start;
  uint64_t size;
  uint32_t thread, number;
  uint8_t fill;
  bool live;
};
#define MAX_BLOCKS 200000
#define MAX_LIVE 400
struct world {
  uint32_t count, live_count;
  uint32_t numbers[80];
  uint32_t live[MAX_LIVE];
  struct model blocks[MAX_BLOCKS];
};
static struct world* world;
static uint64_t addresses; /* hash of all that was handed out */

static uint64_t chance;
static uint64_t below(uint64_t limit) {
  return rt_next_random(&chance) % limit;
}

static uint64_t some_size(void) {
  switch (below(16)) {
    case 0:
      return below(3) == 0 ? below(8 << 20) : below(300000);
    case 1:
    case 2:
      return below(20000);
    default:
      return below(300);
  }
}

static void expect(enum heddle_outcome what, void (*act)(void*), void* argument) {
  outcome = HEDDLE_OUTCOME_passed;
  expecting = true;
  if (setjmp(failed) == 0) act(argument);
  expecting = false;
  CHECK(outcome == what);
}

static void touch(void* at) {
  rt_heap_check(at, 1, 7);
}

static void touch_more(void* at) {
  rt_heap_check(at, 40, 7);
}

static void check_contents(const struct model* block) {
  const uint64_t step = block->size > 4096 ? 997 : 1;
  for (uint64_t i = 0; i < block->size; i += step) CHECK(block->start[i] == block->fill);
  if (block->size > 0) CHECK(block->start[block->size - 1] == block->fill);
}

static void check_name(const struct model* block) {
  struct heddle_place place;
  const uint64_t offset = block->size == 0 ? 0 : below(block->size);
  CHECK(rt_heap_place(block->start + offset, &place));
  CHECK(place.kind == HEDDLE_PLACE_heap && place.thread == block->thread && place.index == block->number &&
        place.offset == offset);
  if ((uint64_t)block->start < HEAP_LARGE) CHECK(!rt_heap_place(block->start - 8, &place)); /* between blocks */
}

static void check_free_of_others(const struct model* new_block) {
  for (uint32_t i = 0; i < world->live_count; ++i) {
    const struct model* block = &world->blocks[world->live[i]];
    CHECK(block->start + block->size <= new_block->start || new_block->start + new_block->size <= block->start);
    CHECK(block->start != new_block->start);
  }
}

/* What was left in memory that is handed out again is part of what the program sees. */
static void add(void* start, uint64_t size, uint64_t alignment) {
  CHECK(start != NULL);
  CHECK((uint64_t)start % alignment == 0 && malloc_usable_size(start) >= size);
  CHECK(world->count < MAX_BLOCKS && world->live_count < MAX_LIVE);
  struct model* block = &world->blocks[world->count];
  const uint32_t thread = rt.current->index;
  *block = (struct model){.start = start,
                          .size = size,
                          .thread = thread,
                          .number = world->numbers[thread]++,
                          .fill = (uint8_t)below(256),
                          .live = true};
  check_free_of_others(block);
  check_name(block);
  world->live[world->live_count++] = world->count++;
  addresses = rt_mix(rt_mix(addresses, (uint64_t)start), size > 0 ? block->start[size / 2] : 0);
  memset(start, block->fill, size);
}

static struct model* take_out(void) {
  const uint32_t at = (uint32_t)below(world->live_count);
  struct model* block = &world->blocks[world->live[at]];
  world->live[at] = world->live[--world->live_count];
  block->live = false;
  check_contents(block);
  check_name(block);
  return block;
}

static void try_wrong_calls(void) {
  struct model* block = &world->blocks[below(world->count)];
  if (block->live) {
    if (block->size == 0) return;
    touch(block->start + below(block->size));
    if (block->size >= 40) touch_more(block->start + below(block->size - 39));
    expect(HEDDLE_OUTCOME_invalid_free, free, block->start + 1 + below(block->size));
    return;
  }
  /* It may have been handed out again meanwhile. */
  for (uint32_t i = 0; i < world->live_count; ++i) {
    const struct model* other = &world->blocks[world->live[i]];
    if (other->start < block->start + block->size + 16 && block->start < other->start + other->size + 16)
      return;
  }
  if (block->size > 0) expect(HEDDLE_OUTCOME_use_after_free, touch, block->start + below(block->size));
  if (block->size >= 40)
    expect(HEDDLE_OUTCOME_use_after_free, touch_more, block->start + below(block->size - 39));
  expect(HEDDLE_OUTCOME_double_free, free, block->start);
}

static void rewrite(void) {
  struct model* block = &world->blocks[world->live[below(world->live_count)]];
  check_contents(block);
  block->fill = (uint8_t)below(256);
  memset(block->start, block->fill, block->size);
}

static void act(void) {
  if (world->live_count > 0 && below(10) == 0) {
    rewrite();
    return;
  }
  if (world->live_count > 0 && (world->live_count == MAX_LIVE || below(5) < 2)) {
    struct model* block = take_out();
    if (below(4) != 0) {
      const uint32_t before = events;
      free(block->start);
      CHECK(events == before + 1);
      return;
    }
    const uint64_t size = 1 + some_size(), common = size < block->size ? size : block->size;
    uint8_t* moved = realloc(block->start, size);
    for (uint64_t i = 0; i < common; i += common > 4096 ? 997 : 1) CHECK(moved[i] == block->fill);
    if (moved == block->start) { /* the same block goes on */
      block->live = true;
      block->size = size;
      world->live[world->live_count++] = (uint32_t)(block - world->blocks);
      memset(moved, block->fill, size);
      return;
    }
    add(moved, size, 16);
    return;
  }
  const uint64_t size = some_size();
  switch (below(6)) {
    case 0: {
      uint8_t* start = calloc(size / 8 + 1, 8);
      for (uint64_t i = 0; i < size; i += size > 4096 ? 503 : 1) CHECK(start[i] == 0);
      add(start, (size / 8 + 1) * 8, 16);
      break;
    }
    case 1: {
      const uint64_t alignment = 8ull << below(below(8) == 0 ? 19 : 9);
      void* start = NULL;
      CHECK(posix_memalign(&start, alignment, size) == 0);
      add(start, size, alignment);
      break;
    }
    default:
      add(malloc(size), size, 16);
  }
}

static void run(uint32_t steps, uint32_t first_thread, uint32_t thread_count) {
  for (uint32_t i = 0; i < steps; ++i) {
    rt.current = &threads[first_thread + below(thread_count)];
    if (below(8) == 0 && world->count > 0)
      try_wrong_calls();
    else
      act();
  }
}

static void check_all(void) {
  for (uint32_t i = 0; i < world->live_count; ++i) check_contents(&world->blocks[world->live[i]]);
}

/* ---- addresses do not depend on the interleaving: two threads, one after the other or mixed */
#define CALLS 300
static void alone(uint32_t thread, uint32_t call, void** blocks) {
  rt.current = &threads[thread];
  uint64_t state = seed * 1000003 + thread * 10007 + call;
  const uint64_t random = rt_next_random(&state);
  if (call >= 2 && random % 3 == 0) {
    free(blocks[call - 2]);
    blocks[call] = malloc(random / 3 % 100);
  } else {
    blocks[call] = malloc(random / 3 % (random % 7 == 0 ? 1 << 20 : 500));
  }
}

static void check_interleavings(void) {
  static void *first[2][CALLS], *second[2][CALLS];
  for (uint32_t thread = 0; thread < 2; ++thread)
    for (uint32_t call = 0; call < CALLS; ++call) alone(thread + 1, call, first[thread]);
  rt_heap_reset();
  uint32_t next[2] = {0, 0};
  while (next[0] < CALLS || next[1] < CALLS) {
    const uint32_t thread = next[0] == CALLS || (next[1] < CALLS && below(2) == 0) ? 1 : 0;
    alone(thread + 1, next[thread]++, second[thread]);
  }
  CHECK(memcmp(first, second, sizeof first) == 0);
  rt_heap_reset();
}

static void check_quarantine(void) {
  rt.current = &threads[3];
  void* first = malloc(1000);
  free(first);
  uint64_t before_reuse = 0;
  for (; before_reuse < 1 << 20; ++before_reuse) {
    void* p = malloc(1000);
    if (p == first) break;
    free(p);
  }
  CHECK(before_reuse > 1000 && before_reuse < 1 << 18); /* not soon, but some time */
  rt_heap_reset();
}

static char* neighbours; /* three blocks of 100 bytes */
static void touch_neighbours(void* unused) {
  (void)unused;
  rt_heap_check(neighbours, 400, 7);
}

static void check_ranges(void) {
  rt.current = &threads[5];
  rt.active = true;
  neighbours = malloc(100);
  char* middle = malloc(100);
  CHECK(malloc(100) != NULL);
  touch_neighbours(NULL);
  free(middle);
  expect(HEDDLE_OUTCOME_use_after_free, touch_neighbours, NULL);
  rt.active = false;
  rt_heap_reset();
}

static void check_mappings(void) {
  struct heddle_place place;
  rt.current = &threads[2];
  char* one = mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* two = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  one[9999] = two[0] = 1;
  CHECK(rt_mapping_place(two + 5, &place) && place.thread == 2 && place.index == 1 && place.offset == 5);
  char* grown = mremap(one, 10000, 100000, MREMAP_MAYMOVE);
  CHECK(grown != MAP_FAILED && grown[9999] == 1 && munmap(two, 4096) == 0);
  CHECK(!rt_mapping_place(two + 5, &place) && !rt_mapping_place(one, &place) &&
        rt_mapping_place(grown, &place));
  rt_heap_reset();
  CHECK(mmap(NULL, 10000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == one && one[9999] == 0);
  rt_heap_reset();
}

/* ---- */
static struct world* start;

static void one_seed(void) {
  const uint64_t random = seed;
  chance = random;
  memset(world, 0, sizeof *world);
  /* Blocks of before main() are there already: numbers go on. */
  struct heddle_place place;
  rt.current = &threads[0];
  CHECK(rt_heap_place(malloc(1), &place));
  world->numbers[0] = (uint32_t)place.index + 1;
  rt.active = true;
  run((uint32_t)below(300), 0, 1);
  rt.active = false;
  rt_heap_snapshot();
  memcpy(start, world, sizeof *world);
  check_interleavings();
  check_quarantine();
  check_ranges();
  check_mappings();
  for (int round = 0; round < 3; ++round) {
    memcpy(world, start, sizeof *world);
    check_all();
    chance = random + 1;
    addresses = 0;
    rt.active = true;
    if (round == 0)
      run(8000, 64, 2); /* arenas with little room: blocks are used again */
    else
      run(round * 1000, 0, 6);
    if (round == 2) {
      const uint64_t once = addresses;
      rt_heap_reset();
      memcpy(world, start, sizeof *world);
      check_all();
      chance = random + 1;
      addresses = 0;
      run(2000, 0, 6);
      CHECK(addresses == once);
    }
    rt.active = false;
    check_all();
    rt_heap_reset();
  }
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (uint32_t i = 0; i < 80; ++i) threads[i].index = threads[i].arena = i;
  rt_heap_begin_execution();
  const uint64_t size = (sizeof(struct world) + 4095) & ~4095ull;
  uint8_t* memory = (uint8_t*)rt_system_call(SYS_mmap, 0, (long)(2 * size), PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  world = (struct world*)memory;
  start = (struct world*)(memory + size);
  const uint64_t first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
  for (seed = first; seed < first + count; ++seed) one_seed();
  printf("heap oracle: %llu seeds, no difference\n", (unsigned long long)count);
  return 0;
}
