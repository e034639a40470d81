// How threads end: by return, pthread_exit from deep inside (destructors run), cancel at a cancellation point and in a blocking call,
// asynchronously in a loop, with cleanup functions and thread-specific data; main() by pthread_exit.
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

static volatile int shared;
static sem_t never;
static pthread_key_t key;

struct Guard {
  explicit Guard(int at) : place(at) {}
  ~Guard() { for (int i = 0; i <= place; ++i) if ((i + shared) & 1) shared = shared + 1; }
  int place;
};
static void destroyed(void* value) { if (value != nullptr) shared = shared + 1; }
static void cleaned(void* value) { for (long i = 0; i < reinterpret_cast<long>(value); ++i) shared = shared + 1; }

__attribute__((noinline)) static int leave(int depth) {
  Guard guard(depth);
  if (depth == 0) pthread_exit(nullptr);
  return leave(depth - 1) + 1;
}
static void* exits(void*) {
  pthread_setspecific(key, &key);
  Guard guard(2);
  try {
    leave(5);
  } catch (int) {
    shared = 0;
  } catch (...) {  // pthread_exit comes by here; it must go on
    shared = shared + 1;
    throw;
  }
  return nullptr;
}
static void* tested(void*) {
  Guard guard(1);
  for (int round = 0; round < 1000000; ++round) {
    if (shared & 1) shared = shared + 1;
    pthread_testcancel();
  }
  return nullptr;
}
static void* blocked(void*) {
  pthread_cleanup_push(cleaned, reinterpret_cast<void*>(4));
  Guard guard(3);
  sem_wait(&never);
  pthread_cleanup_pop(0);
  return nullptr;
}
static void* sleeps(void*) {
  pthread_setspecific(key, &key);
  for (int i = 0; i < 1000; ++i) {
    Guard guard(i & 3);
    usleep(200);
  }
  return nullptr;
}
static void* asynchronous(void*) {
  int old;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
  for (volatile long i = 0; i < 3000000000; i = i + 1) {
    if (i % 3 == 1) shared = 3;
  }
  return nullptr;
}

int main() {
  sem_init(&never, 0, 0);
  pthread_key_create(&key, destroyed);
  for (int round = 0; round < 5; ++round) {
    void* (*const kinds[])(void*) = {exits, tested, blocked, sleeps, asynchronous};
    pthread_t threads[5];
    for (int i = 0; i < 5; ++i) pthread_create(&threads[i], nullptr, kinds[i], nullptr);
    usleep(3000);
    for (int i = 1; i < 5; ++i) pthread_cancel(threads[i]);
    for (int i = 0; i < 5; ++i) {
      void* result = nullptr;
      pthread_join(threads[i], &result);
      if (result == PTHREAD_CANCELED) shared = shared + 1;
    }
  }
  std::puts("done");
  std::fflush(stdout);
  pthread_exit(nullptr);
}
