// Threads that call functions of libc at the same time whose result lies in one place for all, or which depend
// on what others have set.
//
// HEDDLE-CC: -lm
#include <grp.h>
#include <math.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_barrier_t barrier;
static unsigned long sums[3];

static void pause_a_little(void) {
  for (volatile int i = 0; i < 200; ++i) {
  }
}

static void* work(void* argument) {
  const int id = (int)(long)argument;
  unsigned long sum = 0;
  char words[20];
  pthread_barrier_wait(&barrier);
  for (int i = 0; i < 100; ++i) {
    const time_t now = 1000000L * (i + 7 * id);
    if (i % 8 == 0) {
      setenv("TZ", id == 0 ? "UTC" : "EST5EDT", 1);
      tzset();
    }
    const struct tm* const parts = i % 2 == 0 ? localtime(&now) : gmtime(&now);
    pause_a_little();
    sum = sum * 31 + (unsigned)(parts->tm_hour * 100 + parts->tm_sec);
    const char* const text = i % 2 == 0 ? ctime(&now) : asctime(parts);
    pause_a_little();
    sum = sum * 31 + (unsigned char)text[17] * 256u + (unsigned char)text[18];
    strcpy(words, "one two three");
    const char* word = strtok(words, " ");
    pause_a_little();
    word = strtok(NULL, " ");
    sum = sum * 31 + (word != NULL ? (unsigned char)word[0] : 0);
    int point, sign;
    const char* const digits = ecvt(1.0 / (i + id + 1), 8, &point, &sign);
    const char* const letters = l64a(i * 4001L + id);
    const struct passwd* const user = getpwuid(id == 0 ? 0 : 1);
    const struct group* const group = getgrgid(id == 0 ? 0 : 1);
    const struct servent* const service = getservbyport(htons(id == 0 ? 22 : 80), "tcp");
    const double gamma = lgamma(id == 0 ? 2.5 : -0.5);
    pause_a_little();
    sum = sum * 31 + (unsigned char)digits[3] + (unsigned char)letters[0] + (gamma > 0) + (unsigned)signgam;
    if (user != NULL) sum = sum * 31 + (unsigned char)user->pw_name[0] + user->pw_uid;
    if (group != NULL) sum = sum * 31 + (unsigned char)group->gr_name[0] + group->gr_gid;
    if (service != NULL) sum = sum * 31 + (unsigned char)service->s_name[0];
    sum = sum * 31 + (signal(SIGUSR2, id == 0 ? SIG_IGN : SIG_DFL) == SIG_IGN);
  }
  pthread_barrier_wait(&barrier);  // others may still use the words
  sums[id] = sum;
  return argument;
}

int main(void) {
  pthread_t threads[3];
  pthread_barrier_init(&barrier, NULL, 3);
  for (long i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  printf("%lx %lx %lx\n", sums[0], sums[1], sums[2]);
  return 0;
}
