// Memory errors: a thread goes on reading and writing a block that another one has freed, and reads beyond the end of its own blocks.
// The other one allocates the memory again, for others to see and for itself alone.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRounds = 4000, kSize = 24 };
static char* stale;
static uint64_t results[2];

static void* owner(void* unused) {
  uint64_t sum = 0;
  for (int i = 0; i < kRounds; ++i) {
    char* const shared = malloc(kSize);
    memset(shared, i, kSize);
    __atomic_store_n(&stale, shared, __ATOMIC_RELEASE);
    free(shared);
    char* const own = malloc(kSize); /* nobody else gets to know it */
    for (int j = 0; j < kSize; ++j) own[(j * 7 + sum) % kSize] = (char)(i * j);
    for (int j = 0; j < kSize; ++j) sum = sum * 31 + (unsigned char)own[(j + sum) % kSize];
    free(own);
  }
  results[0] = sum;
  return unused;
}

static void* user(void* unused) {
  uint64_t sum = 0;
  for (int i = 0; i < kRounds; ++i) {
    char* const block = __atomic_load_n(&stale, __ATOMIC_ACQUIRE);
    if (block == NULL) continue;
    for (int j = 0; j < 3 * kSize; ++j) sum = sum * 31 + (unsigned char)block[j];
    block[i % kSize] = (char)sum;
  }
  results[1] = sum;
  return unused;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, owner, NULL);
  pthread_create(&b, NULL, user, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  printf("%016lx %016lx\n", (unsigned long)results[0], (unsigned long)results[1]);
  return 0;
}
