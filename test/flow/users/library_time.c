// The time that the C library asks for itself, without a system call: getaddrinfo marks its questions to the kernel with it, and goes on asking until the answer bears the same mark.
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
static int found[2];
static void* work(void* argument) {
  int* const count = argument;
  for (int round = 0; round < 3; ++round) {
    struct addrinfo wanted, *all = NULL;
    memset(&wanted, 0, sizeof wanted);
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = round == 1 ? AI_PASSIVE | AI_ADDRCONFIG : AI_ADDRCONFIG;
    if (getaddrinfo(round == 1 ? NULL : "localhost", "8080", &wanted, &all) != 0) continue;
    for (const struct addrinfo* one = all; one != NULL; one = one->ai_next) ++*count;
    freeaddrinfo(all);
  }
  return NULL;
}
int main(void) { /* also for the first time at the same time: what the library keeps of it has locks of its own */
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, &found[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("%d %d\n", found[0], found[1]);
}
