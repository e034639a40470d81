// A ring between a producer and a consumer, with std::binary_semaphore for what is free and what is full. BUG: the item is put in behind the release.
// safe: sc tso pso
#include <cassert>
#include <semaphore>
#include <thread>

static std::binary_semaphore is_free{1}, is_full{0};
static int slot, total;

static void produce() {
  for (int i = 1; i <= 2; ++i) {
    is_free.acquire();
#ifdef BUG
    is_full.release();
    slot = i;
#else
    slot = i;
    is_full.release();
#endif
  }
}

static void consume() {
  for (int i = 1; i <= 2; ++i) {
    is_full.acquire();
    total += slot;
    is_free.release();
  }
}

int main() {
  std::thread producer(produce), consumer(consume);
  producer.join();
  consumer.join();
  assert(total == 3);
}
