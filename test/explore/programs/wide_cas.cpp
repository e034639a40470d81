// A counted pointer changed as one 16 byte word. -DBUG: the two halves are changed one after the other.
// safe: sc tso pso; flags: -mcx16
#include <atomic>
#include <cassert>
#include <cstdint>
#include <thread>
struct alignas(16) Pair { uint64_t a, b; };
#ifdef BUG
static std::atomic<uint64_t> a, b;
static void bump() { a.fetch_add(1); b.fetch_add(1); }
static Pair look() { return {a.load(), b.load()}; }
#else
static std::atomic<Pair> pair;
static void bump() { Pair old = pair.load(), n; do { n = {old.a + 1, old.b + 1}; } while (!pair.compare_exchange_weak(old, n)); }
static Pair look() { return pair.load(); }
#endif
int main() {
  std::thread x(bump), y(bump), z([] { Pair p = look(); assert(p.a == p.b); });
  x.join(); y.join(); z.join();
  assert(look().a == 2);
}
