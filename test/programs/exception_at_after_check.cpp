// A play list: one thread shows the last title, another one clears the list.
//
// The bug: empty() and at() lock separately. The list can be cleared in between, and at() throws
// std::out_of_range, which nobody catches.
//
// HEDDLE-FAILURE: exception
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B the size is asked before the list is cleared
// HEDDLE-DECISIVE: B C the list is cleared before the title is taken
// HEDDLE-SMALL: yes
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

class PlayList {
 public:
  std::size_t size() {
    std::lock_guard lock(mutex_);
    return titles_.size();  // [A]
  }
  int at(std::size_t index) {
    std::lock_guard lock(mutex_);
    return titles_.at(index);  // [C]
  }
  void clear() {
    std::lock_guard lock(mutex_);
    titles_.clear();  // [B]
  }
  int last_or(int otherwise) {
#ifdef FIXED
    std::lock_guard lock(mutex_);
    return titles_.empty() ? otherwise : titles_.back();
#else
    const std::size_t count = size();
    return count == 0 ? otherwise : at(count - 1);
#endif
  }

 private:
  std::mutex mutex_;
  std::vector<int> titles_{11, 12, 13};
};

int main() {
  PlayList list;
  int shown = 0;
  std::thread show([&] { shown = list.last_or(0); });
  std::thread clear([&] { list.clear(); });
  show.join();
  clear.join();
  return shown == 13 || shown == 0 ? 0 : 1;
}
