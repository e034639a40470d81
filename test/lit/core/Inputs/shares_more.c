// The crash of figure1.c in a program that has a pipe, which copies of its process would share.
#include <unistd.h>
#define main crashing_main
#include "figure1.c"
#undef main

int main(void) {
  int ends[2];
  char byte = 1;
  if (pipe(ends) != 0 || write(ends[1], &byte, 1) != 1) return 2;
  crashing_main();
  return read(ends[0], &byte, 1) == 1 ? 0 : 2;
}
