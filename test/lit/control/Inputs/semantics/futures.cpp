// Promises, futures, packaged tasks, async of both kinds: values, exceptions, broken promises, time-outs,
// sharing.
#include <cassert>
#include <chrono>
#include <future>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

static int sum(std::vector<int>::iterator from, std::vector<int>::iterator to) {
  if (to - from <= 2) return std::accumulate(from, to, 0);
  auto middle = from + (to - from) / 2;
  auto right = std::async(std::launch::async, sum, middle, to);
  return sum(from, middle) + right.get();
}

template <class Error, class Call>
static bool throws(Call call) {
  try {
    call();
  } catch (const Error&) {
    return true;
  }
  return false;
}

int main() {
  std::vector<int> numbers{1, 2, 3, 4, 5, 6};
  assert(sum(numbers.begin(), numbers.end()) == 21);

  std::promise<int> promise;
  std::shared_future<int> shared = promise.get_future().share();
  assert(shared.wait_for(1ms) == std::future_status::timeout);
  std::thread a([shared] { assert(shared.get() == 8); }), b([&promise] { promise.set_value(8); });
  assert(shared.get() == 8 && shared.wait_for(0ms) == std::future_status::ready);
  a.join();
  b.join();
  assert(throws<std::future_error>([&] { promise.set_value(9); }));
  assert(throws<std::future_error>([&] { promise.get_future(); }));

  std::future<void> broken;
  {
    std::promise<void> gone;
    broken = gone.get_future();
  }
  assert(throws<std::future_error>([&] { broken.get(); }));

  auto failing = std::async(std::launch::async, []() -> int { throw std::out_of_range("far"); });
  assert(throws<std::out_of_range>([&] { failing.get(); }));

  const auto here = std::this_thread::get_id();
  auto lazy = std::async(std::launch::deferred, [] { return std::this_thread::get_id(); });
  assert(lazy.wait_for(0ms) == std::future_status::deferred && lazy.get() == here);

  std::packaged_task<int(int)> task([](int x) { return x * 2; });
  auto doubled = task.get_future();
  std::thread runs(std::move(task), 21);
  assert(doubled.get() == 42);
  runs.join();

  std::promise<int> late;
  auto value = late.get_future();
  std::thread at_exit([&] {
    late.set_value_at_thread_exit(3);
    assert(value.wait_for(0ms) == std::future_status::timeout);
  });
  assert(value.get() == 3);
  at_exit.join();
}
