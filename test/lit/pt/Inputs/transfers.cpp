// Transfers are undone if money is lacking; the exception that says so passes a lock guard on its way. What
// undoes one fails itself if another thread has taken the money meanwhile, or both are not refused.
#include <cassert>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
struct Account {
  long balance = 100;
  std::mutex m;
};
static std::unordered_map<std::string, Account> accounts;
static void withdraw(Account& a, long n) {
  std::lock_guard l(a.m);
  if (a.balance < n) throw std::runtime_error("insufficient funds");
  a.balance -= n;
}
static void deposit(Account& a, long n) {
  std::lock_guard l(a.m);
  a.balance += n;
}
static int failed = 0;
static void transfer(const std::string& from, const std::string& to, long n) {
  try {
    deposit(accounts.at(to), n);
    withdraw(accounts.at(from), n);
  } catch (const std::runtime_error& e) {
    deposit(accounts.at(from), 0);
    ++failed;
    withdraw(accounts.at(to), n);
  }
}
int main() {
  accounts["a"];
  accounts["b"];
  std::thread x(transfer, "a", "b", 150), y(transfer, "b", "a", 220);
  x.join();
  y.join();
  assert(failed == 2);
  return 0;
}
