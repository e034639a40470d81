// Destructors of thread-local objects, and of keys, that go through shared memory in loops, while other threads
// do.
#include <pthread.h>
#include <cstdio>
#include <thread>
#include <vector>
static int table[64];
static volatile int racy;
static pthread_key_t key;
struct Local {
  int id = 0;
  std::vector<int> v;
  ~Local() {
    for (int i = 0; i < 200; i++) {
      table[i & 63] += id;
      racy = racy + table[(i * 3) & 63];
    }
    for (int x : v) table[x & 63] ^= x;
  }
};
static thread_local Local local;
static void destroy(void* p) {
  for (int i = 0; i < 100; i++) table[i & 63] -= (int)(long)p;
  racy = racy + 1;
}
static void work(int id) {
  local.id = id;
  pthread_setspecific(key, (void*)(long)(id + 1));
  for (int i = 0; i < 500; i++) {
    table[(i + id) & 63] += i;
    if (i % 50 == 0) local.v.push_back(table[i & 63]);
  }
}
int main() {
  pthread_key_create(&key, destroy);
  for (int r = 0; r < 4; r++) {
    std::vector<std::thread> t;
    for (int i = 0; i < 4; i++) {
      t.emplace_back(work, i);
      if (i == 3) t.back().detach();
    }
    for (auto& x : t)
      if (x.joinable()) x.join();
    for (int i = 0; i < 64; i++) racy = racy ^ table[i];
  }
  std::printf("%d\n", (int)racy);
}
