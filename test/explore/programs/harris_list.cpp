// A sorted list with marked pointers (Harris). -DBUG: deletion does not mark, so an insertion behind the deleted node is lost.
// safe: sc tso pso
#include <atomic>
#include <cassert>
#include <cstdint>
#include <thread>
struct Node { int key; std::atomic<uintptr_t> next; };
static Node tail{100, {0}}, first{10, {(uintptr_t)&tail}}, head{0, {(uintptr_t)&first}};
static Node* at(uintptr_t p) { return (Node*)(p & ~uintptr_t{1}); }
static Node* search(int key, Node*& left) {
 again:
  Node* before = &head;
  Node* here = at(before->next.load());
  for (;;) {
    uintptr_t next = here->next.load();
    if (next & 1) {
      uintptr_t expected = (uintptr_t)here;
      if (!before->next.compare_exchange_strong(expected, next & ~uintptr_t{1})) goto again;
      here = at(next);
      continue;
    }
    if (here->key >= key) { left = before; return here; }
    before = here;
    here = at(next);
  }
}
static bool insert(Node* node) {
  for (;;) {
    Node* left;
    Node* right = search(node->key, left);
    if (right->key == node->key) return false;
    node->next.store((uintptr_t)right);
    uintptr_t expected = (uintptr_t)right;
    if (left->next.compare_exchange_strong(expected, (uintptr_t)node)) return true;
  }
}
static bool remove(int key) {
  for (;;) {
    Node* left;
    Node* right = search(key, left);
    if (right->key != key) return false;
    uintptr_t next = right->next.load();
#ifndef BUG
    if (next & 1) continue;
    if (!right->next.compare_exchange_strong(next, next | 1)) continue;
#endif
    uintptr_t expected = (uintptr_t)right;
    if (!left->next.compare_exchange_strong(expected, next)) {
#ifdef BUG
      continue;
#else
      Node* l; search(key, l);
#endif
    }
    return true;
  }
}
static Node added{20, {0}};
int main() {
  std::thread a([] { insert(&added); }), b([] { remove(10); });
  a.join(); b.join();
  Node* left;
  assert(search(20, left)->key == 20);
  assert(search(10, left)->key == 20);
}
