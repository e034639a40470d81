// Gets a signal: handles it and ends well, handles it and aborts, or gets one that leaves no core.
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static int again;

static void handler(int signal) {
  (void)signal;
  if (again) abort();
  _Exit(0);
}

int main(int count, char** words) {
  if (count < 2) return 2;
  again = strcmp(words[1], "again") == 0;
  if (strcmp(words[1], "killed") == 0) {
    raise(SIGTERM);
    return 1;
  }
  signal(SIGSEGV, handler);
  *(volatile int*)8 = 1;
  return 1;
}
