// Treiber's stack without reuse of nodes: every push is popped once. BUG: the head is stored, not exchanged.
// safe: sc tso pso
#include <atomic>
#include <cassert>
#include <thread>
struct Node { int value; Node* next; };
std::atomic<Node*> head{nullptr};
Node nodes[4];
void push(Node* node) {
  Node* old = head.load();
#ifdef BUG
  node->next = old;
  head.store(node);
#else
  do node->next = old; while (!head.compare_exchange_weak(old, node));
#endif
}
Node* pop() {
  Node* old = head.load();
  while (old && !head.compare_exchange_weak(old, old->next)) {}
  return old;
}
int main() {
  nodes[0].value = 1; nodes[1].value = 2;
  Node* a = nullptr;
  std::thread one([&] { push(&nodes[0]); });
  std::thread two([&] { push(&nodes[1]); a = pop(); });
  one.join(); two.join();
  int sum = a ? a->value : 0;
  while (Node* each = pop()) sum += each->value;
  assert(sum == 3);
}
