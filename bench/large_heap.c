// A table of many records on the heap, all of it touched, and a thread that crashes because another one took a record away: a large core for
// heddle core. Argument: MiB.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct record {
  struct record* next;
  long key;
  char text[48];
};

static char* heap;
static size_t heap_bytes;
static struct record* volatile first;
static volatile int present = 1;

static void compute(long rounds) {
  __asm__ volatile("1: dec %0; jnz 1b" : "+r"(rounds));
}

__attribute__((noinline)) static long sum(const struct record* record) {
  long all = 0;
  for (; record->key != 0; record = record->next) all += record->key;
  return all;
}

static void* reader(void* arg) {
  (void)arg;
  compute(200000000);
  return (void*)sum(present ? first : first->next);
}

static void* taker(void* arg) {
  (void)arg;
  compute(20000000);
  first->next->next->next = NULL;
  present = 0;
  return NULL;
}

int main(int argc, char** argv) {
  heap_bytes = (argc > 1 ? (size_t)atol(argv[1]) : 1024) << 20;
  heap = malloc(heap_bytes);
  memset(heap, 1, heap_bytes);
  for (int i = 0; i < 1000; ++i) {
    struct record* record = calloc(1, sizeof *record);
    record->next = first;
    record->key = i;
    snprintf(record->text, sizeof record->text, "record %d", i);
    first = record;
  }
  pthread_t one, other;
  pthread_create(&one, NULL, reader, NULL);
  pthread_create(&other, NULL, taker, NULL);
  pthread_join(one, NULL);
  pthread_join(other, NULL);
  return 0;
}
