// getline() writes to a block of its own, behind a pointer of the program's, again and again: nothing that was read there before is known any more.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *input;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int words, lines;

static void *work(void *argument) {
  char *line = NULL, *rest;
  size_t room = 0;
  for (;;) {
    pthread_mutex_lock(&lock);
    const ssize_t length = getline(&line, &room, input);
    pthread_mutex_unlock(&lock);
    if (length < 0) break;
    ++lines;
    for (char *word = strtok_r(line, " \n", &rest); word != NULL; word = strtok_r(NULL, " \n", &rest)) words += word[0] != '-';
  }
  free(line);
  return argument;
}

int main(void) {
  pthread_t threads[2];
  input = tmpfile();
  for (int i = 0; i < 10; ++i) fprintf(input, i % 3 ? "one %d\n" : "- two %d words\n", i * 1000);
  rewind(input);
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
