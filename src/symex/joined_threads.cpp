#include "symex/joined_threads.h"

namespace heddle {

std::optional<uint32_t> JoinedThreads::join(uint64_t handle, std::optional<uint64_t> now) {
  std::optional<uint32_t> own, other;
  for (uint32_t i = 0; i < threads_.size(); ++i) {
    const ThreadLife& thread = threads_[i];
    if (thread.handle != handle || thread.end == 0 || joined_.contains(i)) continue;
    if (thread.maker == joiner_) {
      if (!own || thread.begin < threads_[*own].begin) own = i;
    } else if (!now || thread.end <= *now) {
      if (!other || threads_[*other].begin < thread.begin) other = i;
    }
  }
  const std::optional<uint32_t> found = own ? own : other;
  if (found) joined_.insert(*found);
  return found;
}

}  // namespace heddle
