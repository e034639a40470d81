// A thread pool that renders reports, with a cache of rendered texts by name.
//
// The bug: render() looks the name up and enters the text under two separate locks, so two workers can both
// miss a name and render it twice. The number of renderings is then not the number of names.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
#include <cassert>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

class Pool {
 public:
  explicit Pool(unsigned workers) {
    for (unsigned i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
  }

  ~Pool() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  template <class F>
  auto submit(F job) -> std::future<decltype(job())> {
    auto task = std::make_shared<std::packaged_task<decltype(job())()>>(std::move(job));
    auto result = task->get_future();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      jobs_.emplace([task] { (*task)(); });
    }
    changed_.notify_one();
    return result;
  }

 private:
  void work() {
    for (;;) {
      std::function<void()> job;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [this] { return closed_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        job = std::move(jobs_.front());
        jobs_.pop();
      }
      job();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::function<void()>> jobs_;
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

class ReportCache {
 public:
  std::shared_ptr<const std::string> render(const std::string& name, int value) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      auto found = texts_.find(name);
      if (found != texts_.end()) {
        ++hits_[name];
        return found->second;
      }
    }
    std::ostringstream out;
    out << "report " << name << ": " << value << " items";
    auto text = std::make_shared<const std::string>(out.str());
    std::lock_guard<std::mutex> lock(mutex_);
    ++rendered_;
    texts_[name] = text;
    return text;
  }

  std::size_t rendered() const { return rendered_; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const std::string>> texts_;
  std::map<std::string, int> hits_;
  std::size_t rendered_ = 0;
};

int main() {
  ReportCache cache;
  std::vector<std::future<std::size_t>> sizes;
  {
    Pool pool(3);
    for (int i = 0; i < 8; ++i) {
      std::string name = "customer-" + std::to_string(i % 4);
      sizes.push_back(pool.submit([&cache, name, i] { return cache.render(name, i % 4)->size(); }));
    }
  }
  std::size_t total = 0;
  for (auto& size : sizes) total += size.get();
  assert(total > 0);
  assert(cache.rendered() == cache.size());
  return 0;
}
