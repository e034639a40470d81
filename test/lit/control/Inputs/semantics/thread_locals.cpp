// Thread-local objects: constructed in each thread that uses them, destroyed at its end in reverse order,
// before joining returns; those of main before the static ones.
#include <unistd.h>
#include <atomic>
#include <cassert>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

std::atomic<int> alive, made;
bool main_thread_done;

struct Counted {
  explicit Counted(int number) : number(number), text(40, 'x') {
    ++alive;
    ++made;
    order().push_back(number);
  }
  ~Counted() {
    if (order().back() != number) std::_Exit(3);
    order().pop_back();
    --alive;
    if (main_thread_done && alive == 0) main_thread_done = false;
  }
  static std::vector<int>& order() {
    static thread_local std::vector<int> numbers;
    return numbers;
  }
  int number;
  std::string text;
};

struct Last {
  ~Last() {
    if (alive != 0 || main_thread_done) _exit(4);
  }
} last;

thread_local Counted first(1);
thread_local int plain = 5;

static void use() {
  thread_local Counted second(2);
  assert(first.number == 1 && second.number == 2 && ++plain == 6);
}

int main() {
  std::thread a(use), b(use), c([] { plain = 9; });
  a.join();
  b.join();
  c.join();
  assert(alive == 0 && made == 4);
  use();
  assert(alive == 2 && plain == 6);
  main_thread_done = true;
}
