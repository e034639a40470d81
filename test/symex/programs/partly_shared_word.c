/* A word of which another thread writes one byte: its other bytes, that one thread writes alone, are part of what it reads. */
#include <pthread.h>
#include <stdint.h>

static union {
  uint64_t whole;
  uint8_t bytes[8];
  uint16_t halves[4];
} word;
static uint64_t seen;

static void *other(void *argument) {
  word.bytes[1] = 7;
  return argument;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, other, NULL);
  word.halves[2] = 0x1234;
  word.bytes[7] = 9;
  seen = word.whole;
  pthread_join(thread, NULL);
  if (seen >> 32 != 0x09001234) return 1;
  return word.whole >> 56 == 9 ? 0 : 2;
}
