// Model of OpenMP's teams (openmp.cpp). The threads of a team come from a pool, as those of libomp do: they
// live as long as the process, so what is private to a thread stays.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "library_models/openmp/shared.h"

namespace {

__thread Place here_now;
__thread Team alone_team;  // of code outside of parallel regions
__thread Task alone_task;

Place& place() {
  if (here_now.team == nullptr) {
    alone_team.count = 1;
    here_now.team = &alone_team;
    here_now.task = &alone_task;
  }
  return here_now;
}

using Region = void (*)(int*, int*, ...);
constexpr int kMostArguments = 64;

struct Work {
  Region region;
  int argument_count;
  void* arguments[kMostArguments];
  Team* team;
  int level;
};

// A thread of the pool.
struct Worker {
  pthread_cond_t called;
  const Work* work;  // null: it has none
  int number;
  Worker* next;  // that has no work
};
Worker* idle;
__thread int asked_count;  // by num_threads, for the next region

void call(const Work& work, int number) {
  int global = number, bound = number;
  void* const* a = work.arguments;
  switch (work.argument_count) {
#define CASE(count, ...) \
  case count:            \
    return work.region(&global, &bound, __VA_ARGS__)
#define A4(i) a[i], a[i + 1], a[i + 2], a[i + 3]
#define A16(i) A4(i), A4(i + 4), A4(i + 8), A4(i + 12)
    case 0:
      return work.region(&global, &bound);
      CASE(1, a[0]);
      CASE(2, a[0], a[1]);
      CASE(3, a[0], a[1], a[2]);
      CASE(4, A4(0));
      CASE(5, A4(0), a[4]);
      CASE(6, A4(0), a[4], a[5]);
      CASE(7, A4(0), a[4], a[5], a[6]);
      CASE(8, A4(0), A4(4));
    default:  // more than it has are passed by
      return work.region(&global, &bound, A16(0), A16(16), A16(32), A16(48));
#undef A16
#undef A4
#undef CASE
  }
}

void execute(const Work& work, int number) {
  Place& here = place();
  const Place before = here;
  Task own = {};
  here = Place{};
  here.team = work.team;
  here.number = number;
  here.level = work.level;
  here.active = work.team->count > 1 ? 1 : before.active;
  here.task = &own;
  call(work, number);
  barrier();
  here = before;
}

void* work_on(void* argument) {
  Worker& self = *static_cast<Worker*>(argument);
  lock();
  for (;;) {
    while (self.work == nullptr) pthread_cond_wait(&self.called, &all);
    const Work& work = *self.work;
    unlock();
    execute(work, self.number);
    lock();
    self.work = nullptr;
    self.next = idle;
    idle = &self;
    ++work.team->done;
    pthread_cond_broadcast(&work.team->changed);
  }
}

// With the lock. Null: there is no thread to be had.
Worker* find_worker() {
  if (idle != nullptr) {
    Worker* const found = idle;
    idle = found->next;
    return found;
  }
  Worker* const made = static_cast<Worker*>(calloc(1, sizeof(Worker)));
  if (made == nullptr) return nullptr;
  pthread_cond_init(&made->called, nullptr);
  pthread_t handle;
  if (pthread_create(&handle, nullptr, work_on, made) != 0) return nullptr;
  pthread_detach(handle);
  return made;
}

void fork(Work& work, int count) {
  Team team = {};
  pthread_cond_init(&team.changed, nullptr);
  team.count = count;
  work.team = &team;
  work.level = place().level + 1;
  if (count > 1) {
    Worker* workers[256];
    lock();
    int found = 1;
    while (found < count && found < 256) {
      Worker* const worker = find_worker();
      if (worker == nullptr) break;
      workers[found++] = worker;
    }
    team.count = found;
    for (int i = 1; i < found; ++i) {
      workers[i]->number = i;
      workers[i]->work = &work;
      pthread_cond_signal(&workers[i]->called);
    }
    unlock();
  }
  execute(work, 0);
  if (team.count > 1) {
    lock();
    while (team.done < team.count - 1) wait_for_change(team);
    unlock();
  }
  pthread_cond_destroy(&team.changed);
}

int region_count() {
  Place& here = place();
  const int asked = asked_count;
  asked_count = 0;
  if (here.active > 0) return 1;
  return asked > 0 ? asked : most_threads();
}

void fork_arguments(int argument_count, Region region, va_list list, int count) {
  if (argument_count > kMostArguments) {
    fputs("heddle: more than 64 variables are shared with an OpenMP region\n", stderr);
    abort();
  }
  Work work = {};
  work.region = region;
  work.argument_count = argument_count;
  for (int i = 0; i < argument_count; ++i) work.arguments[i] = va_arg(list, void*);
  fork(work, count);
}

// A region of one thread, which the program calls itself.
struct Alone {
  Place outer;
  Team team;
  Task task;
};

struct Barrier {
  Team* team;
  unsigned long number;
};
// The last that comes, when all tasks are finished, lets all others go on.
bool barrier_over(void* argument) {
  const Barrier& now = *static_cast<Barrier*>(argument);
  Team& team = *now.team;
  if (team.barriers != now.number) return true;
  if (team.arrived < team.count || team.unfinished != 0) return false;
  team.arrived = 0;
  ++team.barriers;
  pthread_cond_broadcast(&team.changed);
  return true;
}

void barrier() {
  Place& here = place();
  if (here.team->count == 1) return;
  lock();
  Barrier now = {here.team, here.team->barriers};
  ++here.team->arrived;
  run_until(barrier_over, &now, true);
  unlock();
}

// The program gives room for a pointer to it, zero at first.
pthread_mutex_t& mutex_of(void* name) {
  pthread_mutex_t** const room = static_cast<pthread_mutex_t**>(name);
  pthread_mutex_t* there = __atomic_load_n(room, __ATOMIC_ACQUIRE);
  if (there != nullptr) return *there;
  lock();
  there = __atomic_load_n(room, __ATOMIC_ACQUIRE);
  if (there == nullptr) {
    there = static_cast<pthread_mutex_t*>(malloc(sizeof *there));
    if (there == nullptr) abort();
    pthread_mutex_init(there, nullptr);
    __atomic_store_n(room, there, __ATOMIC_RELEASE);
  }
  unlock();
  return *there;
}

}  // namespace

extern "C" {

// ---- parallel regions
int __kmpc_global_thread_num(void*) {
  return place().number;
}
void __kmpc_push_num_threads(void*, int, int count) {
  asked_count = count;
}
void __kmpc_push_proc_bind(void*, int, int) {}

void __kmpc_fork_call(void*, int argument_count, Region region, ...) {
  va_list list;
  va_start(list, region);
  fork_arguments(argument_count, region, list, region_count());
  va_end(list);
}

// One argument, which holds all.
void __kmpc_fork_call_if(void*, int argument_count, Region region, int condition, void* arguments) {
  Work work = {};
  work.region = region;
  work.argument_count = argument_count;
  work.arguments[0] = arguments;
  const int count = region_count();
  fork(work, condition != 0 ? count : 1);
}

// The program calls the region itself, between these.
void __kmpc_serialized_parallel(void*, int) {
  Place& here = place();
  Alone* const alone = static_cast<Alone*>(calloc(1, sizeof(Alone)));
  if (alone == nullptr) abort();
  alone->outer = here;
  alone->team.count = 1;
  pthread_cond_init(&alone->team.changed, nullptr);
  asked_count = 0;
  here = Place{};
  here.team = &alone->team;
  here.task = &alone->task;
  here.level = alone->outer.level + 1;
  here.active = alone->outer.active;
  here.alone = alone;
}
void __kmpc_end_serialized_parallel(void*, int) {
  Place& here = place();
  Alone* const alone = static_cast<Alone*>(here.alone);
  here = alone->outer;
  free(alone);
}

// ---- barriers
void __kmpc_barrier(void*, int) {
  barrier();
}
int __kmpc_cancel_barrier(void*, int) {
  barrier();
  return 0;
}
// As long as OMP_CANCELLATION does not ask for it.
int __kmpc_cancel(void*, int, int) {
  return 0;
}
int __kmpc_cancellationpoint(void*, int, int) {
  return 0;
}
void __kmpc_flush(void*) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

// ---- one at a time, one of all
void __kmpc_critical(void*, int, void* name) {
  pthread_mutex_lock(&mutex_of(name));
}
void __kmpc_critical_with_hint(void*, int, void* name, uint32_t) {
  pthread_mutex_lock(&mutex_of(name));
}
void __kmpc_end_critical(void*, int, void* name) {
  pthread_mutex_unlock(&mutex_of(name));
}

int __kmpc_master(void*, int) {
  return place().number == 0;
}
void __kmpc_end_master(void*, int) {}
int __kmpc_masked(void*, int, int number) {
  return place().number == number;
}
void __kmpc_end_masked(void*, int) {}

// Who comes first to the n-th of them.
int __kmpc_single(void*, int) {
  Place& here = place();
  const unsigned long number = here.singles++;
  if (here.team->count == 1) return 1;
  lock();
  const bool first = here.team->singles == number;
  if (first) ++here.team->singles;
  unlock();
  return first;
}
void __kmpc_end_single(void*, int) {}

void __kmpc_copyprivate(void*, int, size_t, void* data, void (*copy)(void*, void*), int here_it_was) {
  Team& team = *place().team;
  if (here_it_was != 0) team.copied = data;
  barrier();
  if (here_it_was == 0) copy(data, team.copied);
  barrier();
}

// ---- reductions: each thread adds its part under a lock
int __kmpc_reduce(void*, int, int, size_t, void*, void (*)(void*, void*), void* name) {
  pthread_mutex_lock(&mutex_of(name));
  return 1;
}
void __kmpc_end_reduce(void*, int, void* name) {
  pthread_mutex_unlock(&mutex_of(name));
  barrier();
}
int __kmpc_reduce_nowait(void*, int, int, size_t, void*, void (*)(void*, void*), void* name) {
  pthread_mutex_lock(&mutex_of(name));
  return 1;
}
void __kmpc_end_reduce_nowait(void*, int, void* name) {
  pthread_mutex_unlock(&mutex_of(name));
}

}  // extern "C"
