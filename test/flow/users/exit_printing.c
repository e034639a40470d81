// The process ends while other threads still write into streams; what is in their buffers is written at the
// end.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static FILE* text;

static void* writer(void* argument) {
  for (int i = 0;; ++i) {
    printf("%d %ld\n", i, (long)argument);
    fprintf(text, "%d\n", i);
  }
  return argument;
}

static void last(void) {
  printf("last\n");
}

int main(void) {
  static char buffers[2][1 << 16];
  setvbuf(stdout, buffers[0], _IOFBF, sizeof buffers[0]);
  text = tmpfile();
  setvbuf(text, buffers[1], _IOFBF, sizeof buffers[1]);
  pthread_t thread;
  for (long i = 0; i < 3; ++i) pthread_create(&thread, NULL, writer, (void*)i);
  usleep(3000);
  atexit(last);
  return 0;
}
