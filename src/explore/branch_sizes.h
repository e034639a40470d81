// What a search that goes through a tree depth first has still before it, as far as can be foreseen.
//
// A branch that was not begun is expected to be as large as those that were gone through at the same depth
// lately, the first branches of their nodes left out: they find what the later ones then know already
// (Knuth's estimate, the product of the branches on the way, was 10 to 50 times too large in the middle of
// most searches here for that reason). Where a depth has never been come back to, the next deeper one that
// has been stands for it. So the estimate is too small at first, what was done and little more, and mostly
// within a factor of two of the truth from a third of the way on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace heddle {

class BranchSizes {
 public:
  // A branch that begins at this depth was gone through, not the first of its node.
  void note(size_t depth, uint64_t size);
  // Of a branch that begins at this depth.
  double expected(size_t depth) const;
  bool knows_nothing() const { return means_.empty(); }
  void clear() { means_.clear(); }

 private:
  struct Mean {
    double sum = 0, weight = 0;
  };
  std::vector<Mean> means_;  // by depth; the last one is of something
};

// The same for units of work (search_unit.h) in whatever order they are carried out.
class UnitSizes {
 public:
  // Was carried out, and has led to these; the first one (0) is that which the search begins with.
  void carried_out(uint64_t unit, uint64_t size, const std::vector<uint64_t>& found);
  double remaining() const;  // of all that were found and not carried out, and of what they will lead to
  bool knows_nothing() const { return sizes_.knows_nothing(); }
  void begin_anew();  // what was learned of sizes stays

 private:
  struct Unit {
    uint64_t parent = 0;
    size_t depth = 0;
    size_t open = 0;    // units that it has led to and that have something to be done
    size_t closed = 0;  // those that have not
    uint64_t size = 0;  // of itself and of all that it has led to
    bool carried_out = false;
  };
  std::unordered_map<uint64_t, Unit> open_;
  std::vector<size_t> waiting_;  // to be carried out, by depth
  BranchSizes sizes_;
};

}  // namespace heddle
