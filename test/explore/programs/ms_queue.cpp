// Michael and Scott's queue, two producers and a consumer. -DBUG: the tail is not helped and next not checked, so a node is lost.
// safe: sc tso pso
#include <atomic>
#include <cassert>
#include <thread>
struct Node { int value; std::atomic<Node*> next{nullptr}; };
struct Queue {
  std::atomic<Node*> head, tail;
  Queue() { Node* d = new Node{0}; head = d; tail = d; }
  void push(int v) {
    Node* n = new Node{v};
    for (;;) {
      Node* t = tail.load(std::memory_order_acquire);
      Node* next = t->next.load(std::memory_order_acquire);
#ifdef BUG
      t->next.store(n, std::memory_order_release);
      (void)next;
      tail.store(n, std::memory_order_release);
      return;
#else
      if (next) { tail.compare_exchange_strong(t, next); continue; }
      if (t->next.compare_exchange_strong(next, n, std::memory_order_release)) {
        tail.compare_exchange_strong(t, n, std::memory_order_release);
        return;
      }
#endif
    }
  }
  bool pop(int& v) {
    for (;;) {
      Node* h = head.load(std::memory_order_acquire);
      Node* t = tail.load(std::memory_order_acquire);
      Node* next = h->next.load(std::memory_order_acquire);
      if (!next) return false;
      if (h == t) { tail.compare_exchange_strong(t, next); continue; }
      if (head.compare_exchange_strong(h, next)) { v = next->value; return true; }
    }
  }
};
int main() {
  Queue q;
  int got = 0, sum = 0;
  std::thread a([&] { q.push(1); });
  std::thread b([&] { q.push(2); });
  std::thread c([&] { int v; if (q.pop(v)) { got++; sum += v; } });
  a.join(); b.join(); c.join();
  int v;
  while (q.pop(v)) { got++; sum += v; }
  assert(got == 2 && sum == 3);
}
