// Words are counted in one map for all, each shard with a lock. Words that are not there yet are put in under
// the lock, those that are there are only looked up and counted, without it, while the map may be growing.
#include <atomic>
#include <cassert>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
class Index {
 public:
  void count(const std::string& word) {
    Shard& shard = shards_[word.size() % 2];
#ifdef FIXED
    std::lock_guard held(shard.lock);
#endif
    auto found = shard.words.find(word);
    if (found != shard.words.end()) {
      ++*found->second;
      return;
    }
#ifndef FIXED
    std::lock_guard held(shard.lock);
#endif
    auto& counter = shard.words[word];
    counter = std::make_unique<std::atomic<int>>(1);
  }
  int total() const {
    int sum = 0;
    for (auto& shard : shards_)
      for (auto& [word, counter] : shard.words) sum += *counter;
    return sum;
  }

 private:
  struct Shard {
    std::mutex lock;
    std::unordered_map<std::string, std::unique_ptr<std::atomic<int>>> words;
  };
  Shard shards_[2];
};
static const char* texts[] = {"the cat and the dog and the bird", "a bird and a cat in the tree by the sea",
                              "dogs or cats or birds and seas and trees"};
int main() {
  Index index;
  std::atomic<int> words{0};
  std::vector<std::thread> threads;
  for (const char* text : texts)
    threads.emplace_back([&index, &words, text] {
      std::string word;
      for (const char* c = text;; ++c) {
        if (*c && *c != ' ') {
          word += *c;
          continue;
        }
        index.count(word);
        ++words;
        word.clear();
        if (!*c) break;
      }
    });
  for (auto& thread : threads) thread.join();
  assert(index.total() == words);
}
