// Coroutines: resumed by the thread that made them and by another, left in the middle, ended by an exception.
#include <coroutine>
#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

struct Numbers {
  struct promise_type {
    int value = 0;
    bool failed = false;
    Numbers get_return_object() { return Numbers(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int next) {
      value = next;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { failed = true; }
  };
  explicit Numbers(std::coroutine_handle<promise_type> made) : handle(made) {}
  Numbers(Numbers&& other) : handle(std::exchange(other.handle, {})) {}
  ~Numbers() {
    if (handle) handle.destroy();
  }
  bool next() {
    handle.resume();
    return !handle.done();
  }
  std::coroutine_handle<promise_type> handle;
};

static Numbers collatz(int n) {
  while (n != 1) {
    co_yield n;
    n = n % 2 ? 3 * n + 1 : n / 2;
    if (n == 40) throw n;
  }
}

int main() {
  std::vector<int> sums(4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&sums, i] {
      for (int n = 1; n < 30; ++n)
        for (Numbers numbers = collatz(n + i); numbers.next();) sums[i] += numbers.handle.promise().value;
    });
  for (std::thread& thread : threads) thread.join();
  Numbers moved = collatz(27);
  std::thread([&] { for (int i = 0; i < 10 && moved.next(); ++i) {} }).join();
  while (moved.next()) {
  }
  std::puts(sums[0] > 0 ? "done" : "nothing");
}
