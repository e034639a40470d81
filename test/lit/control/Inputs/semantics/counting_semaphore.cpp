// std::counting_semaphore and binary_semaphore: limits, time-outs, handing over.
#include <atomic>
#include <cassert>
#include <chrono>
#include <semaphore>
#include <thread>

using namespace std::chrono_literals;

int main() {
  std::counting_semaphore<4> slots(2);
  std::atomic<int> inside = 0;
  auto enters = [&] {
    slots.acquire();
    assert(++inside <= 2);
    --inside;
    slots.release();
  };
  std::thread a(enters), b(enters), c(enters);
  a.join();
  b.join();
  c.join();
  assert(slots.try_acquire() && slots.try_acquire() && !slots.try_acquire());
  const auto before = std::chrono::steady_clock::now();
  assert(!slots.try_acquire_for(2ms));
  assert(std::chrono::steady_clock::now() - before >= 2ms);
  assert(!slots.try_acquire_until(std::chrono::system_clock::now()));
  slots.release(2);
  assert(slots.try_acquire_for(1000s));

  std::binary_semaphore ping(0), pong(0);
  int ball = 0;
  std::thread player([&] {
    for (int i = 0; i < 3; ++i) {
      ping.acquire();
      ++ball;
      pong.release();
    }
  });
  for (int i = 0; i < 3; ++i) {
    ping.release();
    pong.acquire();
    assert(ball == i + 1);
  }
  player.join();
}
