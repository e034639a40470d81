// A query is sent to two servers; whoever answers first fulfils the promise.
//
// The bug: "has somebody answered" and "I have" are two steps. Both servers set the value, and the second one
// gets a std::future_error, which ends the program.
//
// HEDDLE-FAILURE: exception
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B each server looks before the other one has noted its answer
// HEDDLE-SMALL: yes
#include <atomic>
#include <cassert>
#include <future>
#include <thread>

std::atomic<bool> answered{false};

static bool first_to_answer() {
#ifdef FIXED
  return !answered.exchange(true);
#else
  if (answered.load()) return false;  // [A]
  answered.store(true);               // [B]
  return true;
#endif
}

static void server(std::promise<int>& promise, int answer) {
  if (first_to_answer()) promise.set_value(answer);
}

int main() {
  std::promise<int> promise;
  std::future<int> future = promise.get_future();
  std::thread one([&] { server(promise, 1); });
  std::thread two([&] { server(promise, 2); });
  const int answer = future.get();
  one.join();
  two.join();
  assert(answer == 1 || answer == 2);
}
