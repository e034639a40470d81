// A worker stops early and leaves promises broken: who waits for them throws the exception again that says so.
#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>
static std::atomic<bool> stop{false};
static std::string label(int i) {
  return std::string("job ") + std::to_string(i);
}
int main() {
  std::vector<std::promise<std::string>> p(3);
  std::vector<std::future<std::string>> f;
  for (auto& x : p) f.push_back(x.get_future());
  std::thread w([q = std::move(p)]() mutable {
    for (int i = 0; i < 3; ++i) {
      if (stop) return;
      q[i].set_value(label(i));
    }
  });
  std::thread s([] { stop = true; });
  s.join();
  size_t n = 0;
  std::string first = f[0].get();
  for (int i = 1; i < 3; ++i) n += f[i].get().size();
  w.join();
  return n + first.size() == 15 ? 0 : 1;
}
