// A std::map of strings behind a pthread_rwlock. -DBUG: looks up, gives the lock up, then inserts under the read lock.
// safe: sc tso pso
#include <pthread.h>
#include <cassert>
#include <map>
#include <string>
static std::map<std::string, int> table;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int made;
static void* worker(void* arg) {
  const std::string key = "key";
  pthread_rwlock_rdlock(&lock);
  bool found = table.count(key) != 0;
  pthread_rwlock_unlock(&lock);
  if (!found) {
    pthread_rwlock_wrlock(&lock);
#ifndef BUG
    if (table.find(key) == table.end())
#endif
    { table[key] = (int)(long)arg; made++; }
    pthread_rwlock_unlock(&lock);
  }
  return nullptr;
}
int main() {
  pthread_t t[2];
  for (long i = 0; i < 2; i++) pthread_create(&t[i], nullptr, worker, (void*)(i + 1));
  for (auto& each : t) pthread_join(each, nullptr);
  assert(made == 1 && table.size() == 1);
}
