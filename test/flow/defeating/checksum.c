// Messages go through a ring without a lock around it; each thread keeps a checksum (CRC-32) of what it took, and the two are
// compared with that of all messages. A message that is taken twice shows in the checksum only.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>

enum { kMessages = 60 };

uint32_t table[256];
uint32_t messages[kMessages];
volatile unsigned taken;
uint32_t sums[2];

static uint32_t crc(uint32_t sum, uint32_t value) {
  for (int i = 0; i < 4; ++i, value >>= 8) sum = table[(sum ^ value) & 0xff] ^ (sum >> 8);
  return sum;
}

static void* work(void* argument) {
  const long self = (long)argument;
  while (taken < kMessages) {
    const unsigned mine = taken;
    if ((messages[mine % kMessages] & 3) == 0) sched_yield();
    taken = mine + 1;
    if (mine < kMessages) sums[self] ^= crc(0xffffffffu, messages[mine]);
  }
  return NULL;
}

int main(void) {
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t entry = i;
    for (int bit = 0; bit < 8; ++bit) entry = entry & 1 ? 0xedb88320u ^ (entry >> 1) : entry >> 1;
    table[i] = entry;
  }
  uint32_t expected = 0;
  for (uint32_t i = 0; i < kMessages; ++i) {
    messages[i] = i * 2654435761u;
    expected ^= crc(0xffffffffu, messages[i]);
  }
  pthread_t threads[2];
  for (long i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert((sums[0] ^ sums[1]) == expected);
}
