// Two threads sleep until main opens a gate, which wakes one of them only. The library spins, and gives way, before it sleeps. With SLOW set, main
// is late, so both sleep.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

static std::atomic<int> gate{0};

static void pass() {
  gate.wait(0);
}

int main() {
  std::thread one(pass), two(pass);
  if (std::getenv("SLOW") != nullptr) usleep(300000);
  gate.store(1);
  gate.notify_one();
  one.join();
  two.join();
}
