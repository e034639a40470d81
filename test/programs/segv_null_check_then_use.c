// A session is shown by one thread and closed by another one.
//
// The bug: show() asks twice for the current session, once to see whether there is one and once to use it.
//
// HEDDLE-FAILURE: segv
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B the check before the session is closed
// HEDDLE-DECISIVE: B C the session is closed before it is used
// HEDDLE-SMALL: yes
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct session {
  int user;
  int requests;
};

struct session only = {7, 0};
struct session* _Atomic current = &only;

static void* show(void* arg) {
#ifdef FIXED
  struct session* mine = current;
  if (mine != NULL) *(int*)arg = mine->user;
#else
  if (current != NULL) {         // [A]
    *(int*)arg = current->user;  // [C]
  }
#endif
  return NULL;
}

static void* close_session(void* arg) {
  (void)arg;
  current = NULL;  // [B]
  return NULL;
}

int main(void) {
  int shown = 0;
  pthread_t threads[2];
  pthread_create(&threads[0], NULL, show, &shown);
  pthread_create(&threads[1], NULL, close_session, NULL);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return shown != 0 && shown != 7;
}
