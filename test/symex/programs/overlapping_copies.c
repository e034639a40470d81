/* Copies that overlap each other, of which one thread sees the first bytes only: the rest must not become shared, piece by piece. */
#include <pthread.h>
#include <string.h>

static char text[2000];
char seen[8];
static const char word[] = "overlapping";

static void *look(void *argument) {
  memcpy(seen, text, sizeof seen);
  return argument;
}

int main(int count, char **arguments) {
  (void)arguments;
  pthread_t thread;
  pthread_create(&thread, NULL, look, NULL);
  for (int i = 0; i < 390; ++i) memcpy(text + 5 * i + 1, word, sizeof word - (size_t)(count > 1));
  pthread_join(thread, NULL);
  return text[1946] != 'o';
}
