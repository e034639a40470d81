// std::call_once with attempts that throw, and local statics whose initialisation throws the first time.
#include <atomic>
#include <cassert>
#include <mutex>
#include <stdexcept>
#include <thread>

std::once_flag flag;
std::atomic<int> attempts, done, constructions;
int value;

struct Costly {
  Costly() {
    if (constructions++ == 0) throw std::runtime_error("the first one fails");
    number = 4;
  }
  int number;
};

static int costly() {
  for (;;) {
    try {
      static Costly object;
      return object.number;
    } catch (const std::runtime_error&) {
    }
  }
}

static void work() {
  for (bool again = true; again;) {
    again = false;
    try {
      std::call_once(flag, [] {
        if (attempts++ < 2) throw 1;
        value = 5;
        ++done;
      });
    } catch (int) {
      again = true;
    }
  }
  assert(value == 5 && done == 1);
  assert(costly() == 4);
}

int main() {
  std::thread a(work), b(work), c(work);
  a.join();
  b.join();
  c.join();
  assert(attempts == 3 && constructions == 2);
}
