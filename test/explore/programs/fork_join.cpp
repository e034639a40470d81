// Threads make threads: where their stacks and blocks lie is the same in whatever order they do. BUG: a part is looked at before its thread has ended.
// safe: sc tso pso
#include <algorithm>
#include <cassert>
#include <memory>
#include <thread>
#include <vector>
static std::vector<int> sorted(const std::vector<int>& all, size_t begin, size_t end, int depth) {
  if (end - begin == 1) return {all[begin]};
  const size_t middle = (begin + end) / 2;
  std::vector<int> left, right;
  if (depth > 0) {
    std::thread other([&] { left = sorted(all, begin, middle, depth - 1); });
    right = sorted(all, middle, end, depth - 1);
#ifdef BUG
    const bool empty = left.empty();
    other.join();
    if (empty) left.clear();
#else
    other.join();
#endif
  } else {
    left = sorted(all, begin, middle, 0);
    right = sorted(all, middle, end, 0);
  }
  auto out = std::make_unique<std::vector<int>>(left.size() + right.size());
  std::merge(left.begin(), left.end(), right.begin(), right.end(), out->begin());
  return *out;
}
int main() {
  const std::vector<int> out = sorted({5, 2, 4, 1}, 0, 4, 2);
  assert(out == (std::vector<int>{1, 2, 4, 5}));
}
