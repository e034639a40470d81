// What the parts of openmp.cpp share.
//
//   teams.h   parallel regions, barriers, critical sections, reductions, single
//   loops.h   which thread executes which iterations
//   tasks.h   tasks
//   asked.h   functions that programs call by name (omp.h), locks
//
// libomp's threads wait for each other by memory that no hook sees, and it decides by chance which thread gets
// which work. So its functions are told by simple ones: everything that threads share here is under one lock.
// Where OpenMP leaves a choice the simplest is made: a parallel region inside another one has one thread
// (one active level), and a task waits for those that it depends on before it is queued.
#pragma once

#include <pthread.h>

#include <cstdint>

namespace {

struct Group {
  Group* outer;
  long unfinished;
};

// Before its body, as the program sees that (kmp_task_t and what follows).
struct Dependence;
struct Task {
  Task* next;  // in its team's queue
  Task* parent;
  Group* group;
  Dependence* dependences;  // of its children that are not finished
  long children;            // that are not finished
  uint64_t size;            // of its body
  int flags;
  bool over;
};

// A loop that is handed out in pieces.
struct Loop {
  Loop* next;
  unsigned long number;   // of the loop among those of the team
  uint64_t trips, given;  // iterations; those that have been handed out
  uint64_t in_order;      // the iteration whose ordered part comes next
  int schedule, left;     // left: threads that are done with it
  uint64_t chunk;
};

struct Team {
  int count;
  pthread_cond_t changed;
  int arrived, done;  // at the barrier; with the region
  unsigned long barriers, singles;
  Task *first, *last;  // tasks that wait for somebody to execute them
  long unfinished;     // tasks
  Loop* loops;
  void* copied;  // of copyprivate
};

// Where a thread is.
struct Place {
  Team* team;
  int number, level, active;
  unsigned long singles, loops;
  Task* task;
  Loop* loop;  // that it gets pieces of
  uint64_t piece, iteration, low, step;
  bool was_in_order;
  void* alone;  // of a region that the program calls itself
};

pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;

static inline void lock() {
  pthread_mutex_lock(&all);
}
static inline void unlock() {
  pthread_mutex_unlock(&all);
}
// With the lock, which is let go meanwhile.
static inline void wait_for_change(Team& team) {
  pthread_cond_wait(&team.changed, &all);
}

// Where the present thread is.
Place& place();
void barrier();
// With the lock: executes tasks, any or only descendants of the present one, until `over` says so.
void run_until(bool (*over)(void*), void* what, bool any);
int most_threads();  // of a region, if nothing else is said

}  // namespace
