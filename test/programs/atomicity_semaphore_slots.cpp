// A std::counting_semaphore lets two of three clients use two connections at a time.
//
// The bug: the semaphore limits how many clients choose, not which connection they choose. Finding a free one
// and marking it are two steps; two clients can use the same connection.
//
// HEDDLE-FAILURE: abort
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B one client sees the connection free before the other one marks it (in both directions)
// HEDDLE-SMALL: no
#include <array>
#include <atomic>
#include <cstdlib>
#include <semaphore>
#include <thread>

std::counting_semaphore<2> permits(2);
std::array<std::atomic<bool>, 2> busy;
std::array<std::atomic<int>, 2> users;
std::array<std::atomic<int>, 2> packets;

static int choose() {
  for (int i = 0; i < 2; ++i) {
#ifdef FIXED
    if (!busy[i].exchange(true)) return i;
#else
    if (!busy[i].load()) {  // [A]
      busy[i].store(true);  // [B]
      return i;
    }
#endif
  }
  return -1;
}

static void client() {
  permits.acquire();
  const int mine = choose();
  if (mine < 0 || users[mine].fetch_add(1) != 0) std::abort();
  packets[mine].store(packets[mine].load() + 1);
  users[mine].fetch_sub(1);
  busy[mine].store(false);
  permits.release();
}

int main() {
  std::thread one(client);
  std::thread two(client);
  std::thread three(client);
  one.join();
  two.join();
  three.join();
}
