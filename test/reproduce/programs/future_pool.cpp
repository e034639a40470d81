// A pool of threads that carries out tasks and hands their results out as futures; it counts words of texts.
//
// The bug: a worker that is told to stop ends at once, although tasks are left in the queue. If the pool is closed
// while a task still waits there, its promise is broken, and who asks for its result gets an exception.
//
// HEDDLE-FAILURE: exception
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: order
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <utility>
#include <vector>

class Pool {
 public:
  explicit Pool(unsigned workers) {
    for (unsigned i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
  }

  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  template <class Task>
  auto submit(Task task) -> std::future<decltype(task())> {
    auto packaged = std::make_shared<std::packaged_task<decltype(task())()>>(std::move(task));
    std::future<decltype(task())> result = packaged->get_future();
    {
      std::lock_guard lock(mutex_);
      tasks_.push([packaged] { (*packaged)(); });
    }
    changed_.notify_one();
    return result;
  }

 private:
  void work() {
    while (true) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return closing_ || !tasks_.empty(); });
        if (closing_) return;  // the bug: should be "closing_ && tasks_.empty()"
        task = std::move(tasks_.front());
        tasks_.pop();
      }
      task();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::function<void()>> tasks_;
  bool closing_ = false;
  std::vector<std::thread> workers_;
};

struct Text {
  std::string name, words;
};

static unsigned count_words(const std::string& text) {
  unsigned words = 0;
  bool inside = false;
  for (const char letter : text) {
    const bool is_space = letter == ' ' || letter == '\n';
    words += !is_space && !inside;
    inside = !is_space;
  }
  return words;
}

class Counter {
 public:
  void add(Pool& pool, const Text& text) {
    counts_.push_back({text.name, pool.submit([words = text.words] { return count_words(words); })});
  }

  unsigned total() {
    unsigned all = 0;
    for (auto& [name, count] : counts_) {
      const unsigned words = count.get();
      std::printf("%s: %u\n", name.c_str(), words);
      all += words;
    }
    return all;
  }

 private:
  std::vector<std::pair<std::string, std::future<unsigned>>> counts_;
};

int main() {
  const std::vector<Text> texts = {{"first", "the quick brown fox jumps over the lazy dog"},
                                   {"second", "pack my box with five dozen liquor jugs"},
                                   {"third", "how vexingly quick daft zebras jump"}};
  Counter counter;
  {
    Pool pool(2);
    for (const Text& text : texts) counter.add(pool, text);
    std::this_thread::yield();  // the others are surely done by now
  }
  std::printf("%u words\n", counter.total());
  return 0;
}
