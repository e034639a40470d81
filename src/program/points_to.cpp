#include "program/points_to.h"

#include <algorithm>

#include "base/result.h"

namespace heddle {
namespace {

constexpr int64_t kPointer = 8;     // bytes of one
constexpr size_t kMaxMembers = 64;  // of a class: bounds the work for each merge
constexpr int64_t kFar = int64_t{1} << 32;

}  // namespace

PointsToGraph::PointsToGraph() {
  cells_.push_back({.parent = 0});  // kNothing
  members_.emplace_back();          // index 0: none
  waiting_.push_back({0, 0, 0});    // index 0 ends a list
}

ClassId PointsToGraph::make(ObjectKinds kinds) {
  const auto id = static_cast<uint32_t>(cells_.size());
  HEDDLE_CHECK(id != UINT32_MAX);
  cells_.push_back({.parent = id, .kinds = kinds});
  return ClassId(id);
}

ClassId PointsToGraph::displaced(ClassId from, int64_t bytes) {
  const Place base = place(from.value);
  if (base.root == kNothing.value || bytes == 0) return from;
  if (bytes < -kFar || bytes > kFar) {
    fold_whole(from);
    return from;
  }
  const ClassId made = make();
  cells_[made.index()].parent = base.root;
  cells_[made.index()].distance = base.at + bytes;
  return made;
}

PointsToGraph::Place PointsToGraph::place(uint32_t id) const {
  int64_t at = 0;
  while (cells_[id].parent != id) {
    Cell& cell = cells_[id];
    const Cell& parent = cells_[cell.parent];
    cell.distance += parent.distance;  // of a representative: 0
    cell.parent = parent.parent;
    at += cell.distance;
    id = cell.parent;
  }
  return {id, at};
}

int64_t PointsToGraph::folded_from(uint32_t root) const {
  return members_[cells_[root].members].folded;
}

bool PointsToGraph::same_place(ClassId a, ClassId b) const {
  const Place first = place(a.value), second = place(b.value);
  return first.root == second.root && first.at == second.at;
}

bool PointsToGraph::is_folded(ClassId id) const {
  const Place here = place(id.value);
  return here.at >= folded_from(here.root);
}

PointsToGraph::Members& PointsToGraph::members_of(uint32_t root) {
  if (cells_[root].members == kNone) {
    cells_[root].members = static_cast<uint32_t>(members_.size());
    members_.emplace_back();
  }
  return members_[cells_[root].members];
}

void PointsToGraph::join_contents(Contents& into, const Contents& other) {
  for (size_t slot = 0; slot < into.size(); ++slot) {
    if (into[slot] == kNone) {
      into[slot] = other[slot];
    } else if (other[slot] != kNone) {
      todo_.emplace_back(into[slot], other[slot]);
    }
  }
}

// Leaves joins to do.
void PointsToGraph::fold_from(uint32_t root, int64_t from) {
  Members& members = members_of(root);
  if (from >= members.folded) return;
  auto first = from == kWhole ? members.at.begin() : members.at.upper_bound(from - kPointer);
  if (first != members.at.end()) from = std::min(from, first->first);  // one that reaches into it
  Contents all = {kNone, kNone};
  for (auto each = first; each != members.at.end(); ++each) join_contents(all, each->second);
  members.at.erase(first, members.at.end());
  members.at[from] = all;
  members.folded = from;
  ++changes_;
}

void PointsToGraph::fold(ClassId from) {
  const Place here = place(from.value);
  if (here.root == kNothing.value) return;
  fold_from(here.root, here.at);
  settle();
}

void PointsToGraph::fold_whole(ClassId of) {
  const Place here = place(of.value);
  if (here.root == kNothing.value) return;
  fold_from(here.root, kWhole);
  settle();
}

// What lies at that place. Members that overlap are folded.
PointsToGraph::Contents& PointsToGraph::member(uint32_t root, int64_t at) {
  if (members_of(root).at.size() >= kMaxMembers && !members_of(root).at.contains(at)) fold_from(root, kWhole);
  Members& members = members_of(root);
  at = std::min(at, members.folded);
  const auto known = members.at.find(at);
  if (known != members.at.end()) return known->second;
  const auto near = members.at.lower_bound(at - kPointer + 1);
  if (near == members.at.end() || near->first >= at + kPointer) return members.at[at];
  fold_from(root, std::min(at, near->first));
  return members_of(root).at.rbegin()->second;
}

void PointsToGraph::add_object(ClassId at, ObjectKinds kinds) {
  const uint32_t id = place(at.value).root;
  if (id == kNothing.value) return;
  cells_[id].kinds |= kinds;
  release_waiting(id);
  settle();
}

ClassId PointsToGraph::contents(ClassId of, Held held) {
  const Place here = place(of.value);
  if (here.root == kNothing.value) return kNothing;
  const auto slot = static_cast<size_t>(held);
  uint32_t found = member(here.root, here.at)[slot];
  if (found == kNone) {
    found = make().value;
    member(here.root, here.at)[slot] = found;
    settle();
    if (held == Held::as_number) flow(ClassId(found), contents(of, Held::as_pointer));
  } else {
    settle();
  }
  return ClassId(found);
}

void PointsToGraph::join(ClassId a, ClassId b) {
  todo_.emplace_back(a.value, b.value);
  settle();
}

void PointsToGraph::flow(ClassId from, ClassId to) {
  const Place source = place(from.value);
  const Place target = place(to.value);
  if (source.root == kNothing.value || target.root == kNothing.value) return;
  if (source.root == target.root && source.at == target.at) return;
  if (cells_[source.root].kinds != 0) return join(from, to);
  const auto entry = static_cast<uint32_t>(waiting_.size());
  waiting_.push_back({from.value, to.value, kNone});
  Cell& cell = cells_[source.root];
  if (cell.last_waiting == kNone) {
    cell.first_waiting = entry;
  } else {
    waiting_[cell.last_waiting].next = entry;
  }
  cell.last_waiting = entry;
}

ClassId PointsToGraph::known_contents(ClassId of) const {
  const Place here = place(of.value);
  const Members& members = members_[cells_[here.root].members];
  const auto found = members.at.find(std::min(here.at, members.folded));
  return found == members.at.end() ? kNothing : ClassId(found->second[static_cast<size_t>(Held::as_pointer)]);
}

std::vector<ClassId> PointsToGraph::all_contents(ClassId of) const {
  std::vector<ClassId> all;
  for (const auto& [at, contents] : members_[cells_[find(of).index()].members].at) {
    const ClassId behind = find(ClassId(contents[static_cast<size_t>(Held::as_pointer)]));
    if (behind != kNothing) all.push_back(behind);
  }
  return all;
}

// The members of a class that begins `distance` bytes behind the other one.
void PointsToGraph::merge_members(uint32_t kept, uint32_t gone, int64_t distance) {
  if (cells_[gone].members == kNone) return;
  const Members others = std::move(members_[cells_[gone].members]);
  members_[cells_[gone].members] = {};
  if (others.folded != kNowhere) fold_from(kept, others.folded == kWhole ? kWhole : others.folded + distance);
  for (const auto& [at, contents] : others.at)
    join_contents(member(kept, at == kWhole ? kWhole : at + distance), contents);
}

// Merges two representatives and gives the one that is left. The second one begins `distance` bytes behind the
// first one.
uint32_t PointsToGraph::link(uint32_t a, uint32_t b, int64_t distance) {
  if (cells_[a].rank < cells_[b].rank) {
    std::swap(a, b);
    distance = -distance;
  }
  Cell& kept = cells_[a];
  Cell& gone = cells_[b];
  if (kept.rank == gone.rank) ++kept.rank;
  gone.parent = a;
  gone.distance = distance;
  kept.kinds |= gone.kinds;
  kept.escaped |= gone.escaped;
  if (kept.first_waiting == kNone) {
    kept.first_waiting = gone.first_waiting;
    kept.last_waiting = gone.last_waiting;
  } else if (gone.first_waiting != kNone) {
    waiting_[kept.last_waiting].next = gone.first_waiting;
    kept.last_waiting = gone.last_waiting;
  }
  merge_members(a, b, distance);
  ++changes_;
  return a;
}

// A class that has an object passes it on to everybody who waited for one.
void PointsToGraph::release_waiting(uint32_t id) {
  Cell& cell = cells_[id];
  if (cell.kinds == 0) return;
  for (uint32_t entry = cell.first_waiting; entry != kNone; entry = waiting_[entry].next) {
    todo_.emplace_back(waiting_[entry].from, waiting_[entry].to);
  }
  cell.first_waiting = cell.last_waiting = kNone;
}

void PointsToGraph::settle() {
  while (!todo_.empty()) {
    const Place a = place(todo_.back().first);
    const Place b = place(todo_.back().second);
    todo_.pop_back();
    if (a.root == kNothing.value || b.root == kNothing.value) continue;
    if (a.root != b.root) {
      release_waiting(link(a.root, b.root, a.at - b.at));
    } else if (a.at != b.at) {
      fold_from(a.root, std::min(a.at, b.at));  // if it is not folded there
    }
  }
}

// ---- copies

void PointsToGraph::copy(ClassId to, ClassId from, uint64_t size) {
  if (to == kNothing || from == kNothing || !copied_.emplace(to.value, from.value, size).second) return;
  copies_.push_back({to, from, size, {}});
}

void PointsToGraph::perform_copies() {
  for (size_t i = 0; i < copies_.size(); ++i) perform(copies_[i]);
}

// Members that begin in what is copied, or reach into it. What lies where the source is folded may be anywhere
// behind that.
void PointsToGraph::perform(Copy& copy) {
  const bool around = copy.size == kAllAround;
  const auto find_next = [&] {
    const Place from = place(copy.from.value);
    const Members& members = members_[cells_[from.root].members];
    for (const auto& [at, contents] : members.at) {
      const bool folded = at == members.folded;
      const bool inside = folded && from.at >= at && (!around || at == kWhole);
      const int64_t behind = inside ? 0 : at - from.at;
      if (!around && !folded && behind <= -kPointer) continue;
      if (behind > 0 && static_cast<uint64_t>(behind) >= copy.size) break;
      if (std::ranges::find(copy.done, std::pair(behind, folded)) != copy.done.end()) continue;
      copy.done.emplace_back(behind, folded);
      ++changes_;
      return true;
    }
    return false;
  };
  while (find_next()) {
    const auto [behind, folded] = copy.done.back();
    if (copy.done.size() > kMaxMembers) {  // of one part of an object to another one, each time further
      fold_whole(copy.from);
      fold_whole(copy.to);
    }
    const ClassId source = displaced(copy.from, behind), target = displaced(copy.to, behind);
    if (around && folded_from(place(copy.from.value).root) == kWhole) fold_whole(target);
    if (folded) fold(target);
    for (const Held held : {Held::as_pointer, Held::as_number})
      flow(contents(source, held), contents(target, held));
  }
}

void PointsToGraph::mark_escaped(ClassId id) {
  const ClassId at = find(id);
  if (at != kNothing) cells_[at.index()].escaped = true;
}

// What is looked at has objects of all kinds that it is lent.
void PointsToGraph::finish() {
  regions_.resize(cells_.size());
  for (uint32_t id = 0; id < regions_.size(); ++id) regions_[id] = id;
  for (const auto& [from, to] : together_) regions_[region(to).value] = region(from).value;
  for (bool more = true; more;) {
    more = false;
    for (const auto& [from, to] : together_) {
      Cell& cell = cells_[find(to).index()];
      const ObjectKinds all = cell.kinds | kinds(from);
      if (&cell == cells_.data() || all == cell.kinds) continue;
      cell.kinds = all;
      more = true;
    }
  }
  spread_escape();
  region_escaped_.resize(cells_.size());
  for (uint32_t id = 0; id < cells_.size(); ++id)
    if (cells_[id].parent == id && cells_[id].escaped) region_escaped_[region(ClassId(id)).index()] = true;
}

bool PointsToGraph::region_escaped(ClassId id) const {
  const size_t at = region(id).index();
  return at < region_escaped_.size() && region_escaped_[at];
}

ClassId PointsToGraph::region(ClassId of) const {
  uint32_t id = find(of).value;
  if (id >= regions_.size()) return ClassId(id);  // of nothing that was met
  while (regions_[id] != id) id = regions_[id] = regions_[regions_[id]];
  return ClassId(id);
}

void PointsToGraph::spread_escape() {
  std::vector<std::vector<uint32_t>> also;  // by index into `heads`: few classes have any
  std::vector<uint32_t> head_of(together_.empty() ? 0 : cells_.size(), kNone);
  also.emplace_back();
  for (const auto& [from, to] : together_) {
    uint32_t& head = head_of[find(from).index()];
    if (head == kNone) {
      head = static_cast<uint32_t>(also.size());
      also.emplace_back();
    }
    also[head].push_back(find(to).value);
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
    for (const auto& [at, contents] : members_[cells_[id].members].at) {
      for (const uint32_t behind : contents) reach(place(behind).root);
    }
    if (head_of.empty()) continue;
    for (const uint32_t other : also[head_of[id]]) reach(other);
  }
}

}  // namespace heddle
