// Lines "deposit N" and "withdraw N" of a file are applied by two threads; some get lost.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct item {
  int amount;
};
static struct item items[16];
static int count, balance, multiplier = 1;
static void* apply(void* arg) {
  const long first = (long)arg;
  for (int i = (int)first; i < count; i += 2) {
    int now = balance;
    now += items[i].amount * multiplier;
    balance = now;
  }
  return NULL;
}
int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "orders.txt";
  FILE* file = fopen(name, "r");
  if (file == NULL) return 2;
  char line[64];
  while (count < 16 && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "deposit ", 8) == 0)
      items[count++].amount = atoi(line + 8);
    else if (strncmp(line, "withdraw ", 9) == 0)
      items[count++].amount = -atoi(line + 9);
  }
  fclose(file);
  if (getenv("MULTIPLY")) multiplier = atoi(getenv("MULTIPLY"));
  int expected = 0;
  for (int i = 0; i < count; ++i) expected += items[i].amount * multiplier;
  pthread_t threads[2];
  for (long i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, apply, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(balance == expected);
  return 0;
}
