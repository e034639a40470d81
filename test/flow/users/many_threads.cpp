// More threads than flow recording has numbers for, one after the other: joined, detached, made by threads, by
// C functions, std::async, with stacks of their own, ended by pthread_exit. Blocks go from those that are over
// to those that come, some threads race. The program looks at its limit of open files, raises it, uses it and
// lowers it.
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <threads.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

namespace {

std::mutex lock;
std::vector<int*> blocks;  // that threads leave to others
long sum = 0;
int raced = 0;
std::atomic<int> detached{0};

struct Trace {
  int value = 0;
  ~Trace() {
    const std::lock_guard<std::mutex> guard(lock);
    sum = sum * 7 + value;
  }
};
thread_local Trace trace;

void work(int number) {
  trace.value = number;
  auto* mine = new int[8 + std::abs(number) % 50];
  mine[0] = number;
  raced = raced * 3 + number;
  const std::lock_guard<std::mutex> guard(lock);
  sum = sum * 31 + mine[0];
  blocks.push_back(mine);
  if (blocks.size() > 20) {
    sum += blocks.front()[0];
    delete[] blocks.front();
    blocks.erase(blocks.begin());
  }
}

void* leaves(void* argument) {
  work(static_cast<int>(reinterpret_cast<long>(argument)));
  pthread_exit(argument);
}

void with_own_stack(int number) {
  static void* stack = std::aligned_alloc(4096, 256 * 1024);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, 256 * 1024);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, leaves, reinterpret_cast<void*>(static_cast<long>(number))) != 0)
    std::abort();
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

void several(int number) {
  std::thread inner(work, number + 1);
  work(number);
  inner.join();
}

int counted(void*) {
  ++detached;
  return 0;
}

void c_threads(int count) {
  detached = 0;
  for (int i = 0; i < count; ++i) {
    thrd_t thread;
    if (thrd_create(&thread, counted, nullptr) != thrd_success || thrd_detach(thread) != thrd_success)
      std::abort();
    while (detached != i + 1) thrd_yield();
  }
}

long files() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const auto before = static_cast<long>(limit.rlim_cur);
  if (limit.rlim_cur < limit.rlim_max) ++limit.rlim_cur;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) std::abort();
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max = 256;  // as servers do; threads come later
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) std::abort();
  const int opened = open("/dev/null", O_RDONLY);
  close(opened);
  return before * 1000 + static_cast<long>(limit.rlim_cur) + opened;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 220;
  sum += files();
  for (int i = 0; i < rounds; ++i) {
    std::thread a(work, i), b(several, i * 2);
    auto later = std::async(std::launch::async, [i] {
      work(i);
      return i;
    });
    std::thread([i] {
      work(-i);
      ++detached;
    }).detach();
    if (i % 4 == 0) with_own_stack(i);
    a.join();
    b.join();
    sum += later.get();
  }
  while (detached != rounds) std::this_thread::yield();
  c_threads(rounds * 5);
  std::printf("%ld %d\n", sum, raced);
  return 0;
}
