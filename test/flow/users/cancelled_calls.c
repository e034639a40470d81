// Threads that are cancelled while the kernel lets them wait: in functions that the runtime stands in place of (read, poll,
// accept, sleep). Their cleanup handlers touch shared memory and make calls themselves.
#define _GNU_SOURCE
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#define KINDS 6
static int fds[2], listening, cleaned, counts[KINDS];
static void clean(void* argument) {
  const int kind = (int)(long)argument;
  char text[40];
  cleaned = cleaned * 3 + kind;
  ++counts[kind];
  write(fds[1], text, (size_t)snprintf(text, sizeof text, "%d has left\n", kind));
}
static void* waiter(void* argument) {
  const int kind = (int)(long)argument;
  struct timespec long_time = {100, 0};
  struct pollfd nothing = {.fd = listening, .events = POLLIN};
  char byte;
  pthread_cleanup_push(clean, argument);
  ++counts[kind];
  switch (kind) {
    case 0: read(listening, &byte, 1); recv(fds[1], &byte, 1, 0); break;
    case 1: poll(&nothing, 1, -1); break;
    case 2: accept(listening, NULL, NULL); break;
    case 3: nanosleep(&long_time, NULL); break;
    case 4: pause(); break;
    case 5:
      for (;;) {
        long_time.tv_sec = 0;
        long_time.tv_nsec = 1000;
        nanosleep(&long_time, NULL);
        ++counts[kind];
      }
  }
  pthread_cleanup_pop(0);
  return NULL;
}
int main(void) {
  struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  int left = 0;
  socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
  listening = socket(AF_INET, SOCK_STREAM, 0);
  bind(listening, (struct sockaddr*)&here, sizeof here);
  listen(listening, 5);
  for (int round = 0; round < 4; ++round) {
    pthread_t threads[KINDS];
    for (long i = 0; i < KINDS; ++i) pthread_create(&threads[i], NULL, waiter, (void*)i);
    if (round % 2 == 0) usleep(2000);
    for (int i = 0; i < KINDS; ++i) pthread_cancel(threads[i]);
    for (int i = 0; i < KINDS; ++i) {
      void* result;
      pthread_join(threads[i], &result);
      left += result == PTHREAD_CANCELED;
    }
  }
  printf("%d have left, %d\n", left, cleaned);
  return left == 4 * KINDS ? 0 : 3;
}
