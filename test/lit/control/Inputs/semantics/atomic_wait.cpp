// Waiting on atomics: of the size of a futex and of others, flags, references, and shared pointers.
#include <atomic>
#include <cassert>
#include <cstdint>
#include <memory>
#include <thread>

template <class T>
static void hand_over() {
  std::atomic<T> value{T{}};
  std::atomic<int> woken = 0;
  auto waits = [&] {
    value.wait(T{});
    assert(value.load() == T(1));
    ++woken;
  };
  std::thread a(waits), b(waits);
  value.store(T(1));
  value.notify_all();
  a.join();
  b.join();
  assert(woken == 2);
}

int main() {
  hand_over<int>();
  hand_over<uint8_t>();
  hand_over<uint64_t>();
  std::atomic_flag flag, answer;
  std::thread player([&] {
    flag.wait(false);
    answer.test_and_set();
    answer.notify_one();
  });
  flag.test_and_set();
  flag.notify_one();
  answer.wait(false);
  player.join();
  int plain = 0;
  std::thread counter([&] {
    std::atomic_ref<int> reference(plain);
    reference.fetch_add(2);
    reference.notify_one();
  });
  std::atomic_ref<int>(plain).wait(0);
  counter.join();
  assert(plain == 2);
  std::atomic<std::shared_ptr<int>> pointer;
  std::thread giver([&] { pointer.store(std::make_shared<int>(6)); });
  while (!pointer.load()) std::this_thread::yield();
  assert(*pointer.load() == 6);
  giver.join();
}
