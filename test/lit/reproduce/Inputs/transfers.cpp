// Transfers in a cycle of three accounts, each of which locks both accounts in the order of its arguments.
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>
struct Account {
  std::mutex m;
  long balance = 100;
  int id;
};
void transfer(Account& from, Account& to, long amount) {
  std::lock_guard<std::mutex> a(from.m);
  std::lock_guard<std::mutex> b(to.m);
  if (from.balance >= amount) {
    from.balance -= amount;
    to.balance += amount;
  }
}
int main() {
  std::vector<Account> acc(3);
  std::vector<std::thread> t;
  for (int i = 0; i < 3; ++i)
    t.emplace_back([&acc, i] {
      for (int k = 0; k < 20; ++k) transfer(acc[i], acc[(i + 1) % 3], k);
    });
  for (auto& x : t) x.join();
  std::printf("%ld\n", acc[0].balance + acc[1].balance + acc[2].balance);
}
