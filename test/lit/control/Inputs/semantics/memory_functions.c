// Memory and string functions on memory that threads hand to each other under a lock.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct message {
  char text[32];
  int numbers[8];
};
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
struct message shared;
char* owned;

static void* worker(void* name) {
  for (int i = 0; i < 2; ++i) {
    struct message mine;
    memset(&mine, 0, sizeof mine);
    snprintf(mine.text, sizeof mine.text, "%s %d", (const char*)name, i);
    for (int k = 0; k < 8; ++k) mine.numbers[k] = (int)strlen(mine.text) + k;
    pthread_mutex_lock(&mutex);
    shared = mine;
    assert(strcmp(shared.text, mine.text) == 0 && memcmp(&shared, &mine, sizeof mine) == 0);
    memmove(shared.numbers + 1, shared.numbers, 7 * sizeof(int));
    assert(shared.numbers[1] == mine.numbers[0] && shared.numbers[7] == mine.numbers[6]);
    char* longer = realloc(owned, strlen(owned) + strlen(shared.text) + 2);
    assert(longer);
    owned = strcat(strcat(longer, shared.text), ";");
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  owned = strdup("");
  assert(pthread_create(&threads[0], NULL, worker, "one") == 0);
  assert(pthread_create(&threads[1], NULL, worker, "three") == 0);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(strlen(owned) == 2 * strlen("one 0;") + 2 * strlen("three 0;"));
  assert(strstr(owned, "one 1;") && strstr(owned, "three 1;"));
  free(owned);
  return 0;
}
