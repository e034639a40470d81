// What runs before and after main(): constructors and destructors of statics, one that starts a thread before main(), init
// functions, static locals that threads race for, destructors of thread_local objects, atexit in a destructor.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

static int counted;
struct Early {
  explicit Early(int n) : size(n) { for (int i = 0; i < n; ++i) if (i % 3) ++counted; }
  ~Early() {
    for (int i = 0; i < size; ++i) if (i % 2) --counted;
    if (size == 4) std::atexit([] { if (counted > 3) counted = 0; });
  }
  int size;
};
__attribute__((constructor(200))) static void very_early() { counted = counted == 0 ? 1 : 2; }
__attribute__((destructor(200))) static void very_late() { counted = counted > 1 ? 1 : 2; }
static Early first(4), second(7);
static const std::map<std::string, int> names = {{"one", 1}, {"two", 2}, {"three", 3}};

struct Starter {
  Starter() : thread([this] { for (int i = 0; i < 10; ++i) if (i & 1) ++seen; }) { thread.join(); }
  int seen = 0;
  std::thread thread;
};
static Starter starter;

static thread_local Early local(3);
__attribute__((noinline)) static int once(int n) {
  static const Early here(n);
  return here.size + local.size;
}
__attribute__((noinline)) static int fails_first(int n) {
  // A constructor that throws leaves the guard open: the next one tries again.
  struct Picky {
    explicit Picky(int k) { if (k < 2) throw k; }
  };
  try {
    static const Picky picky(n);
    return 1;
  } catch (int) {
    return 0;
  }
}

int main() {
  std::thread a([] { once(5); once(6); });
  std::thread b([] { if (once(5) > 8) local.size = 2; });
  int good = 0;
  for (int i = 0; i < 4; ++i) good += fails_first(i);
  a.join();
  b.join();
  std::puts(names.at("two") + good == 4 && starter.seen == 5 ? "done" : "wrong");
}
