/* Thread-specific data.
 *
 * The table of keys, and the values of the main thread, which may be set before control starts, are the
 * program's: ordinary variables, put back by a reset. The values of the other threads live as long as the
 * execution. A key that is deleted and made again is another key: values carry the number of the key's life.
 *
 * Values are seen by their thread only, so reading and writing them is no decision point; making and deleting
 * keys is.
 */
#include <errno.h>
#include <limits.h>

#include "runtime/control/sync.h"

enum { BLOCK = 32, BLOCKS = PTHREAD_KEYS_MAX / BLOCK };

struct key {
  uint64_t life; /* odd: in use */
  void (*destructor)(void*);
};
struct value {
  uint64_t life;
  void* data;
};
/* What thread->key_values points to. */
struct values {
  struct value* blocks[BLOCKS];
};

static struct key keys[PTHREAD_KEYS_MAX];
static struct value main_values[PTHREAD_KEYS_MAX];

static bool in_use(pthread_key_t key) {
  return key < PTHREAD_KEYS_MAX && keys[key].life % 2 == 1;
}

/* Null: the thread has set none there, and none is to be made. */
static struct value* value_of(struct rt_thread* thread, pthread_key_t key, bool make) {
  if (thread == NULL || thread->index == 0) return &main_values[key];
  struct values* values = thread->key_values;
  if (values == NULL) {
    if (!make) return NULL;
    thread->key_values = values = rt_scratch(sizeof *values);
  }
  struct value** block = &values->blocks[key / BLOCK];
  if (*block == NULL) {
    if (!make) return NULL;
    *block = rt_scratch(sizeof **block * BLOCK);
  }
  return &(*block)[key % BLOCK];
}

static struct rt_thread* current(void) {
  return rt.active ? rt.current : NULL;
}

int pthread_key_create(pthread_key_t* key, void (*destructor)(void*)) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_key_create, key);
  rt_go(self);
  for (pthread_key_t candidate = 0; candidate < PTHREAD_KEYS_MAX; ++candidate) {
    if (in_use(candidate)) continue;
    ++keys[candidate].life;
    keys[candidate].destructor = destructor;
    *key = candidate;
    return rt_done(self, 0);
  }
  return rt_refused(self, EAGAIN);
}

/* libgcc's headers look for it by this name. */
int __pthread_key_create(pthread_key_t* key, void (*destructor)(void*))
    __attribute__((alias("pthread_key_create")));

int pthread_key_delete(pthread_key_t key) {
  struct rt_thread* self = rt_begin(HEDDLE_SYNC_key_delete, NULL);
  if (self != NULL) self->op.second = (void*)(uintptr_t)key;
  rt_go(self);
  if (!in_use(key)) return rt_refused(self, EINVAL);
  ++keys[key].life;
  return rt_done(self, 0);
}

void* pthread_getspecific(pthread_key_t key) {
  if (!in_use(key)) return NULL;
  const struct value* value = value_of(current(), key, false);
  return value != NULL && value->life == keys[key].life ? value->data : NULL;
}

int pthread_setspecific(pthread_key_t key, const void* data) {
  if (!in_use(key)) return EINVAL;
  struct value* value = value_of(current(), key, data != NULL);
  if (value == NULL) return 0;
  value->life = keys[key].life;
  value->data = (void*)data;
  return 0;
}

static bool run_destructors_once(struct rt_thread* self) {
  bool any = false;
  for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX; ++key) {
    struct value* value = value_of(self, key, false);
    if (value == NULL || value->data == NULL) continue;
    any = true;
    void* data = value->data;
    value->data = NULL;
    if (value->life == keys[key].life && keys[key].destructor != NULL) keys[key].destructor(data);
  }
  return any;
}

void rt_run_key_destructors(struct rt_thread* self) {
  for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS && run_destructors_once(self); ++round) {
  }
}
