#include "program/segments.h"

#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "base/result.h"
#include "program/counted_loops.h"
#include "program/segment_ends.h"

namespace heddle {
namespace {

// Bits that tell `count` things apart.
unsigned bits_for(uint64_t count) {
  return static_cast<unsigned>(std::bit_width(count - 1));
}

unsigned whole_bytes(unsigned bits) {
  return std::max(1u, (bits + 7) / 8) * 8;
}

}  // namespace

// Fills a Segments, step by step as in run().
class Segments::Builder {
 public:
  Builder(const ControlFlow& flow, const SegmentOptions& options, Segments& result)
      : flow_(flow), options_(options), result_(result), pieces_(result.pieces_), edges_(result.edges_) {}

  void run();

 private:
  void find_announced();
  void make_pieces();
  void add_block(uint32_t b);
  void make_loops();
  void make_edges();
  bool cut(uint32_t from, uint32_t to) const;
  void mark_loop_edges();
  void fit_into_max_ways();
  void count_ways_in();
  bool count_ways(uint64_t limit, uint64_t max);
  std::optional<uint64_t> count_from(const PieceInfo& piece) const;
  void cut_severed_edges();
  void group_starts();
  uint32_t group_of(Piece p);
  void place_writes();
  void number_edges();
  void mark_fresh_edges();
  void find_cleared_starts();
  void find_out_if_silent();
  bool writes(const Edge& edge) const;
  // Ordinary edges of segments: neither cut nor inside a counted loop.
  bool goes_on(const Edge& edge) const { return !edge.cut && pieces_[edge.from].loop == none; }

  const ControlFlow& flow_;
  const SegmentOptions& options_;
  Segments& result_;
  std::vector<PieceInfo>& pieces_;
  std::vector<Edge>& edges_;
  std::vector<Piece> order_;       // reachable pieces, each before the targets of its ordinary edges
  std::vector<bool> announced_;    // by block
  std::vector<uint32_t> ways_in_;  // by piece: ordinary edges, and one if segments start here
  std::vector<bool> severed_;      // by piece: all edges to it are cut for size
  std::vector<Piece> group_;       // by piece: union-find forest
};

void Segments::Builder::run() {
  find_announced();
  make_pieces();
  if (order_.empty()) return;  // a declaration
  if (options_.counted_loops && !options_.plain) make_loops();
  make_edges();
  mark_loop_edges();
  fit_into_max_ways();
  group_starts();
  place_writes();
  number_edges();
  mark_fresh_edges();
  find_cleared_starts();
  find_out_if_silent();
}

void Segments::Builder::find_announced() {
  announced_.resize(flow_.size());
  for (uint32_t b : flow_.topological_order()) {
    if (!edges_carry_no_code(*flow_.block(b)->getTerminator())) continue;
    for (uint32_t s : flow_.successors(b)) announced_[s] = true;
  }
}

void Segments::Builder::make_pieces() {
  for (uint32_t b = 0; b < flow_.size(); ++b) add_block(b);
  for (uint32_t b : flow_.topological_order()) {
    Piece p = result_.first_piece_[b];
    for (; pieces_[p].call != nullptr; ++p) order_.push_back(p);
    order_.push_back(p);
  }
}

void Segments::Builder::add_block(uint32_t b) {
  auto first = static_cast<Piece>(pieces_.size());
  result_.first_piece_.push_back(first);
  PieceInfo last{.block = b};
  if (flow_.reachable(b)) {
    const llvm::Instruction* terminator = flow_.block(b)->getTerminator();
    for (const llvm::Instruction& instruction : *flow_.block(b)) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call == nullptr || call == terminator || !ends_segment(*call, options_.cuts)) continue;
      pieces_.push_back({.block = b, .call = call});
    }
    last.terminator = llvm::dyn_cast<llvm::CallBase>(terminator);
    last.exits = flow_.successors(b).empty();
    last.known = !options_.plain && flow_.successors(b).size() > 1 &&
                 llvm::isa<llvm::BranchInst, llvm::SwitchInst>(terminator) && options_.known &&
                 options_.known(*flow_.block(b));
    last.told_apart_elsewhere = llvm::isa<llvm::InvokeInst, llvm::IndirectBrInst, llvm::CallBrInst>(terminator);
  }
  pieces_.push_back(last);
  if (!announced_[b]) return;
  pieces_[first].announced = static_cast<uint32_t>(result_.announced_.size());
  result_.announced_.push_back(first);
}

void Segments::Builder::make_loops() {
  auto last_piece = [this](uint32_t b) -> const PieceInfo& { return pieces_[result_.last_piece(b)]; };
  auto allowed = [&](uint32_t b) {
    return !announced_[b] && pieces_[result_.first_piece_[b]].call == nullptr &&
           !last_piece(b).told_apart_elsewhere;
  };
  auto known = [&](uint32_t b) { return last_piece(b).known; };
  for (const CountedLoopBlocks& found : find_counted_loops(flow_, allowed, known)) {
    CountedLoop loop{.header = result_.first_piece_[found.header], .pieces = {}};
    for (const CountedLoopBlocks::Member& member : found.members) {
      Piece p = result_.first_piece_[member.block];
      loop.pieces.push_back(p);
      pieces_[p].loop = static_cast<uint32_t>(result_.loops_.size());
      if (member.next) pieces_[p].inside = result_.first_piece_[*member.next];
    }
    result_.loops_.push_back(std::move(loop));
  }
}

void Segments::Builder::make_edges() {
  for (Piece p = 0; p < pieces_.size(); ++p) {
    PieceInfo& piece = pieces_[p];
    piece.first_edge = static_cast<uint32_t>(edges_.size());
    if (piece.call != nullptr) {
      edges_.push_back({.from = p, .to = p + 1, .cut = true});
    } else if (flow_.reachable(piece.block)) {
      for (uint32_t s : flow_.successors(piece.block))
        edges_.push_back({.from = p, .to = result_.first_piece_[s], .cut = cut(piece.block, s)});
    }
    piece.last_edge = static_cast<uint32_t>(edges_.size());
    std::sort(edges_.begin() + piece.first_edge, edges_.end(),
              [](const Edge& a, const Edge& b) { return a.to < b.to; });
  }
}

// Between the end of one block and the beginning of another.
bool Segments::Builder::cut(uint32_t from, uint32_t to) const {
  if (llvm::isa<llvm::InvokeInst>(flow_.block(from)->getTerminator()) || announced_[to]) return true;
  // A block of a counted loop is one piece.
  const PieceInfo& piece = pieces_[result_.first_piece_[from]];
  if (piece.loop != pieces_[result_.first_piece_[to]].loop) return true;
  if (piece.loop == none) return flow_.retreating(from, to);
  return !piece.known && piece.inside != result_.first_piece_[to];
}

void Segments::Builder::mark_loop_edges() {
  result_.exits_.resize(result_.loops_.size());
  for (Edge& edge : edges_) {
    const uint32_t from = pieces_[edge.from].loop, to = pieces_[edge.to].loop;
    edge.leaves_loop = edge.cut && from != none;
    edge.enters_loop = edge.cut && to != none;
    edge.next_round = !edge.cut && to != none && result_.loops_[to].header == edge.to;
    if (!edge.leaves_loop) continue;
    std::vector<LoopExit>& exits = result_.exits_[from];
    edge.exit = static_cast<uint32_t>(exits.size());
    exits.push_back({edge.from, edge.to});
  }
  for (Edge& edge : edges_) {
    if (edge.leaves_loop) edge.exit_bits = bits_for(result_.exits_[pieces_[edge.from].loop].size());
  }
}

// As in PathNumbering: the ways from one start multiply only where ways join, so a piece with several ways in
// and more than `limit` ways ahead is severed: every edge to it is cut, so it counts as one way there. The
// higher the limit, the fewer edges are cut, so limits are tried from above, by halves. With the limit 1 only
// trees are left that have no more ways than the function has edges.
void Segments::Builder::fit_into_max_ways() {
  count_ways_in();
  uint64_t limit = std::max<uint64_t>(options_.max_ways, 1);
  while (limit > 1 && !count_ways(limit, options_.max_ways)) limit /= 2;
  if (limit == 1) {
    bool fits = count_ways(1, UINT64_MAX);
    HEDDLE_CHECK(fits);
  }
  cut_severed_edges();
}

void Segments::Builder::count_ways_in() {
  ways_in_.resize(pieces_.size());
  std::vector<bool> starts(pieces_.size());
  for (const Edge& edge : edges_) {
    if (edge.cut) {
      starts[edge.to] = true;
    } else {
      ++ways_in_[edge.to];
    }
  }
  for (Piece p = 0; p < pieces_.size(); ++p) ways_in_[p] += starts[p] ? 1 : 0;
}

// False if some piece has more than `max` ways ahead (so nothing here can overflow unnoticed): then some start
// has.
bool Segments::Builder::count_ways(uint64_t limit, uint64_t max) {
  severed_.assign(pieces_.size(), false);
  for (auto p = order_.rbegin(); p != order_.rend(); ++p) {
    std::optional<uint64_t> count = count_from(pieces_[*p]);
    if (!count || *count > max) return false;
    pieces_[*p].count = *count;
    severed_[*p] = *count > limit && ways_in_[*p] > 1;
  }
  return true;
}

// Ways from a piece whose successors are counted; none if they are too many for a number.
std::optional<uint64_t> Segments::Builder::count_from(const PieceInfo& piece) const {
  if (piece.exits || piece.told_apart_elsewhere || piece.loop != none) return 1;
  uint64_t sum = 0, most = 0;
  for (uint32_t e = piece.first_edge; e < piece.last_edge; ++e) {
    const Edge& edge = edges_[e];
    uint64_t ways = edge.cut || severed_[edge.to] ? 1 : pieces_[edge.to].count;
    most = std::max(most, ways);
    if (!piece.known && __builtin_add_overflow(sum, ways, &sum)) return std::nullopt;
  }
  return piece.known ? most : sum;
}

void Segments::Builder::cut_severed_edges() {
  for (Edge& edge : edges_) edge.cut |= severed_[edge.to];
}

// Starts of which a piece with something undecided can be reached in common also share a writing edge, which
// lies ahead of that piece. So groups are the components of these pieces, and the largest count in one is that
// of a start.
void Segments::Builder::group_starts() {
  for (Piece p = 0; p < pieces_.size(); ++p) group_.push_back(p);
  for (const Edge& edge : edges_) {
    if (goes_on(edge) && (options_.plain || pieces_[edge.to].count > 1))
      group_[group_of(edge.to)] = group_of(edge.from);
  }
  std::vector<uint64_t> most(pieces_.size(), 1);
  for (Piece p : order_) most[group_of(p)] = std::max(most[group_of(p)], pieces_[p].count);
  for (Piece p : order_) {
    unsigned bits = bits_for(most[group_of(p)]);
    pieces_[p].bits = options_.plain ? whole_bytes(bits) : bits;
  }
}

Segments::Piece Segments::Builder::group_of(Piece p) {
  while (group_[p] != p) p = group_[p] = group_[group_[p]];
  return p;
}

bool Segments::Builder::writes(const Edge& edge) const {
  if (options_.plain) return edge.cut;
  return pieces_[edge.from].count > 1 && result_.ways(edge) == 1;
}

void Segments::Builder::place_writes() {
  for (Edge& edge : edges_) {
    if (writes(edge)) edge.bits = pieces_[edge.from].bits;
  }
  if (!options_.plain) return;
  for (Piece p : order_) {
    if (pieces_[p].exits) pieces_[p].end_bits = pieces_[p].bits;
  }
}

// As in Ball and Larus, an edge adds the number of ways along the edges before it. Edges that write are the
// last, because there the addition costs next to nothing.
void Segments::Builder::number_edges() {
  for (uint32_t e = 0; e < edges_.size(); ++e) result_.by_value_.push_back(e);
  for (const PieceInfo& piece : pieces_) {
    if (piece.asks() || piece.loop != none) continue;
    auto first = result_.by_value_.begin() + piece.first_edge;
    auto last = result_.by_value_.begin() + piece.last_edge;
    std::sort(first, last, [this](uint32_t a, uint32_t b) {
      return std::pair(edges_[a].bits != 0, a) < std::pair(edges_[b].bits != 0, b);
    });
    uint64_t ways_before = 0;
    for (auto e = first; e != last; ++e) {
      edges_[*e].value = ways_before;
      ways_before += result_.ways(edges_[*e]);
    }
  }
}

void Segments::Builder::mark_fresh_edges() {
  std::vector<bool> has_value(pieces_.size());  // by piece: some way from a start to here
  for (Piece p : order_) {
    for (uint32_t e = pieces_[p].first_edge; e < pieces_[p].last_edge; ++e) {
      Edge& edge = edges_[e];
      edge.fresh = !has_value[p];
      if (goes_on(edge) && (has_value[p] || edge.value != 0)) has_value[edge.to] = true;
    }
  }
}

// Where an edge that is not fresh, or the end of a plain segment, uses state.path before anything sets it.
void Segments::Builder::find_cleared_starts() {
  for (auto p = order_.rbegin(); p != order_.rend(); ++p) {
    PieceInfo& piece = pieces_[*p];
    piece.clears_path = piece.end_bits != 0;
    for (uint32_t e = piece.first_edge; e < piece.last_edge; ++e) {
      const Edge& edge = edges_[e];
      if (edge.value != 0 || edge.bits != 0) {
        piece.clears_path |= !edge.fresh;
      } else if (goes_on(edge)) {
        piece.clears_path |= pieces_[edge.to].clears_path;
      }
    }
  }
}

void Segments::Builder::find_out_if_silent() {
  auto edge_writes = [](const Edge& edge) { return edge.bits != 0 || edge.leaves_loop; };
  auto end_writes = [](const PieceInfo& piece) { return piece.end_bits != 0; };
  result_.silent_ = result_.announced_.empty() && std::none_of(edges_.begin(), edges_.end(), edge_writes) &&
                    std::none_of(pieces_.begin(), pieces_.end(), end_writes);
}

Segments::Segments(const ControlFlow& flow, const SegmentOptions& options) {
  Builder(flow, options, *this).run();
}

const Segments::Edge* Segments::find_edge(Piece from, Piece to) const {
  auto first = edges_.begin() + pieces_[from].first_edge, last = edges_.begin() + pieces_[from].last_edge;
  auto found = std::lower_bound(first, last, to, [](const Edge& e, Piece target) { return e.to < target; });
  return found != last && found->to == to ? &*found : nullptr;
}

const Segments::CountedLoop* Segments::counted_loop_of(Piece p) const {
  uint32_t loop = pieces_[p].loop;
  return loop != none ? &loops_[loop] : nullptr;
}

std::optional<uint32_t> Segments::announces(Piece p) const {
  if (pieces_[p].announced == none) return std::nullopt;
  return pieces_[p].announced;
}

unsigned Segments::announce_bits() const {
  return announced_.empty() ? 0 : std::max(1u, bits_for(announced_.size()));
}

std::optional<Segments::Piece> Segments::announced(uint32_t index) const {
  if (index >= announced_.size()) return std::nullopt;
  return announced_[index];
}

std::optional<Segments::Step> Segments::step(Piece p, uint64_t rest) const {
  const PieceInfo& piece = pieces_[p];
  if (rest >= piece.count || piece.loop != none) return std::nullopt;
  if (piece.exits) return Step{.kind = Step::Kind::ends};
  if (piece.asks()) return Step{.kind = Step::Kind::ask};
  auto first = by_value_.begin() + piece.first_edge, last = by_value_.begin() + piece.last_edge;
  auto after = std::upper_bound(first, last, rest,
                                [this](uint64_t wanted, uint32_t e) { return wanted < edges_[e].value; });
  return take(edges_[*std::prev(after)], rest);
}

std::optional<Segments::Step> Segments::step_to(Piece p, uint32_t successor_block, uint64_t rest) const {
  if (successor_block >= first_piece_.size()) return std::nullopt;
  const Edge* edge = find_edge(p, first_piece_[successor_block]);
  return edge == nullptr ? std::nullopt : take(*edge, rest);
}

uint64_t Segments::ways(const Edge& edge) const {
  return edge.cut ? 1 : pieces_[edge.to].count;
}

std::optional<Segments::Step> Segments::take(const Edge& edge, uint64_t rest) const {
  if (rest < edge.value || rest - edge.value >= ways(edge)) return std::nullopt;
  if (edge.cut) return Step{.kind = Step::Kind::cut, .to = edge.to};
  return Step{.kind = Step::Kind::ordinary, .to = edge.to, .rest = rest - edge.value};
}

std::optional<Segments::Piece> Segments::inside(const CountedLoop& loop, Piece p) const {
  const PieceInfo& piece = pieces_[p];
  HEDDLE_CHECK(piece.loop == pieces_[loop.header].loop);
  if (piece.known) return std::nullopt;
  return piece.inside;
}

std::optional<Segments::LoopExit> Segments::loop_exit(const CountedLoop& loop, uint32_t exit) const {
  const std::vector<LoopExit>& exits = exits_[pieces_[loop.header].loop];
  if (exit >= exits.size()) return std::nullopt;
  return exits[exit];
}

unsigned Segments::exit_bits(const CountedLoop& loop) const {
  return bits_for(exits_[pieces_[loop.header].loop].size());
}

}  // namespace heddle
