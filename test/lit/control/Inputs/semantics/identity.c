// Who am I: each thread has its own pthread_self, address of errno, stack and name; creation from inside
// threads.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { kChildren = 2 };
pid_t process;

static void* child(void* parent) {
  assert(!pthread_equal(pthread_self(), *(pthread_t*)parent));
  assert(getpid() == process && gettid() != process);
  errno = 5;
  return &errno;
}

static void* parent(void* unused) {
  (void)unused;
  pthread_t self = pthread_self(), children[kChildren];
  char name[16];
  errno = 7;
  assert(pthread_setname_np(self, "parent") == 0);
  for (int i = 0; i < kChildren; ++i) assert(pthread_create(&children[i], NULL, child, &self) == 0);
  for (int i = 0; i < kChildren; ++i) {
    void* result;
    assert(pthread_join(children[i], &result) == 0 && result != &errno);
  }
  assert(pthread_getname_np(self, name, sizeof name) == 0 && strcmp(name, "parent") == 0);
  pthread_attr_t attributes;
  void* base;
  size_t size;
  assert(pthread_getattr_np(self, &attributes) == 0);
  assert(pthread_attr_getstack(&attributes, &base, &size) == 0);
  assert((uintptr_t)&self - (uintptr_t)base < size);
  pthread_attr_destroy(&attributes);
  assert(errno == 7);
  return NULL;
}

int main(void) {
  pthread_t thread;
  pthread_attr_t attributes;
  process = getpid();
  pthread_attr_init(&attributes);
  assert(pthread_attr_setstacksize(&attributes, 1 << 20) == 0);
  assert(pthread_create(&thread, &attributes, parent, NULL) == 0);
  assert(pthread_join(thread, NULL) == 0);
  pthread_attr_destroy(&attributes);
  return 0;
}
