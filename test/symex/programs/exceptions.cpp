// Exceptions: thrown, caught by their types, passed on and thrown again, with what they carry and what was written before.
#include <cassert>
#include <mutex>
#include <stdexcept>
#include <thread>

struct Refused {
  int wanted, had;
};
struct Worse : Refused {
  explicit Worse(const Refused& other) : Refused(other) {}
};

std::mutex mutex;
int balance = 10, refused, taken, thrown_before;

static void take(int amount) {
  const std::lock_guard guard(mutex);
  ++thrown_before;
  if (balance < amount) throw Refused{amount, balance};
  balance -= amount;
}

static void retry(int amount) {
  try {
    take(amount);
  } catch (const Refused& reason) {
    if (reason.wanted - reason.had > 5) throw Worse(reason);
    try {
      take(0);
      throw 7;
    } catch (int) {
    }
    throw;
  }
}

static void work(int first) {
  for (int amount = first; amount < first + 4; ++amount) {
    try {
      retry(amount);
      taken += amount;
    } catch (const Worse& worse) {
      refused += worse.had + 100;
    } catch (const Refused& reason) {
      refused += reason.had;
    }
  }
}

thread_local struct Counted {
  int calls = 0;
  ~Counted() { refused += calls; }
} counted;

int main() {
  std::thread a([] { ++counted.calls, work(2); }), b([] { ++counted.calls, work(3); });
  a.join();
  b.join();
  assert(balance >= 0 && thrown_before >= 8);
}
