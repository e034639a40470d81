// A bank with one mistake: transfer() checks the balance, then takes the money in a second critical section.
// Two transfers at the same time can both pass the check, and the account goes below zero.
//
//   heddle cc -O1 -pthread bank.c -o bank && ./bank
//
// It almost never fails when run like this. That is the point of heddle.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct account {
  pthread_mutex_t lock;
  long balance;
};

static struct account checking = {PTHREAD_MUTEX_INITIALIZER, 100};
static struct account savings = {PTHREAD_MUTEX_INITIALIZER, 0};
static long transfers;  // statistics; nobody guards it

static long balance_of(struct account* account) {
  pthread_mutex_lock(&account->lock);
  const long balance = account->balance;
  pthread_mutex_unlock(&account->lock);
  return balance;
}

static void add(struct account* account, long amount) {
  pthread_mutex_lock(&account->lock);
  account->balance += amount;
  pthread_mutex_unlock(&account->lock);
}

static int transfer(struct account* from, struct account* to, long amount) {
  if (balance_of(from) < amount) return 0;
  add(from, -amount);  // another thread may have been here since the check
  add(to, amount);
  ++transfers;
  return 1;
}

static void* customer(void* amount) {
  for (int i = 0; i < 3; ++i) transfer(&checking, &savings, *(long*)amount);
  return NULL;
}

int main(void) {
  long amounts[] = {60, 70};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, customer, &amounts[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  printf("checking %ld, savings %ld, %ld transfers\n", checking.balance, savings.balance, transfers);
  assert(checking.balance >= 0);
  return 0;
}
