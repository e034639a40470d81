// Four threads race on memory by accesses that touch several granules at once: words at any address, vectors of 16 and 32 bytes, atomic
// updates and exchanges beside them. What each reads decides where it goes next.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t two __attribute__((vector_size(16), aligned(1)));
typedef uint64_t four __attribute__((vector_size(32), aligned(1)));

static unsigned char memory[512];
static unsigned counter;
static uint64_t results[4];

static void* work(void* argument) {
  uint64_t state = (uint64_t)(uintptr_t)argument + 1, found = 0;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u + found;
    unsigned char* const at = memory + state % 480;
    uint64_t word;
    switch (state >> 60) {
      case 0:
      case 1:
      case 2:
        memcpy(&word, at, 8);
        found = word;
        break;
      case 3:
      case 4:
        memcpy(at, &state, 8);
        break;
      case 5:
        memcpy(at, &state, 5);
        break;
      case 6: {
        const two value = *(const two*)at;
        found = value[0] ^ value[1];
        break;
      }
      case 7:
        *(two*)at = (two){state, found};
        break;
      case 8: {
        const four value = *(const four*)at;
        found = value[0] ^ value[3];
        break;
      }
      case 9:
        *(four*)at = (four){state, found, 1, 2};
        break;
      case 10:
      case 11:
        found = __atomic_fetch_add(&counter, (unsigned)state, __ATOMIC_RELAXED);
        break;
      case 12: {
        unsigned expected = (unsigned)found;
        found += __atomic_compare_exchange_n(&counter, &expected, (unsigned)state, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        found ^= expected;
        break;
      }
      case 13:
        found = at[0] + at[7];
        break;
      default:
        at[3] = (unsigned char)state;
    }
  }
  results[(uintptr_t)argument] = state;
  return NULL;
}

int main(void) {
  pthread_t threads[4];
  for (uintptr_t i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < 4; ++i) printf("%016llx\n", (unsigned long long)results[i]);
  return 0;
}
