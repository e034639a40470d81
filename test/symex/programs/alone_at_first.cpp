// What the first thread reads before there is another one is its own: addresses that come of it are not recorded.
#include <memory>
#include <mutex>
#include <thread>

std::shared_ptr<int> current = std::make_shared<int>(5);
std::weak_ptr<int> observer = current;  // reads a pointer that threads write later
std::mutex lock;
int total;

static void work(int amount) {
  for (int i = 0; i < 3; ++i) {
    std::lock_guard<std::mutex> guard(lock);
    if (const std::shared_ptr<int> seen = observer.lock()) total += *seen;
    current = std::make_shared<int>(total + amount);
    observer = current;
  }
}

int main() {
  std::thread first(work, 1), second(work, 2);
  first.join();
  second.join();
  return total == 1;
}
