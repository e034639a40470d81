// Which threads of a program the ones with these ids are, where others have ended. Threads get ascending ids in
// the order of creation, one by one, unless the kernel is asked for others meanwhile: then all later ones are
// further away.
#pragma once

#include <cstdint>
#include <vector>

namespace heddle {

struct ThreadLeft {
  uint32_t number = 0;           // its id less that of the first thread
  std::vector<uint32_t> may_be;  // numbers in the order of creation, ascending; the first thread is 0
};

// Ascending by number. For each the thread that it is, those that were created last where several answers would
// do; empty: there is no answer.
std::vector<uint32_t> threads_by_id(const std::vector<ThreadLeft>& left);

}  // namespace heddle
