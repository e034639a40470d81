// An MCS lock. BUG: who unlocks does not wait for a successor that has announced itself.
// safe: sc tso pso
#include <atomic>
#include <cassert>
#include <thread>
struct Waiter { std::atomic<Waiter*> next{nullptr}; std::atomic<bool> locked{false}; };
std::atomic<Waiter*> tail{nullptr};
int counter;
void lock(Waiter& me) {
  me.next.store(nullptr, std::memory_order_relaxed);
  me.locked.store(true, std::memory_order_relaxed);
  if (Waiter* before = tail.exchange(&me)) {
    before->next.store(&me, std::memory_order_release);
    while (me.locked.load(std::memory_order_acquire)) {}
  }
}
void unlock(Waiter& me) {
  Waiter* after = me.next.load(std::memory_order_acquire);
  if (!after) {
    Waiter* expected = &me;
    if (tail.compare_exchange_strong(expected, nullptr)) return;
#ifdef BUG
    return;
#endif
    while (!(after = me.next.load(std::memory_order_acquire))) {}
  }
  after->locked.store(false, std::memory_order_release);
}
void worker() {
  static thread_local Waiter me;
  lock(me);
  counter = counter + 1;
  unlock(me);
}
int main() {
  std::thread a(worker), b(worker);
  a.join(); b.join();
  assert(counter == 2);
}
