// A pointer that is replaced and freed, protected by a hazard pointer. -DBUG: not looked at again after it was announced.
// safe: sc tso pso
#include <atomic>
#include <cassert>
#include <thread>
struct Item { int value; };
static std::atomic<Item*> current{new Item{1}};
static std::atomic<Item*> hazard{nullptr};
static void reader() {
  Item* item;
#ifdef BUG
  item = current.load();
  hazard.store(item);
#else
  do { item = current.load(); hazard.store(item); } while (current.load() != item);
#endif
  assert(item->value == 1 || item->value == 2);
  hazard.store(nullptr);
}
static void writer() {
  Item* old = current.exchange(new Item{2});
  while (hazard.load() == old) std::this_thread::yield();
  delete old;
}
int main() {
  std::thread a(reader), b(writer);
  a.join(); b.join();
  delete current.load();
}
