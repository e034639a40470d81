// Two classes with a method of the same name, each of which reads through a pointer that another thread takes
// away for a moment. Which of the two fails is a matter of the schedule; the second one's moment is long.
#include <pthread.h>

static int value = 1;

struct First {
  int* volatile data = &value;
  [[gnu::noinline]] int use() { return *data; }
};

struct Second {
  int* volatile data = &value;
  [[gnu::noinline]] int use() { return *data; }
};

First first;
Second second;

static void work(int rounds) {
  for (volatile int i = 0; i < rounds; i = i + 1) {
  }
}

static void* take(void*) {
  first.data = nullptr;
  first.data = &value;
  second.data = nullptr;
  work(20'000'000);
  second.data = &value;
  return nullptr;
}

int main() {
  pthread_t thread;
  pthread_create(&thread, nullptr, take, nullptr);
  int sum = first.use();
  work(5'000'000);
  sum += second.use();
  pthread_join(thread, nullptr);
  return sum == 2 ? 0 : 1;
}
