// A script engine collects garbage when no request runs. A thread begins a request unless a collection runs;
// the collector looks whether requests run before it says that it does. A request that begins in between finds
// atoms that are gone.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
enum { kThreads = 3, kAtoms = 8, kRounds = 3 };
struct atom {
  int hash;
  int marked;
  char name[12];
};
struct runtime {
  pthread_mutex_t lock;
  pthread_cond_t requests_done, gc_done;
  int requests;
  int gc_running;
  int gc_wanted;
  struct atom* atoms[kAtoms];
} rt = {.lock = PTHREAD_MUTEX_INITIALIZER,
        .requests_done = PTHREAD_COND_INITIALIZER,
        .gc_done = PTHREAD_COND_INITIALIZER};
static struct atom* intern(int i) {
  if (!rt.atoms[i]) {
    struct atom* made = malloc(sizeof *made);
    made->hash = i * 31;
    made->marked = 0;
    snprintf(made->name, sizeof made->name, "atom%d", i);
    rt.atoms[i] = made;
  }
  return rt.atoms[i];
}
static void begin_request(void) {
  pthread_mutex_lock(&rt.lock);
  while (rt.gc_running) pthread_cond_wait(&rt.gc_done, &rt.lock);
  rt.requests++;
  pthread_mutex_unlock(&rt.lock);
}
static void end_request(void) {
  pthread_mutex_lock(&rt.lock);
  if (--rt.requests == 0) pthread_cond_broadcast(&rt.requests_done);
  pthread_mutex_unlock(&rt.lock);
}
static void collect(void) {
  pthread_mutex_lock(&rt.lock);
  while (rt.requests) pthread_cond_wait(&rt.requests_done, &rt.lock);
#ifndef FIXED
  pthread_mutex_unlock(&rt.lock);
  rt.gc_wanted = 0;
  pthread_mutex_lock(&rt.lock);
#endif
  rt.gc_running = 1;
  pthread_mutex_unlock(&rt.lock);
  for (int i = 0; i < kAtoms; i += 2)
    if (rt.atoms[i] && !rt.atoms[i]->marked) {
      free(rt.atoms[i]);
      rt.atoms[i] = NULL;
    }
  pthread_mutex_lock(&rt.lock);
  rt.gc_running = 0;
  pthread_cond_broadcast(&rt.gc_done);
  pthread_mutex_unlock(&rt.lock);
}
static pthread_mutex_t atoms_lock = PTHREAD_MUTEX_INITIALIZER;
static void* script(void* arg) {
  int id = (int)(long)arg, sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    begin_request();
    int which = (id * 2 + round) % kAtoms;
    pthread_mutex_lock(&atoms_lock);
    intern(which);
    pthread_mutex_unlock(&atoms_lock);
    for (int k = 0; k < 3; ++k) sum += rt.atoms[which]->hash * k;
    end_request();
  }
  return (void*)(long)sum;
}
static void* collector(void* arg) {
  (void)arg;
  for (int i = 0; i < 2; ++i) collect();
  return NULL;
}
int main(void) {
  pthread_t t[kThreads], gc;
  for (long i = 0; i < kThreads; ++i) pthread_create(&t[i], NULL, script, (void*)i);
  pthread_create(&gc, NULL, collector, NULL);
  for (int i = 0; i < kThreads; ++i) pthread_join(t[i], NULL);
  pthread_join(gc, NULL);
  return 0;
}
