// The current settings are a std::shared_ptr that one thread replaces and another one copies.
//
// The bug: the counts of a shared_ptr are atomic, the pointer itself is not. Between reading the control
// block's address and counting up, the last owner can go.
//
// HEDDLE-FAILURE: use-after-free
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: race
// HEDDLE-DECISIVE: A B the old settings are freed between the two halves of the copy
// HEDDLE-SMALL: yes
// HEDDLE-ALSO: assert, segv, double-free
#include <cassert>
#include <memory>
#include <mutex>
#include <thread>

struct Settings {
  explicit Settings(long value) : first(value), second(value) {}
  long first;
  long second;
};

std::shared_ptr<Settings> current = std::make_shared<Settings>(1);
#ifdef FIXED
std::mutex mutex;
#endif

static void replace() {
  auto fresh = std::make_shared<Settings>(2);
#ifdef FIXED
  std::lock_guard lock(mutex);
#endif
  current = std::move(fresh);  // [A]
}

static std::shared_ptr<Settings> settings() {
#ifdef FIXED
  std::lock_guard lock(mutex);
#endif
  return current;  // [B]
}

static void use() {
  const auto mine = settings();
  assert(mine->first == mine->second);
}

int main() {
  std::thread user(use);
  std::thread writer(replace);
  user.join();
  writer.join();
}
