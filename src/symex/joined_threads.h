// Which thread a pthread_t means that is joined. A handle is the thread pointer (glibc), and is given to
// another thread once the first was joined: so it alone does not tell.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace heddle {

// A recorded thread; times are stamps of the clock.
struct ThreadLife {
  std::string maker;  // name of the thread that made it
  uint64_t handle = 0;
  uint64_t begin = 0, end = 0;  // end 0: it has not ended
};

// Of one thread that joins others, in the order in which it does.
class JoinedThreads {
 public:
  JoinedThreads(std::span<const ThreadLife> threads, std::string_view joiner)
      : threads_(threads), joiner_(joiner) {}

  // Who it joined by now, as an index. A thread that it made itself if there is one: the first that was not
  // joined yet. Else the last that had ended by `now` (if that is known).
  std::optional<uint32_t> join(uint64_t handle, std::optional<uint64_t> now);

 private:
  std::span<const ThreadLife> threads_;
  std::string_view joiner_;
  std::set<uint32_t> joined_;
};

}  // namespace heddle
