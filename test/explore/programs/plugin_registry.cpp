// Plugins are registered by whoever comes first, with std::call_once. BUG: a flag of one's own instead.
// safe: sc tso pso
#include <cassert>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::vector<std::string> plugins;
#ifdef BUG
static bool is_loaded;
#else
static std::once_flag loaded;
#endif

static void load() {
  plugins.push_back("png");
  plugins.push_back("jpeg");
}

static size_t count() {
#ifdef BUG
  if (!is_loaded) {
    load();
    is_loaded = true;
  }
#else
  std::call_once(loaded, load);
#endif
  return plugins.size();
}

int main() {
  size_t left = 0, right = 0;
  std::thread one([&] { left = count(); });
  std::thread two([&] { right = count(); });
  one.join();
  two.join();
  assert(left == 2 && right == 2);
  assert(plugins.size() == 2);
}
