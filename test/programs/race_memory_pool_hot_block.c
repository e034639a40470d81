// A pool of memory blocks of one size: a free list under a spin lock, and in front of it one "hot" block, the
// last one given back, because it is likely to be in the cache.
//
// The bug: the hot block is taken and put without the lock. Two threads can take the same block.
//
// HEDDLE-FAILURE: abort
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B both threads see the hot block before one of them takes it away
// HEDDLE-SMALL: no
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBlocks = 4, kBlockSize = 32, kRounds = 2 };

struct pool_block {
  struct pool_block* next;
  atomic_int users;  // to find out when the pool breaks its promise
  char bytes[kBlockSize];
};

struct pool {
  pthread_spinlock_t lock;
  struct pool_block* free_list;
  _Atomic(struct pool_block*) hot;
  struct pool_block blocks[kBlocks];
};

static void pool_init(struct pool* pool) {
  pthread_spin_init(&pool->lock, PTHREAD_PROCESS_PRIVATE);
  pool->free_list = NULL;
  atomic_init(&pool->hot, &pool->blocks[0]);
  for (int i = 1; i < kBlocks; ++i) {
    pool->blocks[i].next = pool->free_list;
    pool->free_list = &pool->blocks[i];
  }
}

static void broken(const char* what) {
  fprintf(stderr, "pool: %s\n", what);
  abort();
}

static struct pool_block* take_hot(struct pool* pool) {
#ifdef FIXED
  return atomic_exchange(&pool->hot, NULL);
#else
  struct pool_block* result = atomic_load(&pool->hot);  // [A]
  if (result != NULL) atomic_store(&pool->hot, NULL);   // [B]
  return result;
#endif
}

static struct pool_block* put_hot(struct pool* pool,
                                  struct pool_block* block) {  // gives the block that was hot
#ifdef FIXED
  return atomic_exchange(&pool->hot, block);
#else
  struct pool_block* before = atomic_load(&pool->hot);
  atomic_store(&pool->hot, block);
  return before;
#endif
}

static struct pool_block* take_listed(struct pool* pool) {
  pthread_spin_lock(&pool->lock);
  struct pool_block* result = pool->free_list;
  if (result != NULL) pool->free_list = result->next;
  pthread_spin_unlock(&pool->lock);
  return result;
}

static void put_listed(struct pool* pool, struct pool_block* block) {
  pthread_spin_lock(&pool->lock);
  block->next = pool->free_list;
  pool->free_list = block;
  pthread_spin_unlock(&pool->lock);
}

static struct pool_block* pool_take(struct pool* pool) {
  struct pool_block* block = take_hot(pool);
  if (block == NULL) block = take_listed(pool);
  if (block == NULL) broken("no more blocks");
  if (atomic_fetch_add(&block->users, 1) != 0) broken("a block was given out twice");
  return block;
}

static void pool_give(struct pool* pool, struct pool_block* block) {
  if (atomic_fetch_sub(&block->users, 1) != 1) broken("a block was given back twice");
  struct pool_block* colder = put_hot(pool, block);
  if (colder != NULL) put_listed(pool, colder);
}

struct pool pool;

static void* work(void* arg) {
  const char mark = *(const char*)arg;
  for (int round = 0; round < kRounds; ++round) {
    struct pool_block* block = pool_take(&pool);
    for (int i = 0; i < kBlockSize; i += 16) block->bytes[i] = mark;
    for (int i = 0; i < kBlockSize; i += 16) {
      if (block->bytes[i] != mark) broken("somebody else's bytes");
    }
    pool_give(&pool, block);
  }
  return NULL;
}

int main(void) {
  pool_init(&pool);
  char marks[2] = {'a', 'b'};
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, &marks[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  pthread_spin_destroy(&pool.lock);
  return 0;
}
