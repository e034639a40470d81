// Configuration read once by whoever comes first, std::call_once with an exception the first time. -DBUG: double-checked with a flag set too early.
// safe: sc tso pso
#include <atomic>
#include <cassert>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
struct Config { std::string name; std::vector<int> ports; };
static Config config;
static std::once_flag once;
static std::atomic<bool> ready{false};
static std::mutex mutex;
static int attempts;
static void load() {
  if (attempts++ == 0) throw std::runtime_error("not there yet");
  config.name = "a name that is too long for the small buffer of std::string";
  config.ports = {1, 2, 3};
}
static const Config& get() {
#ifdef BUG
  if (!ready.load(std::memory_order_acquire)) {
    std::lock_guard g(mutex);
    if (!ready.load(std::memory_order_relaxed)) {
      ready.store(true, std::memory_order_release);
      attempts = 1;
      load();
    }
  }
#else
  for (;;) {
    try { std::call_once(once, load); break; } catch (const std::runtime_error&) {}
  }
#endif
  return config;
}
int main() {
  auto use = [] { assert(get().ports.size() == 3); };
  std::thread a(use), b(use);
  a.join(); b.join();
}
