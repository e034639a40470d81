// The hand-over of requests in the shape of Apache 2.2.9: listeners wait for an idle worker and then push the
// request into a queue that has one place per worker, so that it can never be full.
//
// The bug (Apache's number 45605): waiting for an idle worker is a test of the count and a later decrement. Two
// listeners can pass on the strength of one idle worker; the count wraps around, and the queue that is never
// full is full.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B both listeners see an idle worker before one of them counts it down
// HEDDLE-SMALL: no
// HEDDLE-ALSO: lost-wakeup, deadlock
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

enum { kListeners = 2, kWorkers = 1, kRequests = 2 };  // requests per listener

// ---- how many workers are idle
// -------------------------------------------------------------------------------------

struct idle_info {
  pthread_mutex_t lock;
  pthread_cond_t available;
  atomic_uint idlers;
};

struct idle_info idle = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

#ifdef FIXED
static void set_idle(struct idle_info* info) {
  pthread_mutex_lock(&info->lock);
  atomic_fetch_add(&info->idlers, 1);
  pthread_cond_signal(&info->available);
  pthread_mutex_unlock(&info->lock);
}

static void wait_for_idler(struct idle_info* info) {
  pthread_mutex_lock(&info->lock);
  while (atomic_load(&info->idlers) == 0) pthread_cond_wait(&info->available, &info->lock);
  atomic_fetch_sub(&info->idlers, 1);
  pthread_mutex_unlock(&info->lock);
}
#else
static void set_idle(struct idle_info* info) {
  const unsigned before = atomic_fetch_add(&info->idlers, 1);
  if (before == 0) {  // somebody may be waiting
    pthread_mutex_lock(&info->lock);
    pthread_cond_signal(&info->available);
    pthread_mutex_unlock(&info->lock);
  }
}

static void wait_for_idler(struct idle_info* info) {
  if (atomic_load(&info->idlers) == 0) {  // [A]
    pthread_mutex_lock(&info->lock);
    while (atomic_load(&info->idlers) == 0) pthread_cond_wait(&info->available, &info->lock);
    pthread_mutex_unlock(&info->lock);
  }
  atomic_fetch_sub(&info->idlers, 1);  // [B]
}
#endif

// ---- the queue of requests
// -----------------------------------------------------------------------------------------

struct request {
  int listener;
  int number;
};

struct request_queue {
  pthread_mutex_t lock;
  pthread_cond_t not_empty;
  struct request slots[kWorkers];
  int in;
  int out;
  int count;
  int terminated;
};

struct request_queue queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .not_empty = PTHREAD_COND_INITIALIZER};

static void queue_push(struct request_queue* q, struct request request) {
  pthread_mutex_lock(&q->lock);
  assert(q->count < kWorkers);  // an idle worker was waited for, so there is room
  q->slots[q->in] = request;
  q->in = (q->in + 1) % kWorkers;
  ++q->count;
  pthread_cond_signal(&q->not_empty);
  pthread_mutex_unlock(&q->lock);
}

static int queue_pop(struct request_queue* q, struct request* request) {
  pthread_mutex_lock(&q->lock);
  while (q->count == 0 && !q->terminated) pthread_cond_wait(&q->not_empty, &q->lock);
  const int any = q->count > 0;
  if (any) {
    *request = q->slots[q->out];
    memset(&q->slots[q->out], 0xff, sizeof *request);
    q->out = (q->out + 1) % kWorkers;
    --q->count;
  }
  pthread_mutex_unlock(&q->lock);
  return any;
}

static void queue_terminate(struct request_queue* q) {
  pthread_mutex_lock(&q->lock);
  q->terminated = 1;
  pthread_cond_broadcast(&q->not_empty);
  pthread_mutex_unlock(&q->lock);
}

// ---- threads
// -------------------------------------------------------------------------------------------------------

pthread_mutex_t score_lock = PTHREAD_MUTEX_INITIALIZER;
int score[kListeners];

static void serve(const struct request* request) {
  pthread_mutex_lock(&score_lock);
  score[request->listener] += request->number;
  pthread_mutex_unlock(&score_lock);
}

static void* worker(void* arg) {
  (void)arg;
  struct request request;
  do {
    set_idle(&idle);
    if (!queue_pop(&queue, &request)) return NULL;
    serve(&request);
  } while (1);
}

static void* listener(void* arg) {
  const int me = *(const int*)arg;
  for (int i = 1; i <= kRequests; ++i) {
    wait_for_idler(&idle);
    const struct request accepted = {me, i};
    queue_push(&queue, accepted);
  }
  return NULL;
}

int main(void) {
  pthread_t workers[kWorkers];
  pthread_t listeners[kListeners];
  int ids[kListeners];
  for (int i = 0; i < kWorkers; ++i) pthread_create(&workers[i], NULL, worker, NULL);
  for (int i = 0; i < kListeners; ++i) {
    ids[i] = i;
    pthread_create(&listeners[i], NULL, listener, &ids[i]);
  }
  for (int i = 0; i < kListeners; ++i) pthread_join(listeners[i], NULL);
  queue_terminate(&queue);
  for (int i = 0; i < kWorkers; ++i) pthread_join(workers[i], NULL);
  for (int i = 0; i < kListeners; ++i) assert(score[i] == kRequests * (kRequests + 1) / 2);
  return 0;
}
