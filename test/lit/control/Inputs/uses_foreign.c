#include <assert.h>
#include <pthread.h>

int sum(const int* values, int count);
int sum_after(int* values, int count, void (*change)(int*));

static int values[4], ready;

static void set_five(int* value) {
  *value = 5;
}

static void* work(void* unused) {
  ready = 1;
  for (int i = 0; i < 4; ++i) values[i] = i;
  const int first = sum(values, 4);
  assert(first == 6);
  const int second = sum_after(values, 4, set_five);
  assert(second == 20);
  return unused;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  const int seen = ready;
  (void)seen;
  pthread_join(thread, NULL);
  return 0;
}
