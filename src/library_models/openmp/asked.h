// Model of what programs ask OpenMP by name (openmp.cpp).
#pragma once

#include <sched.h>

#include <cstdlib>
#include <ctime>

#include "library_models/openmp/shared.h"

namespace {

int wanted_count;  // 0: nobody has said or found out

int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) < 0) return 1;
  int count = 0;
  for (unsigned i = 0; i < CPU_SETSIZE; ++i) count += CPU_ISSET(i, &set) ? 1 : 0;
  return count < 1 ? 1 : count;
}

int most_threads() {
  int wanted = __atomic_load_n(&wanted_count, __ATOMIC_RELAXED);
  if (wanted > 0) return wanted;
  const char* const text = getenv("OMP_NUM_THREADS");
  if (text != nullptr) wanted = atoi(text);
  if (wanted < 1) wanted = processors();
  __atomic_store_n(&wanted_count, wanted, __ATOMIC_RELAXED);
  return wanted;
}

struct NestLock {
  pthread_mutex_t mutex;
  int count;
};

}  // namespace

extern "C" {

int omp_get_num_procs() {
  return processors();
}

int omp_get_thread_num() {
  return place().number;
}
int omp_get_num_threads() {
  return place().team->count;
}
int omp_get_max_threads() {
  return most_threads();
}
void omp_set_num_threads(int count) {
  if (count > 0) __atomic_store_n(&wanted_count, count, __ATOMIC_RELAXED);
}
int omp_in_parallel() {
  return place().active > 0;
}
int omp_get_level() {
  return place().level;
}
int omp_get_active_level() {
  return place().active;
}
int omp_in_final() {
  return (place().task->flags & 2) != 0;
}
int omp_get_thread_limit() {
  return 256;
}

// ---- one level of parallel regions has threads, and as many as are asked for
void omp_set_dynamic(int) {}
int omp_get_dynamic() {
  return 0;
}
void omp_set_nested(int) {}
int omp_get_nested() {
  return 0;
}
void omp_set_max_active_levels(int) {}
int omp_get_max_active_levels() {
  return 1;
}

int omp_get_supported_active_levels() {
  return 1;
}
int omp_get_max_task_priority() {
  return 0;
}
int omp_get_cancellation() {
  return 0;
}

// ---- no devices, no teams, no places
int omp_get_num_devices() {
  return 0;
}
int omp_get_default_device() {
  return 0;
}
int omp_is_initial_device() {
  return 1;
}
int omp_get_num_teams() {
  return 1;
}
int omp_get_team_num() {
  return 0;
}
int omp_get_proc_bind() {
  return 0;
}
int omp_get_num_places() {
  return 0;
}

double omp_get_wtime() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
double omp_get_wtick() {
  return 1e-9;
}

// ---- locks: the program has room for a pointer
void omp_init_lock(void** lock) {
  pthread_mutex_t* const made = static_cast<pthread_mutex_t*>(malloc(sizeof *made));
  if (made == nullptr) abort();
  pthread_mutex_init(made, nullptr);
  *lock = made;
}
void omp_init_lock_with_hint(void** lock, int) {
  omp_init_lock(lock);
}
void omp_destroy_lock(void** lock) {
  pthread_mutex_destroy(static_cast<pthread_mutex_t*>(*lock));
  free(*lock);
  *lock = nullptr;
}
void omp_set_lock(void** lock) {
  pthread_mutex_lock(static_cast<pthread_mutex_t*>(*lock));
}
void omp_unset_lock(void** lock) {
  pthread_mutex_unlock(static_cast<pthread_mutex_t*>(*lock));
}
int omp_test_lock(void** lock) {
  return pthread_mutex_trylock(static_cast<pthread_mutex_t*>(*lock)) == 0;
}

void omp_init_nest_lock(void** lock) {
  NestLock* const made = static_cast<NestLock*>(calloc(1, sizeof *made));
  if (made == nullptr) abort();
  pthread_mutexattr_t kind;
  pthread_mutexattr_init(&kind);
  pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&made->mutex, &kind);
  pthread_mutexattr_destroy(&kind);
  *lock = made;
}
void omp_destroy_nest_lock(void** lock) {
  pthread_mutex_destroy(&static_cast<NestLock*>(*lock)->mutex);
  free(*lock);
  *lock = nullptr;
}
void omp_set_nest_lock(void** lock) {
  NestLock* const nest = static_cast<NestLock*>(*lock);
  pthread_mutex_lock(&nest->mutex);
  ++nest->count;
}
void omp_unset_nest_lock(void** lock) {
  NestLock* const nest = static_cast<NestLock*>(*lock);
  --nest->count;
  pthread_mutex_unlock(&nest->mutex);
}
int omp_test_nest_lock(void** lock) {
  NestLock* const nest = static_cast<NestLock*>(*lock);
  return pthread_mutex_trylock(&nest->mutex) == 0 ? ++nest->count : 0;
}

}  // extern "C"
