// Loops with several ways in and out, made of gotos and switches.
#include <pthread.h>
#include <stdio.h>
static int t_[64];
static volatile int racy, stop_;
static void* work(void* a) {
  int id = (int)(long)a;
  unsigned i = (unsigned)id, n = 0;
  int acc = 0;
  volatile unsigned burn = 0;
  if (id & 1) goto b;
a:
  t_[i & 63] += acc;
  i = i * 5 + 1;
  if (++n > 6000) goto out;
  if (i & 8) goto c;
b:
  acc ^= t_[(i * 3) & 63];
  i += 7;
  if (acc & 1) goto a;
  if (stop_) goto out2;
c:
  switch ((i + (unsigned)acc) & 7) {
    case 0:
      goto a;
    case 1:
    case 2:
      t_[1]++;
      goto b;
    case 3:
      for (unsigned k = 0; k < (i & 15); k++) burn += k;
      goto c2;
    case 4:
      racy += 1;
      break;
    case 5:
      for (int k = 0; k < 4; k++) {
        if (t_[k] & 16) goto b;
        t_[k + 4]--;
      }
      break;
    default:
      if (n & 1) goto b;
  }
c2:
  if (++n > 6000) goto out;
  i += 3;
  if (burn & 1) goto a;
  goto b;
out:
  t_[id] = acc;
  if (n & 3) return (void*)(long)acc;
out2:
  racy ^= acc;
  return (void*)(long)n;
}
int main(void) {
  pthread_t t[4];
  for (long i = 0; i < 4; i++) pthread_create(&t[i], 0, work, (void*)i);
  long s = 0;
  for (int i = 0; i < 4; i++) {
    void* r;
    pthread_join(t[i], &r);
    s += (long)r;
    stop_ = i > 1;
  }
  printf("%ld %d\n", s, racy);
  return 0;
}
