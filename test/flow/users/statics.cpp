// Local statics whose initialisation takes long, or fails and is tried again, while others come to them: these look
// at a byte, and then wait.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>
static void sleep_for(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
std::atomic<int> tries, made;
static int slow() {
  sleep_for(60);
  return ++made;
}
static int failing() {
  sleep_for(30);
  if (++tries < 3) throw std::runtime_error("not yet");
  return tries;
}
static int first() {
  static int v = slow();
  return v;
}
static int second() {
  static int v = failing();
  return v;
}
int main() {
  std::vector<std::thread> threads;
  std::atomic<int> sum{0}, failed{0};
  for (int i = 0; i < 5; ++i)
    threads.emplace_back([&, i] {
      sleep_for(5 * i);
      sum += first();
      try {
        sum += second();
      } catch (const std::exception&) {
        ++failed;
      }
      sum += first();
    });
  for (auto& t : threads) t.join();
  std::printf("%d %d %d\n", sum.load(), failed.load(), made.load());
}
