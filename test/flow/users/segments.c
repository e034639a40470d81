// Segments of System V memory: one in which threads race, and one that another process has written before. With an argument: what is detached is accessed.
#include <pthread.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>
#define COUNT 20000
static long* shared;
static void* work(void* argument) {
  for (long i = 0; i < COUNT; ++i) shared[i % 64] += (long)argument + (shared[(i * 7) % 64] & 3);
  return argument;
}
int main(int argc, char** argv) {
  const int id = shmget(IPC_PRIVATE, 1 << 16, IPC_CREAT | 0600), written = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  if (id < 0 || written < 0) return 0;
  if (fork() == 0) {
    char* text = shmat(written, NULL, 0);
    snprintf(text, 100, "written by process %d", (int)getpid());
    _exit(0);
  }
  wait(NULL);
  shared = shmat(id, NULL, 0);
  const char* text = shmat(written, NULL, SHM_RDONLY);
  struct shmid_ds about;
  shmctl(id, IPC_STAT, &about);
  shmctl(id, IPC_RMID, NULL);
  shmctl(written, IPC_RMID, NULL);
  pthread_t threads[3];
  for (long i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, work, (void*)(i + 1));
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  printf("%ld, %zu bytes, %s\n", shared[5], (size_t)about.shm_segsz, text);
  const int right = text[0] == 'w';
  shmdt(text);
  shmdt(shared);
  if (argc > 1) printf("%ld\n", shared[5]); /* it is gone */
  return right ? 0 : 3;
}
