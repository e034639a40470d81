// The graph below the sharing analysis: classes of objects under unification (Steensgaard, POPL 1996).
//
// A ClassId names a class of objects. Every class has at most one class that the pointers stored in its objects
// lead to, and one for pointers that were stored as numbers (and may be read as pointers: that one flows into
// the first). A value of the program that may carry a pointer is represented by the class of the objects it may
// point to, so there is one kind of node for both.
//
// Two ways to say that pointers move from one class to another:
//   join: the two are one from now on;
//   flow: the same, but only once the source has an object at all (Steensgaard's conditional join). This is
//   what keeps
//         numbers apart that merely look as if they could be pointers: a counter never has an object.
// Both only ever merge, so the cost is nearly linear in the number of calls. Knows nothing of LLVM.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
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

  PointsToGraph();

  ClassId make(ObjectKinds kinds = 0);
  void add_object(ClassId at, ObjectKinds kinds);
  ClassId contents(ClassId of, Held held = Held::as_pointer);  // made when there is none yet
  void join(ClassId a, ClassId b);
  void flow(ClassId from, ClassId to);

  ClassId find(ClassId id) const;
  ClassId known_contents(ClassId of) const;  // stored as pointers; kNothing when there are none
  ObjectKinds kinds(ClassId id) const { return cells_[find(id).index()].kinds; }
  // Grows with every merge: tells whether a round of constraints changed anything.
  size_t merges() const { return merges_; }

  // Other threads can reach the objects of this class.
  void mark_escaped(ClassId id);
  // When `from` turns out to be escaped, `to` is as well.
  void escape_together(ClassId from, ClassId to) { together_.emplace_back(from, to); }
  // Spreads escape along contents. Call once, after the last join or flow.
  void spread_escape();
  bool escaped(ClassId id) const { return cells_[find(id).index()].escaped; }

  size_t size() const { return cells_.size(); }

 private:
  static constexpr uint32_t kNone = 0;

  // Everything but `parent` is meaningful in the representative of a class only.
  struct Cell {
    uint32_t parent;
    std::array<uint32_t, 2> contents = {kNone, kNone};  // by Held
    uint32_t first_waiting = kNone;  // list in waiting_: flows that start here, while there is no object
    uint32_t last_waiting = kNone;
    ObjectKinds kinds = 0;
    uint8_t rank = 0;
    bool escaped = false;
  };
  struct Waiting {
    uint32_t to;
    uint32_t next;
  };

  uint32_t root(uint32_t id) const;
  uint32_t link(uint32_t a, uint32_t b);
  void release_waiting(uint32_t id);
  void settle();

  mutable std::vector<Cell> cells_;  // mutable: find() shortens paths
  std::vector<Waiting> waiting_;
  std::vector<std::pair<uint32_t, uint32_t>> todo_;  // joins still to do
  std::vector<std::pair<ClassId, ClassId>> together_;
  size_t merges_ = 0;
};

}  // namespace heddle
