// A handler is taken away between the check for it and its call: the thread calls a null pointer. It stands where no code is; who called it, and
// with what, is on its stack all the same. The thread is one of std::thread, whose first functions are the library's.
#include <cstdio>
#include <thread>

struct device {
  void (*handler)(int) = nullptr;
  int number = 0;
};

static int sum = 0;
static void handle(int value) { sum += value; }

static void pause_for(long rounds) {
  __asm__ volatile("1: dec %0; jnz 1b" : "+r"(rounds));
}

[[gnu::noinline]] static int dispatch(device& from, int times) {
  for (int i = 0; i < times; ++i) {
    if (*static_cast<void (*volatile*)(int)>(&from.handler) == nullptr) return i;
    pause_for(50000000);
    (*static_cast<void (*volatile*)(int)>(&from.handler))(from.number);
  }
  return times;
}

int main() {
  device it{handle, 3};
  std::thread worker([&] { std::printf("%d\n", dispatch(it, 2)); });
  std::thread closer([&] {
    pause_for(10000000);
    it.number = 4;
    *static_cast<void (*volatile*)(int)>(&it.handler) = nullptr;
  });
  worker.join();
  closer.join();
}
