// Much of everything: repeated words, counted loops of millions of rounds, many chunks of both streams.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

volatile unsigned shared;
unsigned table[256];

static unsigned checksum(const unsigned char* bytes, size_t size) {
  unsigned sum = 0;
  for (size_t i = 0; i < size; ++i) sum = sum * 31 + bytes[i];
  return sum;
}
static unsigned mixed(unsigned rounds) {
  unsigned sum = 1;
  for (unsigned i = 0; i < rounds; ++i) {
    if (i % 1000 == 999) sum += shared;
    else if (sum & 1) sum = sum * 5 + table[sum & 255];
    else sum = sum / 2 + i;
  }
  return sum;
}
static unsigned same(unsigned rounds) {
  unsigned sum = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    if (i & 1) sum += 2;
    else shared = sum;
  }
  return sum;
}
static unsigned blocks(unsigned rounds) {
  unsigned sum = 0;
  for (unsigned i = 0; i < rounds; ++i) {
    unsigned char* block = malloc(16 + (i & 63));
    memset(block, (int)i, 16);
    sum += checksum(block, 16 + 0 * i);
    free(block);
  }
  return sum;
}
static void* run(void* argument) {
  unsigned char* bytes = calloc(1, 300000);
  unsigned sum = checksum(bytes, 300000) + mixed(200000) + same(300000) + blocks(20000);
  free(bytes);
  shared = sum;
  return argument;
}
int main(void) {
  pthread_t threads[2];
  for (unsigned i = 0; i < 256; ++i) table[i] = i * 2654435761u >> 7;
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, run, NULL);
  run(NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  puts("done");
  return 0;
}
