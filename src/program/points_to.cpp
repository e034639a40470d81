#include "program/points_to.h"

#include "base/result.h"

namespace heddle {

PointsToGraph::PointsToGraph() {
  cells_.push_back({.parent = 0});  // kNothing
  waiting_.push_back({0, 0});       // index 0 ends a list
}

ClassId PointsToGraph::make(ObjectKinds kinds) {
  const auto id = static_cast<uint32_t>(cells_.size());
  HEDDLE_CHECK(id != UINT32_MAX);
  cells_.push_back({.parent = id, .kinds = kinds});
  return ClassId(id);
}

uint32_t PointsToGraph::root(uint32_t id) const {
  while (cells_[id].parent != id) {
    cells_[id].parent = cells_[cells_[id].parent].parent;
    id = cells_[id].parent;
  }
  return id;
}

ClassId PointsToGraph::find(ClassId id) const {
  return ClassId(root(id.value));
}

void PointsToGraph::add_object(ClassId at, ObjectKinds kinds) {
  const uint32_t id = root(at.value);
  if (id == kNothing.value) return;
  cells_[id].kinds |= kinds;
  release_waiting(id);
  settle();
}

ClassId PointsToGraph::contents(ClassId of, Held held) {
  const uint32_t id = root(of.value);
  if (id == kNothing.value) return kNothing;
  const auto slot = static_cast<size_t>(held);
  if (cells_[id].contents[slot] == kNone) {
    const ClassId made = make();  // may move cells_
    cells_[id].contents[slot] = made.value;
    if (held == Held::as_number) flow(made, contents(of, Held::as_pointer));
  }
  return ClassId(root(cells_[id].contents[slot]));
}

void PointsToGraph::join(ClassId a, ClassId b) {
  todo_.emplace_back(a.value, b.value);
  settle();
}

void PointsToGraph::flow(ClassId from, ClassId to) {
  const uint32_t source = root(from.value);
  const uint32_t target = root(to.value);
  if (source == target || source == kNothing.value || target == kNothing.value) return;
  if (cells_[source].kinds != 0) return join(from, to);
  const auto entry = static_cast<uint32_t>(waiting_.size());
  waiting_.push_back({target, kNone});
  Cell& cell = cells_[source];
  if (cell.last_waiting == kNone) {
    cell.first_waiting = entry;
  } else {
    waiting_[cell.last_waiting].next = entry;
  }
  cell.last_waiting = entry;
}

ClassId PointsToGraph::known_contents(ClassId of) const {
  return ClassId(root(cells_[root(of.value)].contents[static_cast<size_t>(Held::as_pointer)]));
}

// Merges two representatives and gives the one that is left.
uint32_t PointsToGraph::link(uint32_t a, uint32_t b) {
  if (cells_[a].rank < cells_[b].rank) std::swap(a, b);
  Cell& kept = cells_[a];
  const Cell& gone = cells_[b];
  if (kept.rank == gone.rank) ++kept.rank;
  cells_[b].parent = a;
  kept.kinds |= gone.kinds;
  kept.escaped |= gone.escaped;
  for (size_t slot = 0; slot < kept.contents.size(); ++slot) {
    if (kept.contents[slot] == kNone) {
      kept.contents[slot] = gone.contents[slot];
    } else if (gone.contents[slot] != kNone) {
      todo_.emplace_back(kept.contents[slot], gone.contents[slot]);
    }
  }
  if (kept.first_waiting == kNone) {
    kept.first_waiting = gone.first_waiting;
    kept.last_waiting = gone.last_waiting;
  } else if (gone.first_waiting != kNone) {
    waiting_[kept.last_waiting].next = gone.first_waiting;
    kept.last_waiting = gone.last_waiting;
  }
  ++merges_;
  return a;
}

// A class that has an object passes it on to everybody who waited for one.
void PointsToGraph::release_waiting(uint32_t id) {
  Cell& cell = cells_[id];
  if (cell.kinds == 0) return;
  for (uint32_t entry = cell.first_waiting; entry != kNone; entry = waiting_[entry].next) {
    todo_.emplace_back(id, waiting_[entry].to);
  }
  cell.first_waiting = cell.last_waiting = kNone;
}

void PointsToGraph::settle() {
  while (!todo_.empty()) {
    const uint32_t a = root(todo_.back().first);
    const uint32_t b = root(todo_.back().second);
    todo_.pop_back();
    if (a == b || a == kNothing.value || b == kNothing.value) continue;
    release_waiting(link(a, b));
  }
}

void PointsToGraph::mark_escaped(ClassId id) {
  const uint32_t at = root(id.value);
  if (at != kNothing.value) cells_[at].escaped = true;
}

void PointsToGraph::spread_escape() {
  std::vector<std::vector<uint32_t>> also;  // by index into `heads`: few classes have any
  std::vector<uint32_t> head_of(together_.empty() ? 0 : cells_.size(), kNone);
  also.emplace_back();
  for (const auto& [from, to] : together_) {
    uint32_t& head = head_of[root(from.value)];
    if (head == kNone) {
      head = static_cast<uint32_t>(also.size());
      also.emplace_back();
    }
    also[head].push_back(root(to.value));
  }

  std::vector<uint32_t> reached;
  const auto reach = [&](uint32_t id) {
    if (id == kNothing.value || cells_[id].escaped) return;
    cells_[id].escaped = true;
    reached.push_back(id);
  };
  for (uint32_t id = 1; id < cells_.size(); ++id) {
    Cell& cell = cells_[id];
    if (cell.parent != id) continue;
    if (cell.escaped) {
      reached.push_back(id);
    } else if ((cell.kinds & (object_kind::kGlobal | object_kind::kForeign)) != 0) {
      reach(id);
    }
  }
  while (!reached.empty()) {
    const uint32_t id = reached.back();
    reached.pop_back();
    for (const uint32_t behind : cells_[id].contents) {
      if (behind != kNone) reach(root(behind));
    }
    if (head_of.empty()) continue;
    for (const uint32_t other : also[head_of[id]]) reach(other);
  }
}

}  // namespace heddle
