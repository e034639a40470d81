// std::counting_semaphore around a counter: libstdc++ 12 loses a wake-up (GCC bug 104928), so this fails too. BUG: two may enter.
// safe: none
#include <cassert>
#include <semaphore>
#include <thread>
#ifdef BUG
std::counting_semaphore<2> room(2);
#else
std::counting_semaphore<2> room(1);
#endif
int counter;
void worker() {
  room.acquire();
  counter = counter + 1;
  room.release();
}
int main() {
  std::thread a(worker), b(worker);
  a.join(); b.join();
  assert(counter == 2);
}
