// Workers take documents from a queue and count their words. The queue is right; the sum is kept without a
// lock. That the workers took one document each is part of every failure, and not what is wrong.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: race
// HEDDLE-DECISIVE: A A the two additions overlap
// HEDDLE-SMALL: no
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

struct job {
  struct job* next;
  const char* text;
};

static struct {
  pthread_mutex_t mutex;
  pthread_cond_t some;
  struct job *first, **last;
  int closed;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, &queue.first, 0};

volatile long words;

static void submit(const char* text) {
  struct job* job = malloc(sizeof *job);
  *job = (struct job){.text = text};
  pthread_mutex_lock(&queue.mutex);
  *queue.last = job;
  queue.last = &job->next;
  pthread_cond_signal(&queue.some);
  pthread_mutex_unlock(&queue.mutex);
}

static struct job* take(void) {
  pthread_mutex_lock(&queue.mutex);
  while (queue.first == NULL && !queue.closed) pthread_cond_wait(&queue.some, &queue.mutex);
  struct job* job = queue.first;
  if (job != NULL) {
    queue.first = job->next;
    if (queue.first == NULL) queue.last = &queue.first;
  }
  pthread_mutex_unlock(&queue.mutex);
  return job;
}

static void* work(void* unused) {
  (void)unused;
  for (struct job* job; (job = take()) != NULL; free(job)) {
    int count = 0;
    for (const char* at = job->text; *at != 0; ++at)
      if (*at != ' ' && (at == job->text || at[-1] == ' ')) ++count;
    words = words + count;  // [A]
  }
  return NULL;
}

int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, NULL);
  submit("the quick brown fox");
  submit("jumps over");
  submit("the lazy dog");
  pthread_mutex_lock(&queue.mutex);
  queue.closed = 1;
  pthread_cond_broadcast(&queue.some);
  pthread_mutex_unlock(&queue.mutex);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(words == 9);
  return 0;
}
