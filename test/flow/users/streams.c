// Streams of libc that several threads use: a log whose buffer is filled by all of them, standard output by all of its functions, streams that are
// locked by the program, and a thread that waits for lines of another one, which needs what the first one owns and interrupts it.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static FILE* text;
static int sum, lines, fds[2];
static char line[100];
static volatile int told;
static void on_user(int number) {
  told += number != 0;
}
static void* writer(void* argument) {
  const long id = (long)argument;
  for (int i = 0; i < 200; ++i) {
    sum += fprintf(text, "thread %ld writes line %d\n", id, i);
    fprintf(stdout, "%d", i);
    printf(" and %ld", id);
    puts(" are printed");
    putc('.', stdout);
    flockfile(text);
    for (const char* c = "in one piece\n"; *c != 0; ++c) putc_unlocked(*c, text);
    funlockfile(text);
    if (ftrylockfile(text) == 0) {
      ++lines;
      funlockfile(text);
    }
    if (i % 50 == 0) usleep(100);
  }
  return argument;
}
static void* feeder(void* argument) {
  FILE* to = fdopen(fds[1], "w");
  for (int i = 0; i < 50; ++i) {
    usleep(100);
    ++lines;
    fprintf(to, "%d lines\n", lines);
    fflush(to);
    sum += line[0]; /* into which the other one reads */
    kill(getpid(), SIGUSR1);
  }
  fclose(to);
  return argument;
}
int main(void) {
  signal(SIGUSR1, on_user);
  text = tmpfile();
  if (text == NULL || pipe(fds) != 0) return 2;
  FILE* from = fdopen(fds[0], "r");
  pthread_t writers[3], feeding;
  for (long i = 0; i < 3; ++i) pthread_create(&writers[i], NULL, writer, (void*)i);
  pthread_create(&feeding, NULL, feeder, NULL);
  while (fgets(line, sizeof line, from) != NULL) {
    lines += (int)strlen(line);
    sum += line[0];
  }
  pthread_join(feeding, NULL);
  for (int i = 0; i < 3; ++i) pthread_join(writers[i], NULL);
  rewind(text);
  while (fgets(line, sizeof line, text) != NULL) ++lines;
  printf("\n%d lines, %d, %d\n", lines, sum, told > 0);
  return 0;
}
