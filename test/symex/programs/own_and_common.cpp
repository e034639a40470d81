// Objects of threads with destructors, whose results go to what all share: loops over arrays that compilers make vectors of, floating point numbers, and atomics.
#include <array>
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 2, kNumbers = 32;

std::mutex mutex;
std::array<float, kNumbers> common{};
std::vector<int> ends;
std::atomic<long> total{0};
std::atomic<double> heaviest{0};

class Own {
 public:
  ~Own() {  // when the thread ends
    const std::lock_guard lock(mutex);
    for (int i = 0; i < kNumbers; ++i) common[i] += numbers_[i] * 0.5F;
    ends.push_back(number_);
  }
  void begin(int number) {
    number_ = number;
    for (int i = 0; i < kNumbers; ++i) numbers_[i] = static_cast<float>(number * i);
  }
  long sum() const {
    long out = 0;
    for (const float each : numbers_) out += static_cast<long>(each);
    return out;
  }

 private:
  int number_ = 0;
  std::array<float, kNumbers> numbers_{};
};

thread_local Own own;

void work(int number) {
  own.begin(number);
  total.fetch_add(own.sum(), std::memory_order_relaxed);
  const double mine = number * 1.5;
  for (double seen = heaviest.load(); seen < mine && !heaviest.compare_exchange_weak(seen, mine);) {
  }
  std::array<int, kNumbers> copy{};
  {
    const std::lock_guard lock(mutex);
    for (int i = 0; i < kNumbers; ++i) {
      common[i] = common[i] * 2 + 1;
      copy[i] = static_cast<int>(common[i]);
    }
  }
  int least = copy[0];
  for (const int each : copy) least = each < least ? each : least;
  assert(least >= 1);
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int i = 1; i <= kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  assert(ends.size() == kThreads && ends[0] + ends[1] == 3 && total == 3 * kNumbers * (kNumbers - 1) / 2 && heaviest == 3.0);
  assert(common[kNumbers - 1] > 0);
}
