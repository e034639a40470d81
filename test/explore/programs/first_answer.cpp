// Two servers are asked; the first answer fulfils the promise. BUG: who is first is looked at and noted in two steps, and the promise is fulfilled twice.
// safe: sc tso pso
#include <atomic>
#include <cassert>
#include <future>
#include <thread>

int main() {
  std::promise<int> answer;
  std::future<int> result = answer.get_future();
  std::atomic<bool> answered{false};
  const auto ask = [&](int server) {
#ifdef BUG
    if (!answered) {
      answered = true;
      answer.set_value(server);
    }
#else
    if (!answered.exchange(true)) answer.set_value(server);
#endif
  };
  std::thread one(ask, 1), two(ask, 2);
  const int first = result.get();
  one.join();
  two.join();
  assert(first == 1 || first == 2);
}
