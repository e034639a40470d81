// Exceptions that several threads hold and rethrow, alone and through futures; whoever is the last destroys
// them.
#include <cstdio>
#include <exception>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

std::mutex mutex;
std::exception_ptr held;
unsigned destroyed = 0;  // raced for

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
  Failure(const Failure&) = default;
  ~Failure() override { destroyed = destroyed * 31 + static_cast<unsigned char>(what()[1]); }
};

unsigned long work(int id) {
  unsigned long sum = 0;
  for (int i = 0; i < 100; ++i) {
    try {
      throw Failure("x" + std::to_string(i + id));
    } catch (...) {
      const std::lock_guard<std::mutex> guard(mutex);
      held = std::current_exception();
    }
    try {
      std::exception_ptr mine;
      {
        const std::lock_guard<std::mutex> guard(mutex);
        mine = held;
      }
      std::rethrow_exception(mine);
    } catch (const std::exception& error) {
      sum = sum * 31 + static_cast<unsigned char>(error.what()[1]) + destroyed;
    }
  }
  return sum;
}

}  // namespace

int main() {
  unsigned long sum = 0;
  for (int round = 0; round < 20; ++round) {
    std::future<int> thrown =
        std::async(std::launch::async, [round]() -> int { throw Failure("f" + std::to_string(round)); });
    try {
      thrown.get();
    } catch (const Failure& error) {
      sum += static_cast<unsigned char>(error.what()[1]);
    }
  }
  std::vector<std::future<unsigned long>> results;
  for (int i = 0; i < 3; ++i) results.push_back(std::async(std::launch::async, work, i));
  for (auto& result : results) sum = sum * 31 + result.get();
  std::printf("%lx %x\n", sum, destroyed);
}
