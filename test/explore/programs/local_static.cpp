// A local static that two threads come to first, and one whose initialisation fails at first. -DBUG: a pointer instead of it.
// safe: sc tso pso
#include <cassert>
#include <stdexcept>
#include <thread>
static int made, tried;
struct Config {
  int size;
  Config() : size(5) { ++made; }
};
struct Late {
  int value;
  Late() : value(7) {
    if (++tried == 1) throw std::runtime_error("not yet");
  }
};
static Config& config() {
#ifdef BUG
  static Config* only = nullptr;
  if (only == nullptr) only = new Config;
  return *only;
#else
  static Config only;
  return only;
#endif
}
static int late() {
  static Late only;
  return only.value;
}
static void use() {
  assert(config().size == 5);
  try {
    assert(late() == 7);
  } catch (const std::runtime_error&) {
  }
}
int main() {
  std::thread a(use), b(use);
  a.join();
  b.join();
  assert(made == 1 && tried == 2);
}
