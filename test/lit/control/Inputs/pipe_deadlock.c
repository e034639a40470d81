// Two threads that wait for each other through pipes: a deadlock that only the process itself could end.
#include <pthread.h>
#include <unistd.h>

int first[2], second[2];

static void* pass(int from, int to) {
  char c;
  if (read(from, &c, 1) == 1 && write(to, &c, 1) != 1) _exit(1);
  return NULL;
}

static void* one(void* unused) {
  (void)unused;
  return pass(first[0], second[1]);
}

static void* two(void* unused) {
  (void)unused;
  return pass(second[0], first[1]);
}

int main(void) {
  pthread_t threads[2];
  if (pipe(first) != 0 || pipe(second) != 0) return 1;
  pthread_create(&threads[0], NULL, one, NULL);
  pthread_create(&threads[1], NULL, two, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
