// Requests that wait for their replies, by number. The receiver looks a request up under the lock and answers
// it without; meanwhile the one that gives up late requests destroys it.
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
namespace {
struct Request {
  explicit Request(void (*f)(int)) : answered(f) {}
  ~Request() { answered = nullptr; }
  void (*answered)(int);
  int tries = 0;
};
std::mutex lock;
std::map<int, std::unique_ptr<Request>> pending;
int answers;
void count(int number) {
  answers += number;
}
Request* find(int number) {
  std::lock_guard guard(lock);
  const auto found = pending.find(number);
  return found == pending.end() ? nullptr : found->second.get();
}
void receive() {
  for (int number = 0; number < 4; ++number) {
    Request* request = find(number);
    if (request == nullptr) continue;
    ++request->tries;
    request->answered(number);
    std::lock_guard guard(lock);
    pending.erase(number);
  }
}
void give_up() {
  for (int number = 3; number >= 0; --number) {
    std::lock_guard guard(lock);
    const auto found = pending.find(number);
    if (found != pending.end() && found->second->tries == 0) pending.erase(found);
  }
}
}  // namespace
int main() {
  for (int number = 0; number < 4; ++number) pending[number] = std::make_unique<Request>(count);
  std::thread receiver(receive), reaper(give_up);
  receiver.join();
  reaper.join();
  std::printf("%d\n", answers);
}
