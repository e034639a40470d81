// A variable that holds a number or a text, as in an interpreter: a tag and a union. One thread assigns a text,
// another one prints the variable.
//
// The bug: tag and value are written one after the other without a lock. Between the two the tag says text and
// the union still holds the number, which is taken for an address.
//
// HEDDLE-FAILURE: segv
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A C the new tag is written before the reader looks
// HEDDLE-DECISIVE: D B the reader takes the value before the new one is written
// HEDDLE-SMALL: yes
#include <assert.h>
#include <pthread.h>
#include <stddef.h>

enum tag { kNumber, kText };

struct variable {
  volatile enum tag tag;
  union {
    volatile long number;
    const char* volatile text;
  } value;
};

struct variable variable = {kNumber, {12345}};
#ifdef FIXED
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#endif

static void lock(void) {
#ifdef FIXED
  pthread_mutex_lock(&mutex);
#endif
}

static void unlock(void) {
#ifdef FIXED
  pthread_mutex_unlock(&mutex);
#endif
}

static void* assign(void* arg) {
  (void)arg;
  lock();
  variable.tag = kText;            // [A]
  variable.value.text = "heddle";  // [B]
  unlock();
  return NULL;
}

static void* print(void* first) {
  lock();
  if (variable.tag == kText) {             // [C]
    *(char*)first = *variable.value.text;  // [D]
  } else {
    *(char*)first = '#';
  }
  unlock();
  return NULL;
}

int main(void) {
  char first = 0;
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, assign, NULL);
  pthread_create(&threads[1], NULL, print, &first);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  assert(first == 'h' || first == '#');
  return 0;
}
