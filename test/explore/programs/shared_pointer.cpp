// A snapshot published by std::atomic<std::shared_ptr>. -DBUG: a plain shared_ptr is replaced while it is copied.
// safe: sc tso pso
#include <atomic>
#include <cassert>
#include <memory>
#include <thread>
struct Snapshot { int a, b; };
#ifdef BUG
static std::shared_ptr<Snapshot> current = std::make_shared<Snapshot>(1, 1);
static std::shared_ptr<Snapshot> read_it() { return current; }
static void replace(std::shared_ptr<Snapshot> by) { current = by; }
#else
static std::atomic<std::shared_ptr<Snapshot>> current = std::make_shared<Snapshot>(1, 1);
static std::shared_ptr<Snapshot> read_it() { return current.load(); }
static void replace(std::shared_ptr<Snapshot> by) { current.store(by); }
#endif
int main() {
  std::thread reader([] { auto s = read_it(); assert(s->a == s->b); });
  std::thread writer([] { replace(std::make_shared<Snapshot>(2, 2)); });
  reader.join();
  writer.join();
  assert(read_it()->a == 2);
}
