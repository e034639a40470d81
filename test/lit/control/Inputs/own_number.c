// What a program makes of its process number: its folder in /proc, and the name of shared memory.
#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
  char name[100];
  snprintf(name, sizeof name, "/proc/%d/maps", (int)getpid());
  FILE* maps = fopen(name, "r");
  assert(maps != NULL);
  fclose(maps);
  const int file = open(name, O_RDONLY);
  assert(file >= 0);
  close(file);
  snprintf(name, sizeof name, "/heddle-own-number_%d", (int)getpid());
  const int memory = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  assert(memory >= 0);
  assert(shm_unlink(name) == 0);
  return 0;
}
