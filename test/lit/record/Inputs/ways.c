// One program, many ends: the first argument says which. Two threads work first.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;
static volatile int turn = 0;

static void* work(void* argument) {
  const long step = (long)argument;
  for (int i = 0; i < 1000; ++i) {
    pthread_mutex_lock(&lock);
    sum += i % 3 == 0 ? step : 1;
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

static int dive(int depth) {
  volatile char room[4096];
  room[0] = (char)depth;
  return turn == depth ? room[0] : dive(depth + 1) + room[0];
}

static void fall(int* at) {
  *at = 1;
}

static void wait_for_ever(void) {
  puts("waiting");
  fflush(stdout);
  pthread_mutex_lock(&lock);
  pthread_mutex_lock(&lock);
}

static void noticed(int number) {
  (void)number;
}

static void* falls(void* nothing) {
  (void)nothing;
  turn = 1;
  fall((int*)24);
  return NULL;
}

static int read_all(const char* name) {
  static char bytes[65536];
  const int file = strcmp(name, "-") == 0 ? 0 : open(name, O_RDONLY);
  if (file < 0) return 4;
  const ssize_t count = read(file, bytes, sizeof bytes);
  int letters = 0;
  for (ssize_t i = 0; i < count; ++i) letters += bytes[i] == 'x';
  printf("%zd bytes, %d x\n", count, letters);
  return 0;
}

int main(int count, char** arguments) {
  const char* way = count > 1 ? arguments[1] : "well";
  pthread_t threads[2];
  for (long i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  if (strcmp(way, "assert") == 0) assert(sum < 0);
  if (strcmp(way, "abort") == 0) abort();
  if (strcmp(way, "segv") == 0) fall((int*)16);
  if (strcmp(way, "overflow") == 0) {
    turn = -1;
    return dive(0);
  }
  if (strcmp(way, "thread-segv") == 0) {
    pthread_create(&threads[0], NULL, falls, NULL);
    pthread_join(threads[0], NULL);
  }
  if (strcmp(way, "segv-at-exit") == 0) { /* main comes to its end while heddle looks at the thread */
    pthread_create(&threads[0], NULL, falls, NULL);
    while (turn == 0) {
    }
    usleep(500);
    return 0;
  }
  if (strcmp(way, "kill") == 0) raise(SIGKILL);
  if (strcmp(way, "code") == 0) return 3;
  if (strcmp(way, "hang") == 0) wait_for_ever();
  if (strcmp(way, "handler") == 0) {
    signal(SIGUSR1, noticed); /* which might end the waiting */
    wait_for_ever();
  }
  if (strcmp(way, "endless") == 0) { /* but the first time */
    while (access("ran", F_OK) == 0) turn = 1 - turn;
    close(creat("ran", 0600));
  }
  if (strcmp(way, "pause") == 0) {
    puts("waiting");
    fflush(stdout);
    pause();
  }
  if (strcmp(way, "sleep") == 0) sleep(60);
  if (strcmp(way, "read") == 0) return read_all(arguments[2]);
  printf("sum %ld\n", sum > 0 ? 1L : 0L);
  return 0;
}
