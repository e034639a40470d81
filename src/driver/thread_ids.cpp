#include "driver/thread_ids.h"

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

namespace heddle {
namespace {

class Assignment {
 public:
  explicit Assignment(const std::vector<ThreadLeft>& left) : left_(left), threads_(left.size()) {}

  std::vector<uint32_t> find() {
    return assign(left_.size(), UINT32_MAX, UINT32_MAX) ? std::move(threads_) : std::vector<uint32_t>();
  }

 private:
  // The first `count` ones, before thread `behind`, with at most so many foreign ids before them.
  bool assign(size_t count, uint32_t behind, uint32_t foreign) {
    if (count == 0) return true;
    const ThreadLeft& last = left_[count - 1];
    for (const uint32_t thread : last.may_be | std::views::reverse) {
      if (thread >= behind || thread > last.number || last.number - thread > foreign) continue;
      if (!tried_.emplace(count, thread).second) continue;  // what is before it does not depend on more
      threads_[count - 1] = thread;
      if (assign(count - 1, thread, last.number - thread)) return true;
    }
    return false;
  }

  const std::vector<ThreadLeft>& left_;
  std::vector<uint32_t> threads_;
  std::set<std::pair<size_t, uint32_t>> tried_;
};

}  // namespace

std::vector<uint32_t> threads_by_id(const std::vector<ThreadLeft>& left) {
  return Assignment(left).find();
}

}  // namespace heddle
