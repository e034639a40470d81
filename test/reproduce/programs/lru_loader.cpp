// A cache of pages with a least recently used list: std::list for the order, std::unordered_map for where a page
// is in it. Pages that are missing are loaded outside of the lock, since loading takes long.
//
// The bug: when a page was loaded nobody looks whether another thread has loaded it meanwhile. Then the list has it
// twice, the map knows one of them; when the other one is evicted, the map loses the page that is still in the
// list, and the two no longer agree.
//
// HEDDLE-FAILURE: abort
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

struct Page {
  int number = 0;
  std::string text;
};

class PageCache {
 public:
  using Loader = std::function<std::string(int)>;

  PageCache(size_t capacity, Loader loader) : capacity_(capacity), loader_(std::move(loader)) {}

  std::string get(int number) {
    {
      std::lock_guard lock(mutex_);
      const auto found = where_.find(number);
      if (found != where_.end()) {
        pages_.splice(pages_.begin(), pages_, found->second);
        ++hits_;
        return found->second->text;
      }
      ++misses_;
    }
    std::string text = loader_(number);
    std::lock_guard lock(mutex_);
    pages_.push_front({number, text});  // the bug: it may be there by now
    where_[number] = pages_.begin();
    while (pages_.size() > capacity_) evict();
    return text;
  }

  // What must hold whenever nobody is at work.
  void check() {
    std::lock_guard lock(mutex_);
    if (pages_.size() != where_.size()) {
      std::fprintf(stderr, "%zu pages in the list, %zu in the map\n", pages_.size(), where_.size());
      std::abort();
    }
  }

  unsigned misses() {
    std::lock_guard lock(mutex_);
    return misses_;
  }

 private:
  void evict() {
    where_.erase(pages_.back().number);
    pages_.pop_back();
  }

  size_t capacity_;
  Loader loader_;
  std::mutex mutex_;
  std::list<Page> pages_;  // the page that was used last comes first
  std::unordered_map<int, std::list<Page>::iterator> where_;
  unsigned hits_ = 0, misses_ = 0;
};

static std::string load(int number) {
  std::string text = "page ";
  text += std::to_string(number);
  return text;
}

static void read_pages(PageCache& cache, const std::vector<int>& numbers, size_t& letters) {
  for (const int number : numbers) letters += cache.get(number).size();
}

int main() {
  PageCache cache(3, load);
  size_t first_letters = 0, second_letters = 0;
  const std::vector<int> first = {1, 2, 3}, second = {4, 2, 5};
  std::thread reader([&] { read_pages(cache, first, first_letters); });
  std::thread other([&] { read_pages(cache, second, second_letters); });
  reader.join();
  other.join();
  cache.check();
  std::printf("%zu letters, %u misses\n", first_letters + second_letters, cache.misses());
  return 0;
}
