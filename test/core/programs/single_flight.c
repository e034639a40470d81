// A page that the first who wants it loads, while others wait for it. The loader wakes only one of them: when
// two had come meanwhile, the other one waits for ever.
#include <pthread.h>
enum { kReaders = 3 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t loaded = PTHREAD_COND_INITIALIZER;
static enum { none, loading, there } state;
static int page[8];
static int load(void) {
  int sum = 0;
  for (int i = 0; i < 8; ++i) sum += page[i] = i * i;
  return sum;
}
static void* reader(void* arg) {
  int* sum = arg;
  pthread_mutex_lock(&lock);
  if (state == none) {
    state = loading;
    pthread_mutex_unlock(&lock);
    *sum = load();
    pthread_mutex_lock(&lock);
    state = there;
    pthread_cond_signal(&loaded);
    pthread_mutex_unlock(&lock);
    return 0;
  }
  while (state == loading) pthread_cond_wait(&loaded, &lock);
  for (int i = 0; i < 8; ++i) *sum += page[i];
  pthread_mutex_unlock(&lock);
  return 0;
}
int main(void) {
  pthread_t t[kReaders];
  int sums[kReaders] = {0};
  for (int i = 0; i < kReaders; ++i) pthread_create(&t[i], 0, reader, &sums[i]);
  for (int i = 0; i < kReaders; ++i) pthread_join(t[i], 0);
  return sums[0] != sums[1] || sums[1] != sums[2];
}
