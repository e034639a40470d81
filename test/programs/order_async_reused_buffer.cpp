// Lines are read into a buffer and handed to std::async and std::packaged_task for adding up.
//
// The bug: the task gets the buffer by reference and the next line is read into it, without waiting for the
// task.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: order
// HEDDLE-DECISIVE: A B the buffer is overwritten before the task reads it
// HEDDLE-SMALL: yes
#include <array>
#include <cassert>
#include <future>
#include <thread>
#include <utility>

using Line = std::array<volatile int, 2>;

static int add_up(const Line& line) {
  return line[0] + line[1];  // [B]
}

int main() {
  Line line{{1, 2}};
  Line next{{10, 20}};
  std::packaged_task<int(const Line*)> task([](const Line* l) { return add_up(*l); });
  std::future<int> first = task.get_future();
  std::thread runner(std::move(task), &line);
#ifdef FIXED
  const int sum = first.get();
#endif
  auto read_next = [&] {
    for (int i = 0; i < 2; ++i) line[i] = next[i];  // [A]
    return add_up(line);
  };
  std::future<int> second = std::async(std::launch::async, read_next);
#ifndef FIXED
  const int sum = first.get();
#endif
  const int sum_next = second.get();
  runner.join();
  assert(sum == 3);
  assert(sum_next == 30);
}
