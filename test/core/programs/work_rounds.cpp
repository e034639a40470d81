// A pool whose owner waits for the end of a round with `if`: a worker's signal of the round before may wake him
// early, and the results of the last jobs are taken from a vector that is not full. Workers tell in groups, 8
// threads.
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>
class Rounds {
 public:
  explicit Rounds(int workers) {
    for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
  }
  ~Rounds() {
    {
      std::lock_guard held(lock_);
      closing_ = true;
    }
    more_.notify_all();
    for (auto& worker : workers_) worker.join();
  }
  std::vector<long> run(int jobs, int round) {
    std::unique_lock held(lock_);
    results_.clear();
    left_ = jobs;
    next_ = jobs;
    round_ = round;
    more_.notify_all();
#ifdef FIXED
    while (left_ > 0) finished_.wait(held);
#else
    if (left_ > 0) finished_.wait(held);
#endif
    return results_;
  }

 private:
  void work() {
    std::unique_lock held(lock_);
    for (;;) {
      while (next_ == 0 && !closing_) more_.wait(held);
      if (next_ == 0) return;
      int job = next_--, round = round_;
      held.unlock();
      long value = compute(job, round);
      held.lock();
      results_.push_back(value);
      --left_;
      if (left_ == 0 || next_ == 0) finished_.notify_one();
    }
  }
  static long compute(int job, int round) {
    long value = round;
    for (int i = 0; i < job; ++i) value = value * 3 + i;
    return value;
  }
  std::mutex lock_;
  std::condition_variable more_, finished_;
  std::vector<std::thread> workers_;
  std::vector<long> results_;
  int left_ = 0, next_ = 0, round_ = 0;
  bool closing_ = false;
};
int main() {
  Rounds rounds(7);
  long sum = 0;
  for (int round = 0; round < 3; ++round) {
    auto results = rounds.run(7, round);
    for (size_t i = 0; i < 7; ++i) sum += results.at(i);
  }
  return sum < 0;
}
