// Cancelling and pthread_exit in C++: destructors run, catch (...) sees it and passes it on.
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
#include <atomic>
#include <cassert>

std::atomic<int> destroyed, caught;
sem_t ready;

struct Guard {
  ~Guard() { ++destroyed; }
};

static void* waits(void*) {
  Guard outer;
  try {
    Guard inner;
    sem_post(&ready);
    for (;;) pause();
  } catch (...) {
    ++caught;
    throw;
  }
}

static void inner_exit() {
  Guard guard;
  pthread_exit(&ready);
}

static void* exits(void*) {
  Guard guard;
  inner_exit();
  return nullptr;
}

int main() {
  pthread_t thread;
  void* result;
  sem_init(&ready, 0, 0);
  assert(pthread_create(&thread, nullptr, waits, nullptr) == 0);
  sem_wait(&ready);
  assert(pthread_cancel(thread) == 0);
  assert(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
  assert(destroyed == 2 && caught == 1);
  assert(pthread_create(&thread, nullptr, exits, nullptr) == 0);
  assert(pthread_join(thread, &result) == 0 && result == &ready);
  assert(destroyed == 4);
}
