// The execution index as the paper maintains it online (figure 4 of Weeratunge, Zhang and Jagannathan): a stack
// of regions, pushed where a branch is decided, popped where its immediate post-dominator is entered; per
// function.
//
// Written apart from coredump/function_regions.h, which knows nothing but the block where a thread stands: this
// one sees every block. As there, a loop is one entry with the number of times that its header was entered; the
// branches of rounds before the present one, and of loops that were left all but the last branch, are
// forgotten.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "coredump/execution_index.h"

namespace heddle {

class OnlineFrame {
 public:
  explicit OnlineFrame(const FunctionRegions& regions) : regions_(&regions) {}

  // Blocks of the function, each one a successor of the one before.
  void enter(uint32_t block);
  std::optional<uint32_t> block() const { return block_; }

  struct Comparison {
    std::string difference;  // empty: none
    uint64_t loops = 0, unknown = 0, merged = 0;
  };
  // With what was recovered for a block where the thread seems to stand.
  Comparison compare(uint32_t block, const std::vector<std::optional<uint64_t>>& counts) const;

 private:
  struct Entry {
    bool loop = false;
    uint32_t block = 0, successor = 0;  // of loops: the header
    uint64_t count = 0;
  };
  std::string text() const;

  const FunctionRegions* regions_;
  std::optional<uint32_t> block_;
  std::vector<Entry> stack_;
  std::map<uint32_t, size_t> depth_;  // of the stack when a block was entered last
};

}  // namespace heddle
