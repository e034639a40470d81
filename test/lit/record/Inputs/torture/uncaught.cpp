// An exception that nobody catches, in a thread, with destructors on its way that never run; by argument `noexcept`: one that meets a
// function that promised not to throw.
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

static volatile int shared;
struct Guard {
  ~Guard() { shared = shared + 1; }
};
__attribute__((noinline)) static int deep(int depth) {
  Guard guard;
  if (depth == 0) throw std::runtime_error("nobody catches this");
  return deep(depth - 1) + 1;
}
__attribute__((noinline)) static int promised(int depth) noexcept { return deep(depth) + 1; }
int main(int argc, char** argv) {
  std::thread busy([] { for (int i = 0;; ++i) if (i & 1) shared = i; });
  std::thread failing([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (argc > 1 && std::strcmp(argv[1], "noexcept") == 0) promised(4);
    try {
      deep(6);
    } catch (int) {
      shared = 7;
    }
  });
  busy.join();
  failing.join();
}
