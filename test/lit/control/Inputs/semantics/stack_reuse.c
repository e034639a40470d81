// A buffered store to a local variable that another thread knew must not come back when its memory has another
// owner.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

int* volatile known;  // where the frame of shares() was
volatile int other;

static void* reader(void* unused) {
  (void)unused;
  for (int i = 0; i < 3; ++i) other = i;
  return NULL;
}

__attribute__((noinline)) static void shares(void) {
  int local[16];
  known = local;
  for (int i = 0; i < 16; ++i) ((volatile int*)local)[i] = 0;
  known = NULL;
}

__attribute__((noinline)) static int keeps(int n) {
  volatile int local[16];
  for (int i = 0; i < 16; ++i) local[i] = n;
  (void)other;
  (void)other;
  int sum = 0;
  for (int i = 0; i < 16; ++i) sum += local[i];
  return sum;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, reader, NULL);
  shares();
  assert(keeps(3) == 48);
  pthread_join(thread, NULL);
  return 0;
}
