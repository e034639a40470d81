// A text that threads make longer: what strcat gives back is what it was given, whatever is known of the text.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char* all;

static void* work(void* name) {
  for (int i = 0; i < 3; ++i) {
    char mine[16];
    snprintf(mine, sizeof mine, "%s %d", (const char*)name, i);
    pthread_mutex_lock(&mutex);
    char* longer = realloc(all, strlen(all) + strlen(mine) + 2);
    assert(longer);
    all = strcat(strcat(longer, mine), ";");
    pthread_mutex_unlock(&mutex);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  all = strdup("");
  pthread_create(&threads[0], NULL, work, "one");
  pthread_create(&threads[1], NULL, work, "three");
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(strlen(all) == 3 * strlen("one 0;") + 3 * strlen("three 0;"));
  free(all);
}
