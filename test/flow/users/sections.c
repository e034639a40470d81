/* Memory under locks, in all the ways that sections meet: one lock, nested locks, different locks for the same memory, locks of
 * readers and writers, conditions, blocks that are freed under a lock and used without one, and accesses without any lock. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define ROUNDS 3000

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t others[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t many = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned guarded, nested, torn, seldom, turn, looked;
static char text[256];
static struct node {
  struct node* next;
  unsigned value;
  char page[200];
}* list;

static void push(unsigned value) {
  struct node* const made = malloc(sizeof *made);
  made->value = value;
  memset(made->page, (int)value, sizeof made->page);
  pthread_mutex_lock(&outer);
  made->next = list;
  list = made;
  ++guarded;
  pthread_mutex_unlock(&outer);
}

static unsigned pop(void) {
  pthread_mutex_lock(&outer);
  struct node* const had = list;
  unsigned value = 0;
  if (had != NULL) {
    list = had->next;
    value = had->value + (unsigned char)had->page[value % sizeof had->page];
    if (value % 2 != 0) free(had);
  }
  pthread_mutex_unlock(&outer);
  if (had != NULL && value % 2 == 0) free(had);
  return value;
}

static void* work(void* argument) {
  const unsigned me = (unsigned)(unsigned long)argument;
  unsigned sum = me;
  for (unsigned i = 0; i < ROUNDS; ++i) {
    push(i * THREADS + me);
    sum = sum * 31 + pop();
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&inner);
    nested += sum;
    pthread_mutex_unlock(&inner);
    sum ^= nested + guarded;
    pthread_mutex_unlock(&outer);
    pthread_mutex_lock(&others[i % 2]); /* guards nothing: others hold the other one */
    torn += i;
    sum += torn;
    pthread_mutex_unlock(&others[i % 2]);
    if (i % 64 == me) {
      pthread_rwlock_wrlock(&many);
      ++seldom;
      snprintf(text, sizeof text, "%u %u", seldom, sum);
      pthread_rwlock_unlock(&many);
    } else {
      pthread_rwlock_rdlock(&many);
      sum += seldom + (unsigned)strlen(text);
      pthread_rwlock_unlock(&many);
    }
    if (i % 16 == 0) {
      pthread_mutex_lock(&outer);
      while (turn % THREADS != me) pthread_cond_wait(&changed, &outer);
      ++turn;
      pthread_cond_broadcast(&changed);
      pthread_mutex_unlock(&outer);
    }
    looked += guarded; /* without a lock */
  }
  return (void*)(unsigned long)(sum | 1);
}

int main(void) {
  pthread_t threads[THREADS];
  for (unsigned long i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  unsigned long all = 0;
  for (int i = 0; i < THREADS; ++i) {
    void* sum;
    pthread_join(threads[i], &sum);
    all = all * 31 + (unsigned long)sum;
  }
  printf("%lx %u %u %u %u %s\n", all, guarded, nested, torn, looked, text);
  return 0;
}
