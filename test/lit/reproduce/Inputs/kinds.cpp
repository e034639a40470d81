// One race, many ways to die of it: a thread takes the shared object away for a moment, another one uses it.
#include <pthread.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

struct Node {
  int value, size;
  Node* next;
  char text[16];
};

static Node first, second;
static Node* volatile head = &first;
static volatile int divisor = 7;
static volatile long place = 0;
static Node* volatile block;
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static const char* what;
static int total;

static int depth(int n) {
  volatile char room[4096];
  room[0] = (char)n;
  return head == nullptr || n > 0 ? depth(n + 1) + room[0] : room[0];
}

static void use() {
  const std::string kind = what;
  if (kind == "member") {
    if (head) total += head->size + head->next->value;
  } else if (kind == "store") {
    if (head) head->size = total;
  } else if (kind == "wild") {
    total += (&first + place)->value;
  } else if (kind == "copy") {
    if (head) memcpy(second.text, head->text, (size_t)first.size);
  } else if (kind == "length") {
    if (head) total += (int)strlen(head->text);
  } else if (kind == "divide") {
    total = 100 / divisor;
  } else if (kind == "throw") {
    if (divisor == 0) throw std::runtime_error("nothing to divide by");
  } else if (kind == "abort") {
    if (divisor == 0) abort();
  } else if (kind == "exit") {
    if (divisor == 0) exit(7);
  } else if (kind == "assert") {
    assert(divisor != 0);
  } else if (kind == "overflow") {
    total += depth(0);
  } else if (kind == "double-free") {
    if (block) {
      free(block);
      block = nullptr;
    }
  } else if (kind == "freed") {
    if (block) block->value = 3;
  } else if (kind == "deadlock") {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
  }
}

static void* user(void* argument) {
  for (int i = 0; i < 60; ++i) use();
  return argument;
}

static void* taker(void* argument) {
  Node* const old = head;
  head = nullptr;
  divisor = 0;
  place = 1L << 40;
  second.size = old->size;
  place = 0;
  divisor = 7;
  head = old;
  if (block) {
    free(block);
    block = nullptr;
  }
  pthread_mutex_lock(&b);
  pthread_mutex_lock(&a);
  pthread_mutex_unlock(&a);
  pthread_mutex_unlock(&b);
  return argument;
}

int main(int, char** arguments) {
  what = arguments[1];
  first.next = second.next = &second;
  first.size = 12;
  strcpy(first.text, "some text");
  block = static_cast<Node*>(malloc(sizeof(Node)));
  pthread_t threads[2];
  pthread_create(&threads[0], nullptr, user, nullptr);
  pthread_create(&threads[1], nullptr, taker, nullptr);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  printf("%d\n", total);
  return 0;
}
