// Names that heddle's runtimes have for themselves.
#include <pthread.h>
#include <stdio.h>
struct {
  pthread_mutex_t lock;
  int heap;
} rt = {PTHREAD_MUTEX_INITIALIZER, 3};
int rt_fl_stack;
int heap_find(int x) { return x + rt.heap + rt_fl_stack; }
void* rt_finish(void* arg) {
  pthread_mutex_lock(&rt.lock);
  rt.heap += *(int*)arg;
  pthread_mutex_unlock(&rt.lock);
  return 0;
}
int main(void) {
  pthread_t t;
  int one = 1;
  pthread_create(&t, 0, rt_finish, &one);
  pthread_join(t, 0);
  printf("%d\n", heap_find(1));
  return 0;
}
