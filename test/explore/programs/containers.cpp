// Words counted by two threads into an unordered_map, results into a vector; strings, streams, exceptions. -DBUG: the counter is read before the lock.
// safe: sc tso pso
#include <cassert>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
static std::unordered_map<std::string, int> counts;
static std::mutex mutex;
static std::vector<std::string> log_lines;
static void count(const char* text) {
  std::istringstream in(text);
  std::string word;
  while (in >> word) {
#ifdef BUG
    int old;
    { std::lock_guard g(mutex); old = counts[word]; }
    std::lock_guard g(mutex);
    counts[word] = old + 1;
#else
    std::lock_guard g(mutex);
    counts[word]++;
#endif
  }
  try { if (word == "b") throw std::invalid_argument(word); }
  catch (const std::exception& e) { std::lock_guard g(mutex); log_lines.push_back(std::string("last word ") + e.what()); }
}
int main() {
  std::thread x(count, "a b"), y(count, "b a");
  x.join(); y.join();
  assert(counts["a"] == 2 && counts["b"] == 2);
  assert(log_lines.size() == 1 && log_lines[0] == "last word b");
}
