/* A text that one thread prints from a number nobody knows, and others copy, measure and compare. Where it ends is not known before. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static char text[16] = "400000";
static unsigned shared = 3, sum;

static void *print(void *argument) {
  for (int i = 0; i < 4; ++i) snprintf(text, sizeof text, "%u", shared * 37);
  return argument;
}

static void *copy(void *argument) {
  for (int i = 0; i < 4; ++i) {
    char line[16] = "xxxxxxxxxxxxxx", more[32] = "yyyyyyyyyyyyyyyyyyyyyyyy";
    text[i] = (char)('0' + i % 2 * 5);
    text[i + 1] = 0;
    strncpy(line, text, sizeof line - 1);
    strcpy(more, text);
    strcat(more, "end");
    sum += (unsigned)strlen(line) + (unsigned char)line[3] + (unsigned char)more[2] + (unsigned char)more[9];
    if (strcmp(line, "5") > 0) ++shared;
  }
  return argument;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, print, NULL);
  pthread_create(&threads[1], NULL, copy, NULL);
  copy(NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
