// std::async, shared_ptr and a vector. BUG: the sum is not atomic.
// safe: sc tso pso
#include <atomic>
#include <cassert>
#include <future>
#include <memory>
#include <vector>
#ifdef BUG
using Sum = volatile int;
#define ADD(sum, x) sum = sum + (x)
#else
using Sum = std::atomic<int>;
#define ADD(sum, x) sum.fetch_add(x)
#endif
Sum sum{0};
int main() {
  auto data = std::make_shared<std::vector<int>>(std::vector<int>{1, 2});
  auto one = std::async(std::launch::async, [data] { ADD(sum, (*data)[0]); });
  auto two = std::async(std::launch::async, [data] { ADD(sum, (*data)[1]); });
  one.get(); two.get();
  assert(sum == 3);
}
