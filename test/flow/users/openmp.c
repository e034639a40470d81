// OpenMP: loops of all schedules, reductions, critical and ordered parts, single, tasks of all kinds, locks. What must
// come out whatever the order is checked; the orders themselves are printed.
//
// HEDDLE-CC: -fopenmp
#include <assert.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kThreads = 4, kSize = 100 };
static int done[kSize];      // how often each iteration was executed
static int order[4 * kSize], orders;  // by whom, in which order
static long total;
static int kept;  // private to each thread
#pragma omp threadprivate(kept)

static void note(int what) {
  int at;
#pragma omp atomic capture
  at = orders++;
  order[at] = what;
}

static void all_once(void) {
  for (int i = 0; i < kSize; ++i) assert(done[i] == 1);
  memset(done, 0, sizeof done);
  orders = 0;
}

static unsigned hash_of_order(void) {
  unsigned hash = 0;
  for (int i = 0; i < orders; ++i) hash = hash * 31 + (unsigned)order[i];
  return hash;
}

#define LOOP(clauses)                                   \
  do {                                                  \
    _Pragma("omp parallel num_threads(kThreads)") {     \
      _Pragma(clauses) for (int i = 0; i < kSize; ++i) { \
        ++done[i];                                      \
        note(omp_get_thread_num());                     \
      }                                                 \
    }                                                   \
    printf("%s: %u\n", clauses, hash_of_order());       \
    all_once();                                         \
  } while (0)

static void loops(void) {
  LOOP("omp for");
  LOOP("omp for schedule(static, 3)");
  LOOP("omp for schedule(dynamic)");
  LOOP("omp for schedule(dynamic, 7) nowait");
  LOOP("omp for schedule(guided, 2)");
  LOOP("omp for schedule(runtime)");
  LOOP("omp for schedule(auto)");
  omp_sched_t schedule;
  int chunk;
  omp_set_schedule(omp_sched_dynamic, 6);
  omp_get_schedule(&schedule, &chunk);
  assert(schedule % 8 == omp_sched_dynamic && chunk == 6);
  LOOP("omp for schedule(runtime)");
  int last = -1, few = 0;
#pragma omp parallel for num_threads(kThreads) schedule(static, 7) lastprivate(last)
  for (long i = kSize - 1; i >= 0; i -= 3) last = (int)i;
  assert(last == 0);
#pragma omp parallel for num_threads(kThreads) lastprivate(last) reduction(+ : few)
  for (unsigned i = 5; i < 7; ++i) {
    last = (int)i;
    ++few;
  }
  assert(last == 6 && few == 2);
#pragma omp parallel for num_threads(kThreads) schedule(dynamic, 4) lastprivate(last)
  for (unsigned long i = 3; i < 50; i += 4) last = (int)i;
  assert(last == 47);
#pragma omp parallel for num_threads(kThreads)
  for (int i = 5; i < 5; ++i) abort();
}

static void reductions(void) {
  long sum = 0, product = 1;
  int most = 0;
  double half = 0;
#pragma omp parallel for num_threads(kThreads) reduction(+ : sum, half) reduction(max : most) reduction(* : product)
  for (int i = 1; i <= 20; ++i) {
    sum += i;
    half += 0.5;
    if (i * 7 % 20 > most) most = i * 7 % 20;
    if (i < 10) product *= i;
  }
  assert(sum == 210 && half == 10 && most == 19 && product == 362880);
#pragma omp parallel num_threads(kThreads)
  {
#pragma omp for reduction(+ : total)
    for (int i = 0; i < kSize; ++i) total += i;
#pragma omp single
    assert(total == kSize * (kSize - 1) / 2);
  }
}

static void one_at_a_time(void) {
  long named = 0, unnamed = 0, mixed = 1;
  int singles = 0, masters = 0, copied = 0;
#pragma omp parallel num_threads(kThreads)
  {
    for (int i = 0; i < 20; ++i) {
#pragma omp critical(name)
      ++named;
#pragma omp critical
      {
        ++unnamed;
        mixed = mixed * 31 + omp_get_thread_num();
      }
    }
#pragma omp master
    ++masters;
#pragma omp single nowait
#pragma omp atomic
    ++singles;
#pragma omp single
#pragma omp atomic
    ++singles;
    int value = 0;
#pragma omp single copyprivate(value)
    value = 42;
#pragma omp atomic
    copied += value;
    kept = omp_get_thread_num();
#pragma omp barrier
#pragma omp sections
    {
#pragma omp section
      note(1);
#pragma omp section
      note(2);
    }
  }
  assert(named == 20 * kThreads && unnamed == 20 * kThreads && singles == 2 && masters == 1);
  assert(copied == 42 * kThreads && orders == 2);
  orders = 0;
  printf("critical: %ld\n", mixed);
#pragma omp parallel num_threads(kThreads)
  assert(kept >= 0 && kept < kThreads);
}

static void in_order(void) {
  int next = 0;
#pragma omp parallel for num_threads(kThreads) ordered schedule(dynamic, 3)
  for (int i = 0; i < kSize; ++i) {
    ++done[i];
    if (i % 5 == 0) continue;
#pragma omp ordered
    {
      assert(i > next);
      next = i;
    }
  }
  assert(next == kSize - 1);
  all_once();
}

static int fib(int n) {
  if (n < 2) return n;
  int a, b;
#pragma omp task shared(a) final(n < 5)
  a = fib(n - 1);
#pragma omp task shared(b) if (n > 3)
  b = fib(n - 2);
#pragma omp taskwait
  return a + b;
}

static void tasks(void) {
  int result = 0, chain = 0, grouped = 0;
#pragma omp parallel num_threads(kThreads)
#pragma omp single
  {
    result = fib(10);
    for (int i = 0; i < 8; ++i) {
#pragma omp task depend(inout : chain) firstprivate(i)
      {
        assert(chain == i);
        chain = i + 1;
      }
    }
#pragma omp taskgroup
    {
#pragma omp task
      {
        for (int i = 0; i < 5; ++i) {
#pragma omp task
#pragma omp atomic
          ++grouped;
        }
      }
    }
    assert(grouped == 5);
#pragma omp taskloop grainsize(8)
    for (int i = 0; i < kSize; ++i) {
      ++done[i];
      note(omp_get_thread_num());
    }
  }
  assert(result == 55 && chain == 8);
  printf("tasks: %u\n", hash_of_order());
  all_once();
#pragma omp parallel num_threads(kThreads)
#pragma omp master
  for (int i = 0; i < kSize; ++i) {
#pragma omp task firstprivate(i)
    ++done[i];
  }
  all_once();
}

static void asked(void) {
  assert(omp_get_num_threads() == 1 && !omp_in_parallel() && omp_get_level() == 0);
  omp_set_num_threads(3);
  assert(omp_get_max_threads() == 3);
  const double before = omp_get_wtime();
  omp_lock_t lock;
  omp_nest_lock_t nest;
  omp_init_lock(&lock);
  omp_init_nest_lock(&nest);
  int count = 0, tries = 0, inner = 0;
#pragma omp parallel
  {
    assert(omp_get_num_threads() == 3 && omp_in_parallel());
    omp_set_lock(&lock);
    ++count;
    omp_unset_lock(&lock);
    while (!omp_test_lock(&lock)) {
#pragma omp atomic
      ++tries;
    }
    ++count;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nest);
    omp_set_nest_lock(&nest);
    ++count;
    omp_unset_nest_lock(&nest);
    omp_unset_nest_lock(&nest);
#pragma omp parallel num_threads(2) if (omp_get_thread_num() != 1)
    {
#pragma omp atomic
      ++inner;
#pragma omp barrier
    }
  }
  omp_destroy_lock(&lock);
  omp_destroy_nest_lock(&nest);
  assert(count == 9 && inner >= 3 && omp_get_wtime() >= before);
}

int main(void) {
  loops();
  reductions();
  one_at_a_time();
  in_order();
  tasks();
  asked();
  puts("done");
  return 0;
}
