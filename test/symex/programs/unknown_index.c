/* An index that nobody knows: what is read there is not known either, and what is written there may be any of the elements. */
#include <pthread.h>
#include <stdio.h>

static char text[8] = "3";
static unsigned values[8] = {1, 2, 3, 4, 5, 6, 7, 8}, sum;

static void *work(void *argument) {
  for (int i = 0; i < 4; ++i) {
    unsigned number = 0;
    sscanf(text, "%u", &number);
    sum += values[number % 8];
    values[(number + 1) % 8] += 10;
    text[0] = (char)('1' + i);
    sum += values[4];
  }
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  work(NULL);
  pthread_join(thread, NULL);
  return 0;
}
