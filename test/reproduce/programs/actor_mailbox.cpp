// Actors with mailboxes: accounts that send each other money by messages, and a teller that asks for balances.
//
// The bug: an actor counts as idle when its mailbox is empty, while the message it took last is still being
// worked on. Who waits until all are idle can see money that is on its way: the sum is short.
//
// HEDDLE-FAILURE: abort
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

struct Deposit {
  long amount;
};
struct Transfer {
  std::string to;
  long amount;
};
struct Stop {};
using Message = std::variant<Deposit, Transfer, Stop>;

class Mailbox {
 public:
  void put(Message message) {
    std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
    arrived_.notify_one();
  }

  Message take() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return !messages_.empty(); });
    Message first = std::move(messages_.front());
    messages_.pop_front();
    return first;
  }

  bool empty() {
    std::lock_guard lock(mutex_);
    return messages_.empty();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Message> messages_;
};

class Bank;

class Account {
 public:
  Account(Bank& bank, std::string name, long balance)
      : bank_(bank), name_(std::move(name)), balance_(balance) {}

  void run();
  Mailbox& mailbox() { return mailbox_; }
  const std::string& name() const { return name_; }
  long balance() const { return balance_.load(); }

 private:
  Bank& bank_;
  std::string name_;
  std::atomic<long> balance_;
  Mailbox mailbox_;
};

class Bank {
 public:
  Account& open(const std::string& name, long balance) {
    accounts_.push_back(std::make_unique<Account>(*this, name, balance));
    return *accounts_.back();
  }

  Account* find(const std::string& name) {
    for (const auto& account : accounts_)
      if (account->name() == name) return account.get();
    return nullptr;
  }

  bool idle() {
    for (const auto& account : accounts_)
      if (!account->mailbox().empty()) return false;
    return true;
  }

  long total() const {
    long sum = 0;
    for (const auto& account : accounts_) sum += account->balance();
    return sum;
  }

  std::vector<std::unique_ptr<Account>>& accounts() { return accounts_; }

 private:
  std::vector<std::unique_ptr<Account>> accounts_;
};

void Account::run() {
  for (;;) {
    Message message = mailbox_.take();
    if (std::holds_alternative<Stop>(message)) return;
    if (const auto* deposit = std::get_if<Deposit>(&message)) {
      balance_ += deposit->amount;
    } else if (const auto* transfer = std::get_if<Transfer>(&message)) {
      balance_ -= transfer->amount;
      if (Account* to = bank_.find(transfer->to)) to->mailbox().put(Deposit{transfer->amount});
    }
  }
}

int main() {
  Bank bank;
  bank.open("anna", 100);
  bank.open("boris", 100);
  bank.open("clara", 100);
  std::vector<std::thread> threads;
  for (const auto& account : bank.accounts()) threads.emplace_back([&account] { account->run(); });
  bank.find("anna")->mailbox().put(Transfer{"boris", 10});
  bank.find("boris")->mailbox().put(Transfer{"clara", 20});
  bank.find("clara")->mailbox().put(Transfer{"anna", 30});
  while (!bank.idle()) std::this_thread::yield();
  const long total = bank.total();
  for (const auto& account : bank.accounts()) account->mailbox().put(Stop{});
  for (std::thread& thread : threads) thread.join();
  if (total != 300) {
    std::fprintf(stderr, "%ld of 300 are there\n", total);
    std::abort();
  }
  return 0;
}
