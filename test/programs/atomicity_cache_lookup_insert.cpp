// A cache of rendered pages with a limit on its size. Readers look up under a shared lock; who misses renders
// the page and enters it under the exclusive lock.
//
// The bug: time of check, time of use. Two threads can miss the same page; both render it and both add its
// size, though only one copy is kept. The books no longer balance, and audit() aborts.
//
// HEDDLE-FAILURE: abort
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B both threads miss the page before one of them has entered it
// HEDDLE-SMALL: no
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>

class PageCache {
 public:
  explicit PageCache(std::size_t limit) : limit_(limit) {}

  std::optional<std::string> find(int page) {
    std::shared_lock lock(mutex_);
    const auto found = pages_.find(page);  // [A]
    if (found == pages_.end()) return std::nullopt;
    return found->second;
  }

  void enter(int page, std::string text) {
    std::unique_lock lock(mutex_);
    const std::size_t size = text.size();
    const bool is_new = pages_.emplace(page, std::move(text)).second;  // [B]
#ifdef FIXED
    if (!is_new) return;
#else
    (void)is_new;
#endif
    order_.push_back(page);
    size_ += size;
    while (size_ > limit_) evict_oldest();
  }

  // Aborts when the size on the books is not the size of what is there.
  void audit() {
    std::unique_lock lock(mutex_);
    std::size_t size = 0;
    for (const auto& [page, text] : pages_) size += text.size();
    if (size != size_ || order_.size() != pages_.size()) {
      std::fprintf(stderr, "cache: %zu bytes on the books, %zu bytes there\n", size_, size);
      std::abort();
    }
  }

 private:
  void evict_oldest() {
    const auto oldest = pages_.find(order_.front());
    order_.pop_front();
    if (oldest == pages_.end()) return;
    size_ -= oldest->second.size();
    pages_.erase(oldest);
  }

  std::shared_mutex mutex_;
  const std::size_t limit_;
  std::size_t size_ = 0;
  std::map<int, std::string> pages_;
  std::list<int> order_;  // oldest first
};

static std::string render(int page) {
  return "page " + std::to_string(page);
}

static std::string get(PageCache& cache, int page) {
  if (auto cached = cache.find(page)) return *cached;
  std::string text = render(page);
  cache.enter(page, text);
  return text;
}

int main() {
  PageCache cache(30);
  auto browse = [&cache](int first, int second) {
    if (get(cache, first) != render(first) || get(cache, second) != render(second)) std::abort();
  };
  std::thread one(browse, 1, 2);
  std::thread two(browse, 2, 3);
  one.join();
  two.join();
  cache.audit();
}
