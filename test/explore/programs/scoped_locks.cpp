// Transfers between two accounts that take both locks, in opposite orders.
// safe: sc tso pso
#include <cassert>
#include <mutex>
#include <thread>

struct Account {
  std::mutex lock;
  int balance = 10;
};

static Account left, right;

static void transfer(Account& from, Account& to, int amount) {
#ifdef BUG
  const std::lock_guard<std::mutex> one(from.lock);
  const std::lock_guard<std::mutex> other(to.lock);
#else
  const std::scoped_lock both(from.lock, to.lock);
#endif
  from.balance -= amount;
  to.balance += amount;
}

int main() {
  std::thread one([] { transfer(left, right, 3); });
  std::thread other([] { transfer(right, left, 2); });
  one.join();
  other.join();
  assert(left.balance == 9 && right.balance == 11);
}
