#include "program/path_numbering.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <tuple>

#include "base/result.h"
#include "program/segment_ends.h"

namespace heddle {
// Fills a PathNumbering, step by step as in run().
class PathNumbering::Builder {
 public:
  Builder(const ControlFlow& flow, const PathOptions& options, PathNumbering& result)
      : flow_(flow), options_(options), result_(result) {}

  void run();

 private:
  void make_pieces();
  void add_block(uint32_t b);
  void make_edges();
  void add_edge(Piece from, Piece to, bool cut);
  std::vector<bool> blocks_behind_codeless_edges() const;
  void fit_into_max_paths();
  bool count_paths(uint64_t limit, uint64_t max);
  std::optional<uint64_t> count_from(Piece p) const;
  void cut_severed_edges();
  void sort_edges();
  void number_starts();
  void number_edges();

  const ControlFlow& flow_;
  const PathOptions& options_;
  PathNumbering& result_;
  std::vector<Piece> order_;       // reachable pieces, each before the targets of its ordinary edges
  std::vector<bool> cut_target_;   // by piece: a cut edge leads here
  std::vector<uint32_t> ways_in_;  // by piece: ordinary edges, and one for ENTRY -> piece if that exists
  std::vector<uint64_t> count_;    // by piece: paths from its beginning to EXIT
  std::vector<bool> severed_;      // by piece: all edges to it are cut for size
};

void PathNumbering::Builder::run() {
  make_pieces();
  make_edges();
  if (order_.empty()) return;  // a declaration
  fit_into_max_paths();
  sort_edges();
  number_starts();
  number_edges();
}

void PathNumbering::Builder::make_pieces() {
  for (uint32_t b = 0; b < flow_.size(); ++b) add_block(b);
  for (uint32_t b : flow_.topological_order()) {
    Piece p = result_.first_piece_[b];
    for (; result_.pieces_[p].call != nullptr; ++p) order_.push_back(p);
    order_.push_back(p);
  }
}

void PathNumbering::Builder::add_block(uint32_t b) {
  auto& pieces = result_.pieces_;
  result_.first_piece_.push_back(static_cast<Piece>(pieces.size()));
  PieceInfo last{.block = b};
  if (flow_.reachable(b)) {
    for (const llvm::Instruction& instruction : *flow_.block(b)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call == nullptr || !ends_segment(*call, options_.cuts)) continue;
      if (call->isTerminator()) {
        last.terminator = call;
      } else {
        pieces.push_back({.block = b, .call = call});
      }
    }
    last.exits = flow_.successors(b).empty();
  }
  pieces.push_back(last);
}

void PathNumbering::Builder::make_edges() {
  cut_target_.resize(result_.pieces_.size());
  ways_in_.resize(result_.pieces_.size());
  std::vector<bool> behind_codeless = blocks_behind_codeless_edges();
  auto& pieces = result_.pieces_;
  for (Piece p = 0; p < pieces.size(); ++p) {
    uint32_t b = pieces[p].block;
    pieces[p].first_edge = static_cast<uint32_t>(result_.edges_.size());
    if (pieces[p].call != nullptr) {
      add_edge(p, p + 1, true);
    } else if (flow_.reachable(b)) {
      for (uint32_t s : flow_.successors(b)) {
        bool cut = pieces[p].terminator != nullptr || behind_codeless[s] || flow_.retreating(b, s);
        add_edge(p, result_.first_piece_[s], cut);
      }
    }
    pieces[p].last_edge = static_cast<uint32_t>(result_.edges_.size());
  }
  for (Piece p = 0; p < pieces.size(); ++p) ways_in_[p] += cut_target_[p] ? 1 : 0;
}

void PathNumbering::Builder::add_edge(Piece from, Piece to, bool cut) {
  result_.edges_.push_back({.from = from, .to = to, .cut = cut});
  if (cut) {
    cut_target_[to] = true;
  } else {
    ++ways_in_[to];
  }
}

std::vector<bool> PathNumbering::Builder::blocks_behind_codeless_edges() const {
  std::vector<bool> behind(flow_.size());
  for (uint32_t b : flow_.topological_order()) {
    if (!edges_carry_no_code(*flow_.block(b)->getTerminator())) continue;
    for (uint32_t s : flow_.successors(b)) behind[s] = true;
  }
  return behind;
}

// Path counts multiply only where ways join: a piece with one way in has its paths counted once. So a piece
// with several ways in and more than `limit` paths is severed: it starts a segment on every way in, which
// replaces its paths on each way by one. The higher the limit, the fewer edges it cuts, so limits are tried
// from above; halving finds one that is near enough in few rounds. With the limit 0 only trees are left, and a
// tree has no more paths than pieces.
void PathNumbering::Builder::fit_into_max_paths() {
  uint64_t limit = options_.max_paths;
  while (limit > 0 && !count_paths(limit, options_.max_paths)) limit /= 2;
  if (limit == 0) {
    bool fits = count_paths(0, UINT64_MAX);
    HEDDLE_CHECK(fits);
  }
  cut_severed_edges();
}

// False if there are more than `max` paths (so nothing here can overflow unnoticed).
bool PathNumbering::Builder::count_paths(uint64_t limit, uint64_t max) {
  count_.assign(result_.pieces_.size(), 0);
  severed_.assign(result_.pieces_.size(), false);
  uint64_t total = 0;
  for (auto p = order_.rbegin(); p != order_.rend(); ++p) {
    std::optional<uint64_t> count = count_from(*p);
    if (!count) return false;  // then there are too many in total: some start leads to this piece
    count_[*p] = *count;
    severed_[*p] = *count > limit && ways_in_[*p] > 1;
    uint64_t starts = (*p == order_.front() ? 1 : 0) + (cut_target_[*p] || severed_[*p] ? 1 : 0);
    for (; starts > 0; --starts) {
      if (__builtin_add_overflow(total, *count, &total) || total > max) return false;
    }
  }
  return true;
}

// Paths from `p`, whose successors are counted; none if they are too many for a number.
std::optional<uint64_t> PathNumbering::Builder::count_from(Piece p) const {
  const PieceInfo& info = result_.pieces_[p];
  if (info.exits) return 1;
  uint64_t count = 0;
  bool may_end_here = false;
  for (uint32_t e = info.first_edge; e < info.last_edge; ++e) {
    const Edge& edge = result_.edges_[e];
    if (edge.cut || severed_[edge.to]) {
      may_end_here = true;
    } else if (__builtin_add_overflow(count, count_[edge.to], &count)) {
      return std::nullopt;
    }
  }
  if (may_end_here && __builtin_add_overflow(count, 1, &count)) return std::nullopt;
  return count;
}

void PathNumbering::Builder::cut_severed_edges() {
  for (Edge& edge : result_.edges_) {
    if (edge.cut || !severed_[edge.to]) continue;
    edge.cut = true;
    cut_target_[edge.to] = true;
    result_.split_for_size_ = true;
  }
}

void PathNumbering::Builder::sort_edges() {
  auto edges = result_.edges_.begin();
  for (PieceInfo& piece : result_.pieces_) {
    auto first = edges + piece.first_edge, last = edges + piece.last_edge;
    std::sort(first, last,
              [](const Edge& a, const Edge& b) { return std::tie(a.cut, a.to) < std::tie(b.cut, b.to); });
    auto first_cut = std::partition_point(first, last, [](const Edge& e) { return !e.cut; });
    piece.first_cut = static_cast<uint32_t>(first_cut - edges);
  }
}

// The function's entry comes first, so that its register starts with 0.
void PathNumbering::Builder::number_starts() {
  auto add_start = [this](Piece p) {
    result_.starts_.push_back({result_.path_count_, p});
    result_.path_count_ += count_[p];
  };
  add_start(order_.front());
  std::vector<uint64_t> start(result_.pieces_.size());
  for (Piece p : order_) {
    if (!cut_target_[p]) continue;
    start[p] = result_.path_count_;
    add_start(p);
  }
  for (Edge& edge : result_.edges_) {
    if (edge.cut) edge.start = start[edge.to];
  }
}

// As in Ball and Larus, an edge adds the number of paths along the edges before it. The edge to EXIT that
// stands for all cut edges of a piece is its last: writing an id costs more than an addition.
void PathNumbering::Builder::number_edges() {
  for (const PieceInfo& piece : result_.pieces_) {
    uint64_t paths_before = 0;
    for (uint32_t e = piece.first_edge; e < piece.last_edge; ++e) {
      Edge& edge = result_.edges_[e];
      if (edge.cut) {
        edge.end = paths_before;
      } else {
        edge.value = paths_before;
        paths_before += count_[edge.to];
      }
    }
  }
}

PathNumbering::PathNumbering(const ControlFlow& flow, const PathOptions& options) {
  Builder(flow, options, *this).run();
}

const PathNumbering::Edge* PathNumbering::find_edge(Piece from, Piece to) const {
  const PieceInfo& piece = pieces_[from];
  auto find = [&](uint32_t first, uint32_t last) -> const Edge* {
    auto begin = edges_.begin() + first, end = edges_.begin() + last;
    auto found = std::lower_bound(begin, end, to, [](const Edge& e, Piece target) { return e.to < target; });
    return found != end && found->to == to ? &*found : nullptr;
  };
  const Edge* ordinary = find(piece.first_edge, piece.first_cut);
  return ordinary != nullptr ? ordinary : find(piece.first_cut, piece.last_edge);
}

std::optional<PathNumbering::Segment> PathNumbering::decode(PathId id) const {
  if (id >= path_count_) return std::nullopt;
  auto after = std::upper_bound(starts_.begin(), starts_.end(), id,
                                [](PathId wanted, const Start& start) { return wanted < start.value; });
  const Start& start = *std::prev(after);
  Segment segment;
  segment.starts_at_entry = &start == &starts_.front();
  uint64_t rest = id - start.value;
  Piece p = start.piece;
  while (true) {
    segment.pieces.push_back(p);
    const PieceInfo& piece = pieces_[p];
    segment.ends_function = piece.exits;
    auto first = edges_.begin() + piece.first_edge, cut = edges_.begin() + piece.first_cut;
    bool ends_here = piece.exits || (piece.first_cut != piece.last_edge && rest >= cut->end);
    if (ends_here) {
      HEDDLE_CHECK(rest == (piece.exits ? 0 : cut->end));
      return segment;
    }
    auto edge =
        std::prev(std::upper_bound(first, cut, rest, [](uint64_t r, const Edge& e) { return r < e.value; }));
    rest -= edge->value;
    p = edge->to;
  }
}

}  // namespace heddle
