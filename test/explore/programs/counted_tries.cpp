// A loop that asks for a flag and counts: how often it does is seen. BUG: it must not be just six times.
// safe: sc tso pso
#include <atomic>
#include <cassert>
#include <thread>
static std::atomic<bool> flag{false};
int main() {
  std::thread setter([] { flag.store(true); });
  int tries = 0;
  while (!flag.load() && tries < 10) ++tries;
#ifdef BUG
  assert(tries != 6);
#else
  assert(tries <= 10);
#endif
  setter.join();
}
