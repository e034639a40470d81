// Names of threads that are the same in every run: the path of creations that led to the thread.
//
// Operating system ids and even the order in which threads come to life differ from run to run, but each thread
// creates its own children in program order (CLAP section 3.2). So the main thread is `0`, its first child
// `0:0`, its third child `0:2`, and that one's second child `0:2:1`.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace heddle {

class ThreadName {
 public:
  ThreadName() = default;  // the main thread

  // Only the printed form is accepted (no leading zeros, no spaces): names are compared as text by other tools.
  static Result<ThreadName> parse(std::string_view text);

  ThreadName child(uint32_t index) const;
  ThreadName parent() const;         // requires: !is_main()
  uint32_t index_in_parent() const;  // requires: !is_main()
  bool is_main() const { return path_.empty(); }
  size_t depth() const { return path_.size(); }

  std::string text() const;
  size_t hash() const;

  // A creator comes before all it created, earlier children and theirs before later ones.
  friend auto operator<=>(const ThreadName&, const ThreadName&) = default;

 private:
  std::vector<uint32_t> path_;  // child indexes from the main thread downwards
};

}  // namespace heddle

template <>
struct std::hash<heddle::ThreadName> {
  size_t operator()(const heddle::ThreadName& name) const noexcept { return name.hash(); }
};
