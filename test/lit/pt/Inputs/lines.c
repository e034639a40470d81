// Amounts, one in a line, are read by getline and added up by two threads; some get lost.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int amounts[16], count, balance;
static void* apply(void* arg) {
  for (int i = (int)(long)arg; i < count; i += 2) {
    int now = balance;
    now += amounts[i];
    balance = now;
  }
  return NULL;
}
int main(int argc, char** argv) {
  FILE* file = fopen(argc > 1 ? argv[1] : "amounts.txt", "r");
  if (file == NULL) return 2;
  char* line = NULL;
  size_t room = 0;
  ssize_t length;
  while (count < 16 && (length = getline(&line, &room, file)) != -1)
    if (length > 1 && line[0] != '#') amounts[count++] = atoi(line);
  free(line);
  fclose(file);
  int expected = 0;
  for (int i = 0; i < count; ++i) expected += amounts[i];
  pthread_t threads[2];
  for (long i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, apply, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(balance == expected);
  return 0;
}
