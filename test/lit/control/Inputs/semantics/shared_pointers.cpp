// shared_ptr and weak_ptr between threads: the object dies once, after the last owner.
#include <atomic>
#include <cassert>
#include <memory>
#include <thread>

std::atomic<int> alive;

struct Object : std::enable_shared_from_this<Object> {
  Object() { ++alive; }
  ~Object() { --alive; }
  int value = 3;
};

int main() {
  auto object = std::make_shared<Object>();
  std::weak_ptr<Object> weak = object;
  std::thread owner([copy = object] { assert(alive == 1 && copy->shared_from_this()->value == 3); });
  std::thread watcher([weak] {
    if (auto strong = weak.lock()) assert(strong->value == 3 && alive == 1);
  });
  object.reset();
  owner.join();
  watcher.join();
  assert(weak.expired() && alive == 0);
}
