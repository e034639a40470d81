// Several threads write to standard error by all that can, until several of them end the program at once.
#include <err.h>

#include <atomic>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<int> arrived{0};
int rounds = 0;  // raced for

void say(int who) {
  errno = ENOENT;
  switch ((rounds++ + who) % 5) {
    case 0:
      return perror("perror");
    case 1:
      return warnx("warnx %d", who);
    case 2:
      std::fprintf(stderr, "fprintf %d\n", who);
      return;
    case 3:
      std::cerr << "cerr " << who << '\n';
      return;
    default:
      std::clog << "clog " << who << std::endl;
  }
}

void work(int who) {
  for (int i = 0; i < 20; ++i) say(who);
  ++arrived;
  while (arrived < 6) std::this_thread::yield();
  if (who % 2 == 0) assert(rounds < who);
  throw std::runtime_error("from thread " + std::to_string(who));
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}
