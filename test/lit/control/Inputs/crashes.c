// Crashes, and its handler ends the program: by itself, in the usual way, or not at all because it is left by a
// jump.
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sigjmp_buf back;
static const char* how;
static volatile int zero;

static void on_crash(int number) {
  if (strcmp(how, "exit") == 0) exit(0);
  if (strcmp(how, "_exit") == 0) _exit(1);
  if (strcmp(how, "raise") == 0) {
    signal(number, SIG_DFL);
    raise(number);  // it is blocked: the program ends when the handler does
    return;
  }
  if (strcmp(how, "again") == 0) *(volatile int*)(16l + zero) = 1;
  siglongjmp(back, 1);
}

// With its frame where that of the handler was.
__attribute__((noinline)) static void end_deeper(int depth) {
  volatile char room[100] = {0};
  if (depth == 0) exit(room[0]);
  end_deeper(depth - 1);
  room[0] = 1;
}

int main(int argc, char** argv) {
  how = argc > 1 ? argv[1] : "";
  signal(SIGSEGV, on_crash);
  if (sigsetjmp(back, 1) == 0) *(volatile int*)(8l + zero) = 1;
  end_deeper(50);
}
