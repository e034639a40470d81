// Never fails. "short": threads that soon end. "spin": a loop without any decision point. "sleep": waits for
// its input.
#include <pthread.h>
#include <string.h>
#include <unistd.h>

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
int counter;

static void* adder(void* unused) {
  (void)unused;
  for (int i = 0; i < 3; ++i) {
    pthread_mutex_lock(&mutex);
    ++counter;
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[2];
  char c;
  if (argc > 1 && strcmp(argv[1], "spin") == 0)
    for (;;) __asm__ volatile("pause");
  if (argc > 1 && strcmp(argv[1], "sleep") == 0) return (int)read(0, &c, 1);
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, adder, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
