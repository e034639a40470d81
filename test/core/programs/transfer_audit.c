// Accounts with a lock each; money goes from one to the other, an auditor sums them up. The sum takes one lock
// after the other, so does a transfer: between the two the money is in neither account, and the sum is wrong.
#include <assert.h>
#include <pthread.h>
enum { kAccounts = 3, kMoney = 100, kTransfers = 4 };
static struct account {
  pthread_mutex_t lock;
  int money;
} accounts[kAccounts];
static void add(struct account* a, int money) {
  pthread_mutex_lock(&a->lock);
  a->money += money;
  pthread_mutex_unlock(&a->lock);
}
static void* teller(void* arg) {
  (void)arg;
  for (int i = 0; i < kTransfers; ++i) {
    add(&accounts[i % kAccounts], -10);
    add(&accounts[(i + 1) % kAccounts], 10);
  }
  return 0;
}
static void* auditor(void* arg) {
  int* sums = arg;
  for (int round = 0; round < 2; ++round) {
    int sum = 0;
    for (int i = 0; i < kAccounts; ++i) {
      pthread_mutex_lock(&accounts[i].lock);
      sum += accounts[i].money;
      pthread_mutex_unlock(&accounts[i].lock);
    }
    sums[round] = sum;
    assert(sum == kAccounts * kMoney);
  }
  return 0;
}
int main(void) {
  int sums[2];
  for (int i = 0; i < kAccounts; ++i) {
    pthread_mutex_init(&accounts[i].lock, 0);
    accounts[i].money = kMoney;
  }
  pthread_t t, a;
  pthread_create(&t, 0, teller, 0);
  pthread_create(&a, 0, auditor, sums);
  pthread_join(t, 0);
  pthread_join(a, 0);
  return sums[0] != sums[1];
}
