// Exceptions inside threads while others run, nested, and carried to another thread.
#include <cassert>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

std::mutex mutex;
int counter;

static void fails(int depth) {
  const std::lock_guard guard(mutex);
  ++counter;
  if (depth == 0) throw std::runtime_error("bottom");
}

static int tries(int depth) {
  if (depth < 0) return -1000;
  try {
    fails(depth);
    return 1 + tries(depth - 1);
  } catch (const std::runtime_error& error) {
    assert(std::string(error.what()) == "bottom" && std::uncaught_exceptions() == 0);
    try {
      std::this_thread::yield();
      std::throw_with_nested(std::logic_error("outer"));
    } catch (const std::logic_error& outer) {
      try {
        std::rethrow_if_nested(outer);
        assert(false);
      } catch (const std::runtime_error& inner) {
        assert(std::string(inner.what()) == "bottom");
      }
    }
    return 0;
  }
}

int main() {
  int depths[2] = {};
  std::exception_ptr carried;
  std::thread a([&] { depths[0] = tries(2); }), b([&] { depths[1] = tries(3); }), c([&] {
    try {
      fails(0);
    } catch (...) {
      carried = std::current_exception();
    }
  });
  a.join();
  b.join();
  c.join();
  assert(depths[0] == 2 && depths[1] == 3 && counter == 8);
  try {
    std::rethrow_exception(carried);
  } catch (const std::runtime_error& error) {
    assert(std::string(error.what()) == "bottom");
    return 0;
  }
  return 1;
}
