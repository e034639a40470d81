// One thread writes what is in the buffers of all streams, others fill these buffers, open streams and close
// them.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static FILE* shared;
static volatile int writing = 4;

static void* writer(void* argument) {
  const long id = (long)argument;
  FILE* const own = tmpfile();
  for (int i = 0; i < 300; ++i) {
    fprintf(shared, "thread %ld writes %d\n", id, i);
    fprintf(own, "%d\n", i);
    FILE* const other = fopen("/dev/null", "w");
    if (other == NULL) abort();
    fprintf(other, "nothing");
    fclose(other);
    printf("%ld", id);
    if (i % 64 == 0) usleep(50);
  }
  fclose(own);
  __atomic_sub_fetch(&writing, 1, __ATOMIC_SEQ_CST);
  return argument;
}

int main(void) {
  shared = tmpfile();
  pthread_t threads[4];
  for (long i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, writer, (void*)i);
  int times = 0;
  while (writing > 0) {
    if (fflush(NULL) == 0) ++times;
    usleep(20);
  }
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  printf("\n%ld bytes, %s\n", ftell(shared), times > 0 ? "written" : "not written");
  fclose(shared);
  return 0;
}
