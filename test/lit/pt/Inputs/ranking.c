// Two threads add scores to a table; a third one copies the table and sorts the copy, to give the best ones
// prizes. It copies while a player's score has been added to the table and not yet to the sum.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
enum { PLAYERS = 4 };
struct player {
  int id, score;
};
static struct player table[PLAYERS] = {{0, 5}, {1, 9}, {2, 2}, {3, 7}};
static int sum = 23, checked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int by_score(const void* a, const void* b) {
  const struct player *left = a, *right = b;
  if (left->score != right->score) return left->score < right->score ? 1 : -1;
  return left->id - right->id;
}
static void* play(void* arg) {
  const int id = (int)(long)arg;
  pthread_mutex_lock(&lock);
  table[id].score += 6;
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&lock);
  sum += 6;
  pthread_mutex_unlock(&lock);
  return NULL;
}
static void* rank(void* unused) {
  struct player copy[PLAYERS];
  pthread_mutex_lock(&lock);
  memcpy(copy, table, sizeof copy);
  const int expected = sum;
  pthread_mutex_unlock(&lock);
  qsort(copy, PLAYERS, sizeof copy[0], by_score);
  int found = 0;
  for (int i = 0; i < PLAYERS; ++i) {
    if (i > 0) assert(copy[i - 1].score >= copy[i].score);
    found += copy[i].score;
  }
  checked = found == expected;
  return unused;
}
int main(void) {
  pthread_t threads[3];
  pthread_create(&threads[0], NULL, play, (void*)2);
  pthread_create(&threads[1], NULL, rank, NULL);
  pthread_create(&threads[2], NULL, play, (void*)0);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  assert(checked);
  return 0;
}
