// A parallel merge sort (in the manner of CLAP's swarm): each level gives its left half to a new thread, which
// divides again, sorts the right half itself, waits for the child and merges.
//
// The bug: a child says "done" when its halves are sorted, before it has merged them. Its parent can merge
// numbers that are still in motion.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: order
// HEDDLE-DECISIVE: A B the parent copies before the child has written its merged numbers
// HEDDLE-SMALL: no
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

enum { kNumbers = 16, kDepth = 2 };

struct task {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int done;
  int depth;
  int* numbers;
  int count;
};

static void announce_done(struct task* task) {
  pthread_mutex_lock(&task->lock);
  task->done = 1;
  pthread_cond_signal(&task->changed);
  pthread_mutex_unlock(&task->lock);
}

static void wait_done(struct task* task) {
  pthread_mutex_lock(&task->lock);
  while (!task->done) pthread_cond_wait(&task->changed, &task->lock);
  pthread_mutex_unlock(&task->lock);
}

static int compare(const void* a, const void* b) {
  return *(const int*)a - *(const int*)b;
}

static void merge(int* numbers, int half, int count) {
  int merged[kNumbers];
  int left = 0;
  int right = half;
  for (int i = 0; i < count; ++i) {
    const int take_left = left < half && (right == count || numbers[left] <= numbers[right]);
    merged[i] = numbers[take_left ? left++ : right++];  // [A]
  }
  for (int i = 0; i < count; ++i) numbers[i] = merged[i];  // [B]
}

static void* sort(void* arg);

static void sort_parallel(struct task* task) {
  const int half = task->count / 2;
  struct task left = {
      PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, task->depth - 1, task->numbers, half};
  struct task right = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0,
                       task->depth - 1,           task->numbers + half,     task->count - half};
  pthread_t child;
  pthread_create(&child, NULL, sort, &left);
  sort(&right);
  wait_done(&left);
#ifndef FIXED
  announce_done(task);
#endif
  merge(task->numbers, half, task->count);
  pthread_join(child, NULL);
}

static void* sort(void* arg) {
  struct task* task = arg;
  if (task->depth == 0) {
    qsort(task->numbers, (size_t)task->count, sizeof *task->numbers, compare);
  } else {
    sort_parallel(task);
  }
#ifndef FIXED
  if (task->depth == 0)
#endif
    announce_done(task);
  return NULL;
}

int main(void) {
  int numbers[kNumbers];
  for (int i = 0; i < kNumbers; ++i) numbers[i] = (i * 7 + 3) % kNumbers;
  struct task task = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, kDepth, numbers, kNumbers};
  sort(&task);
  for (int i = 1; i < kNumbers; ++i) assert(numbers[i - 1] <= numbers[i]);
  return 0;
}
