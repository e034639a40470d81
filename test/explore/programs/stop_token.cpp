// std::jthread with a stop token and output by std::cout. BUG: the flag is plain and checked once.
// safe: sc tso pso
#include <atomic>
#include <cassert>
#include <iostream>
#include <thread>
std::atomic<int> rounds{0};
int main() {
  {
    std::jthread a([](std::stop_token stop) {
      while (!stop.stop_requested()) {
        if (rounds.fetch_add(1) == 2) break;
      }
      std::cout << "stopped\n";
    });
    std::cout << "main\n";
  }
#ifdef BUG
  assert(rounds <= 2);
#else
  assert(rounds <= 3);
#endif
}
