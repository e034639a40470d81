// Sessions are opened with a key that takes long to derive from the password; then clients read from them while one
// closes them. A long prefix, for snapshots: all that matters happens behind it.
//
// The bug: a client looks whether its session is open, and takes its buffer later. It computes meanwhile, which makes the failure likely when it
// runs natively; for a controlled run that is nothing.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSessions = 4, kRounds = 60000000 };

struct session {
  int open;
  uint64_t key;
  char* buffer;  // null when it is closed
};

static struct session sessions[kSessions];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

static uint64_t derive(const char* password, long rounds) {
  uint64_t key = 0x9e3779b97f4a7c15u;
  for (const char* c = password; *c != 0; ++c) key = (key ^ (unsigned char)*c) * 0x100000001b3u;
  for (long i = 0; i < rounds; ++i) {
    key ^= key << 13;
    key ^= key >> 7;
    key ^= key << 17;
  }
  return key;
}

static void compute(long rounds) {
  __asm__ volatile("1: dec %0; jnz 1b" : "+r"(rounds));
}

static int is_open(struct session* session) {
  pthread_mutex_lock(&lock);
  const int open = session->open;
  pthread_mutex_unlock(&lock);
  return open;
}

static void* client(void* arg) {
  (void)arg;
  for (int i = 0; i < kSessions; ++i) {
    if (!is_open(&sessions[i])) continue;
    const uint64_t key = sessions[i].key;
    if (i == kSessions - 2) compute(50000000);
    const char first = sessions[i].buffer[key % 16];
    pthread_mutex_lock(&lock);
    total += first;
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

static void* closer(void* arg) {
  (void)arg;
  compute(10000000);
  for (int i = 0; i < kSessions; ++i) {
    pthread_mutex_lock(&lock);
    char* buffer = sessions[i].buffer;
    sessions[i].open = 0;
    sessions[i].buffer = NULL;
    pthread_mutex_unlock(&lock);
    free(buffer);
  }
  return NULL;
}

int main(void) {
  const uint64_t key = derive("correct horse", kRounds);
  for (int i = 0; i < kSessions; ++i) {
    sessions[i] = (struct session){.open = 1, .key = key + (uint64_t)i, .buffer = malloc(16)};
    memset(sessions[i].buffer, 'a' + i, 16);
  }
  pthread_t clients[3], last;
  for (int i = 0; i < 3; ++i) pthread_create(&clients[i], NULL, client, NULL);
  pthread_create(&last, NULL, closer, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(clients[i], NULL);
  pthread_join(last, NULL);
  printf("%ld\n", total);
  return 0;
}
