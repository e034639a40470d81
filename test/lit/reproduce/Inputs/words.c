// Two threads count the words of each line that is read, and now and then one of them loses some.
#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static char line[256];
static int words;

static void count(const char* from, const char* to) {
  for (; from < to; ++from)
    if (!isspace(*from) && (from == line || isspace(from[-1]))) {
      const int before = words;
      words = before + 1;
    }
}

static void* first_half(void* unused) {
  count(line, line + strlen(line) / 2);
  return unused;
}

static void* second_half(void* unused) {
  count(line + strlen(line) / 2, line + strlen(line));
  return unused;
}

int main(void) {
  int expected = 0;
  while (fgets(line, sizeof line, stdin) != NULL) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, first_half, NULL);
    pthread_create(&threads[1], NULL, second_half, NULL);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    expected += 4;
  }
  assert(words == expected);
  return 0;
}
