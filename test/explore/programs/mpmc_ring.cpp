// A bounded ring for many producers and consumers: each cell has a number that tells whose turn it is. BUG: the
// safe: sc tso pso; number of a cell is given before the cell is filled.
#include <atomic>
#include <cassert>
#include <thread>
template <class T, unsigned N>
class Ring {
 public:
  Ring() {
    for (unsigned i = 0; i < N; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
  }
  bool push(T value) {
    unsigned at = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[at % N];
      const int ahead = static_cast<int>(cell.turn.load(std::memory_order_acquire) - at);
      if (ahead < 0) return false;
      if (ahead > 0) {
        at = tail_.load(std::memory_order_relaxed);
      } else if (tail_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
#ifdef BUG
        cell.turn.store(at + 1, std::memory_order_release);
        cell.value = value;
#else
        cell.value = value;
        cell.turn.store(at + 1, std::memory_order_release);
#endif
        return true;
      }
    }
  }
  bool pop(T& value) {
    unsigned at = head_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[at % N];
      const int ahead = static_cast<int>(cell.turn.load(std::memory_order_acquire) - (at + 1));
      if (ahead < 0) return false;
      if (ahead > 0) {
        at = head_.load(std::memory_order_relaxed);
      } else if (head_.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
        value = cell.value;
        cell.turn.store(at + N, std::memory_order_release);
        return true;
      }
    }
  }

 private:
  struct Cell {
    std::atomic<unsigned> turn;
    T value;
  };
  Cell cells_[N];
  std::atomic<unsigned> head_{0}, tail_{0};
};
static Ring<int, 2> ring;
static std::atomic<int> sum, taken;
static void take(int value) {
  sum += value;
  ++taken;
}
int main() {
  std::thread one([] { assert(ring.push(1)); }), two([] { assert(ring.push(2)); });
  std::thread consumer([] {
    int value;
    if (ring.pop(value)) take(value);
  });
  one.join();
  two.join();
  consumer.join();
  for (int value; ring.pop(value);) take(value);
  assert(taken == 2 && sum == 3);
}
