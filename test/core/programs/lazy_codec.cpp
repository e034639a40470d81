// A table of codes is made by the first who needs it. It is published before it is full, so a second reader may
// miss codes that come last; the exception is not caught, since all texts have been checked.
#include <atomic>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
class Codec {
 public:
  static Codec& instance() {
    Codec* known = instance_.load(std::memory_order_acquire);
    if (known) return *known;
    std::lock_guard held(lock_);
    if (!instance_) {
#ifdef FIXED
      Codec* made = new Codec;
      made->fill();
      instance_ = made;
#else
      instance_ = new Codec;
      instance_.load()->fill();
#endif
    }
    return *instance_;
  }
  std::string encode(const std::string& text) const {
    std::string out;
    for (char c : text) out += std::to_string(codes_.at(static_cast<size_t>(c - 'a')));
    return out;
  }

 private:
  void fill() {
    int weight = 1;
    for (char c = 'a'; c <= 'h'; ++c) {
      codes_.push_back(weight);
      weight = weight * 2 % 97;
    }
  }
  std::vector<int> codes_;
  static std::atomic<Codec*> instance_;
  static std::mutex lock_;
};
std::atomic<Codec*> Codec::instance_{nullptr};
std::mutex Codec::lock_;
struct Work {
  std::mutex lock;
  std::vector<std::string> texts{"bad", "cab", "head", "fade", "deaf", "beach"};
  std::vector<std::string> results;
  bool next(std::string& text) {
    std::lock_guard held(lock);
    if (texts.empty()) return false;
    text = texts.back();
    texts.pop_back();
    return true;
  }
};
int main() {
  Work work;
  std::vector<std::thread> threads;
  for (int i = 0; i < 5; ++i)
    threads.emplace_back([&work] {
      std::string text;
      while (work.next(text)) {
        std::string code = Codec::instance().encode(text);
        std::lock_guard held(work.lock);
        work.results.push_back(code);
      }
    });
  for (auto& thread : threads) thread.join();
  return work.results.size() != 6;
}
