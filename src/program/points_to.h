// The graph below the sharing analysis: classes of objects under unification (Steensgaard, POPL 1996), with
// members (Steensgaard, CC 1996, has them by type; here they are told by their distance, as types are gone).
//
// A ClassId names a place in a class of objects: so many bytes behind where they begin. Every place has at most
// one class that the pointers stored there lead to, and one for pointers that were stored as numbers (and may
// be read as pointers: that one flows into the first). A value of the program that may carry a pointer is
// represented by the place that it may point to, so there is one kind of node for both.
//
// When two places become one, so do all places of their classes, moved by their distance. Of a class whose
// places meet themselves at a distance (an array that a loop walks through, a variable index) all is one place
// from the first of them on: it is folded there. So is a class with too many members, and where members
// overlap.
//
// Two ways to say that pointers move from one class to another:
//   join: the two are one from now on;
//   flow: the same, but only once the source has an object at all (Steensgaard's conditional join). This is
//   what keeps
//         numbers apart that merely look as if they could be pointers: a counter never has an object.
// Both only ever merge, so the cost is nearly linear in the number of calls. Copies of memory are done at the
// end: what they are about may grow until then. Knows nothing of LLVM.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace heddle {

using ClassId = Id<struct ClassTag>;

// What a class holds; a set of bits.
using ObjectKinds = uint16_t;
namespace object_kind {
constexpr ObjectKinds kStack = 1;
constexpr ObjectKinds kHeap = 2;
constexpr ObjectKinds kThreadLocal = 4;
constexpr ObjectKinds kGlobal = 8;            // mutable: an escape root
constexpr ObjectKinds kConstant = 16;         // constant global
constexpr ObjectKinds kFunction = 32;         // of the program
constexpr ObjectKinds kForeignFunction = 64;  // outside it, nothing known
constexpr ObjectKinds kForeign = 128;         // memory that code outside the program may reach: an escape root
}  // namespace object_kind

// How a pointer is held in memory.
enum class Held { as_pointer, as_number };

class PointsToGraph {
 public:
  // The class of no object at all: null, undefined, plain numbers. Joining with it does nothing.
  static constexpr ClassId kNothing{0};
  static constexpr uint64_t kToTheEnd = std::numeric_limits<uint64_t>::max();
  static constexpr uint64_t kAllAround = kToTheEnd - 1;  // what lies before the place as well

  PointsToGraph();

  ClassId make(ObjectKinds kinds = 0);
  void add_object(ClassId at, ObjectKinds kinds);
  ClassId contents(ClassId of, Held held = Held::as_pointer);  // made when there is none yet
  void join(ClassId a, ClassId b);
  void flow(ClassId from, ClassId to);

  // The place so many bytes behind, or before.
  ClassId displaced(ClassId from, int64_t bytes);
  // All from there on is one place.
  void fold(ClassId from);
  // All of its class is one place, and so is all that joins it.
  void fold_whole(ClassId of);
  // No place of its own any more: it was reached by steps of any size.
  bool is_folded(ClassId id) const;

  // What lies in so many bytes is copied (memcpy).
  void copy(ClassId to, ClassId from, uint64_t size = kToTheEnd);
  // Performs the copies as far as what they are about is known. To be called until changes() stays as it is.
  void perform_copies();

  bool same_place(ClassId a, ClassId b) const;
  // The class, whichever place of it.
  ClassId find(ClassId id) const { return ClassId(place(id.value).root); }
  ClassId known_contents(ClassId of) const;  // stored as pointers at that place; kNothing when there are none
  std::vector<ClassId> all_contents(ClassId of) const;  // classes: stored as pointers anywhere in this one
  ObjectKinds kinds(ClassId id) const { return cells_[find(id).index()].kinds; }
  // Grows with every change: tells whether a round of constraints changed anything.
  size_t changes() const { return changes_; }

  // Other threads can reach the objects of this class.
  void mark_escaped(ClassId id);
  // Who accesses `to` may access what is in `from`, though they are classes of their own: `to` is escaped if
  // `from` is.
  void lend(ClassId from, ClassId to) { together_.emplace(from, to); }
  // Spreads escape along contents. Call once, after the last join or flow; what follows is known behind that.
  void finish();
  // Different for memory that does not meet: the classes that were lent to the same ones are one region.
  ClassId region(ClassId of) const;
  bool region_escaped(ClassId id) const;
  bool escaped(ClassId id) const { return cells_[find(id).index()].escaped; }

  size_t size() const { return cells_.size(); }

 private:
  static constexpr uint32_t kNone = 0;
  static constexpr int64_t kWhole = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kNowhere = std::numeric_limits<int64_t>::max();

  using Contents = std::array<uint32_t, 2>;  // by Held
  struct Members {
    std::map<int64_t, Contents> at;  // none at or behind `folded` but one there
    int64_t folded = kNowhere;
  };
  // Everything but `parent` and `distance` is meaningful in the representative of a class only.
  struct Cell {
    uint32_t parent;
    uint32_t members = kNone;        // in members_
    int64_t distance = 0;            // from where the parent points to
    uint32_t first_waiting = kNone;  // list in waiting_: flows that start here, while there is no object
    uint32_t last_waiting = kNone;
    ObjectKinds kinds = 0;
    uint8_t rank = 0;
    bool escaped = false;
  };
  struct Place {
    uint32_t root;
    int64_t at;
  };
  struct Waiting {
    uint32_t from, to;
    uint32_t next;
  };
  struct Copy {
    ClassId to, from;
    uint64_t size;
    std::vector<std::pair<int64_t, bool>> done;  // how far from the beginning; whether it is folded there
  };

  Place place(uint32_t id) const;
  int64_t folded_from(uint32_t root) const;
  Members& members_of(uint32_t root);
  Contents& member(uint32_t root, int64_t at);
  void fold_from(uint32_t root, int64_t from);
  uint32_t link(uint32_t a, uint32_t b, int64_t distance);
  void merge_members(uint32_t kept, uint32_t gone, int64_t distance);
  void join_contents(Contents& into, const Contents& other);
  void release_waiting(uint32_t id);
  void settle();
  void perform(Copy& copy);
  void spread_escape();

  mutable std::vector<Cell> cells_;  // mutable: place() shortens paths
  std::vector<Members> members_;
  std::vector<Waiting> waiting_;
  std::vector<Copy> copies_;
  std::set<std::tuple<uint32_t, uint32_t, uint64_t>> copied_;  // each of them once
  std::vector<std::pair<uint32_t, uint32_t>> todo_;            // joins still to do
  std::set<std::pair<ClassId, ClassId>> together_;             // lent: from, to
  mutable std::vector<uint32_t> regions_;
  std::vector<bool> region_escaped_;
  size_t changes_ = 0;
};

}  // namespace heddle
