// Oracles for the tests of Segments that know nothing of how it works: the graph, the counted loops and the
// places of writes, by the rules of segments.h and counted_loops.h in the most direct way; and a recorder and a
// reader, which do along random walks what instrumented code and the decoder do, so that what was read can be
// compared with what ran. Only for tests.
//
// The functions tested call @cut, @plain, and @twice, which has the attribute returns_twice. Branches of blocks
// whose names begin with "k" are known.
#pragma once

#include <gtest/gtest.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "program/segments.h"

namespace heddle::segments_oracle {

using Piece = Segments::Piece;
using Block = const llvm::BasicBlock*;

struct Settings {
  bool counted_loops = true;
  bool plain = false;
  uint64_t max_ways = SegmentOptions{}.max_ways;
};

inline bool calls(const llvm::CallBase& call, llvm::StringRef name) {
  return call.getCalledFunction() != nullptr && call.getCalledFunction()->getName() == name;
}

// Says yes to intrinsics and no to @twice, which must both be overruled.
inline bool cut_asked(const llvm::CallBase& call) {
  return call.getCalledFunction() != nullptr && !calls(call, "plain") && !calls(call, "twice");
}

// Says yes whatever the terminator is.
inline bool named_known(const llvm::BasicBlock& block) {
  return block.getName().starts_with("k");
}

struct Numbered {
  Numbered(const llvm::Function& function, const Settings& settings = {})
      : flow(function),
        segments(flow, {.cuts = cut_asked,
                        .known = named_known,
                        .counted_loops = settings.counted_loops,
                        .plain = settings.plain,
                        .max_ways = settings.max_ways}) {}
  ControlFlow flow;
  Segments segments;
};

// ---- oracle: the rules ----

// The likely way around a loop, by the rules of counted_loops.h.
class LikelyWay {
 public:
  using Edge = std::pair<Block, Block>;
  struct Rules {
    std::function<bool(Block)> allowed, known;
  };

  LikelyWay(Block header, std::set<Block> body, Rules rules)
      : header_(header), body_(std::move(body)), rules_(std::move(rules)) {
    if (!comes_round(header_)) return;
    chance_ = chance_to_come_round(header_);
    for (Block b : blocks) undecided_ |= !rules_.known(b) && successors(b).size() > 1;
  }

  bool counts() const { return undecided_ && chance_ > 0.75; }
  bool may_go_either_way() const { return undecided_ && std::abs(chance_ - 0.75) < 1e-6; }

  std::set<Block> blocks;
  std::set<Edge> edges;

 private:
  static std::set<Block> successors(Block b) {
    auto range = llvm::successors(b);
    return {range.begin(), range.end()};
  }
  bool comes_round(Block b) {
    if (!body_.contains(b) || !rules_.allowed(b)) return false;
    if (auto found = comes_round_.find(b); found != comes_round_.end()) return found->second;
    bool comes = false;
    for (Block s : successors(b)) comes |= s == header_ || comes_round(s);
    return comes_round_[b] = comes;
  }
  double weight(Block b, Block to) {
    const llvm::Instruction& end = *b->getTerminator();
    const llvm::MDNode* profile = end.getMetadata(llvm::LLVMContext::MD_prof);
    double sum = 0;
    for (unsigned i = 0; i < end.getNumSuccessors(); ++i) {
      if (end.getSuccessor(i) != to) continue;
      if (profile != nullptr) {
        auto* measured = llvm::mdconst::extract<llvm::ConstantInt>(profile->getOperand(i + 1));
        sum += 1 + static_cast<double>(measured->getZExtValue());
      } else {
        sum += (comes_round(to) ? 7 : 2) * guess(end, i);
      }
    }
    return sum;
  }
  static double guess(const llvm::Instruction& end, unsigned index) {
    if (!llvm::isa<llvm::BranchInst>(end) || end.getNumSuccessors() == 1) return 1;
    const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(end.getOperand(0));
    if (compare == nullptr) return 1;
    const auto* left = llvm::dyn_cast<llvm::Instruction>(compare->getOperand(0));
    const auto* right = llvm::dyn_cast<llvm::Constant>(compare->getOperand(1));
    if (left != nullptr && left->getOpcode() == llvm::Instruction::And) return 1;
    if ((right != nullptr && right->isZeroValue()) || compare->getOperand(1)->getType()->isPointerTy())
      return 1;
    if (compare->getPredicate() == llvm::CmpInst::ICMP_EQ) return index == 0 ? 16 : 84;
    if (compare->getPredicate() == llvm::CmpInst::ICMP_NE) return index == 0 ? 84 : 16;
    return 1;
  }
  // Goes along the way, too.
  double chance_to_come_round(Block b) {
    if (auto found = chances_.find(b); found != chances_.end()) return found->second;
    blocks.insert(b);
    double all = 0;
    Block likely = nullptr;
    for (Block s : successors(b)) all += body_.contains(s) ? weight(b, s) : 0;
    for (Block s : llvm::successors(b)) {
      if (comes_round(s) && (likely == nullptr || weight(b, s) > weight(b, likely))) likely = s;
    }
    double chance = 0;
    for (Block s : successors(b)) {
      if (!comes_round(s) || (!rules_.known(b) && s != likely)) continue;
      edges.insert({b, s});
      chance += weight(b, s) / all * (s == header_ ? 1 : chance_to_come_round(s));
    }
    return chances_[b] = chance;
  }

  Block header_;
  std::set<Block> body_;
  Rules rules_;
  std::map<Block, bool> comes_round_;
  std::map<Block, double> chances_;
  double chance_ = 0;
  bool undecided_ = false;
};

class Reference {
 public:
  struct Out {
    Piece to;
    bool cut;
  };

  Reference(const llvm::Function& function, const Numbered& numbered, const Settings& settings)
      : n_(numbered), settings_(settings), entry_block_(&function.getEntryBlock()) {
    search(entry_block_);
    for (Block b : blocks_) {
      if (!llvm::isa<llvm::IndirectBrInst, llvm::CallBrInst>(b->getTerminator())) continue;
      for (Block s : llvm::successors(b)) announced_blocks_.insert(s);
    }
    for (Block b : announced_blocks_) announced.insert(piece(b));
    if (settings.counted_loops && !settings.plain) find_loops();
    for (Block b : blocks_) add_block(b);
    entry = piece(entry_block_);
  }

  Piece last_piece(Block b) const { return last_.at(b); }
  bool in_loop(Piece p) const { return loop_of_.contains(p); }
  bool inside_loop(Piece from, Piece to) const { return inside_.contains({from, to}); }
  std::set<Piece> starts() const {
    std::set<Piece> found{entry};
    for (auto& [p, edges] : out) {
      for (const Out& e : edges) {
        if (e.cut) found.insert(e.to);
      }
    }
    return found;
  }
  double ways(const Out& e) { return e.cut ? 1 : count(e.to); }
  // An estimate is enough: it is compared with small bounds, or exact.
  double count(Piece p) {
    if (auto found = count_.find(p); found != count_.end()) return found->second;
    double sum = out.at(p).empty() ? 1 : 0, most = 0;
    for (const Out& e : out.at(p)) {
      double w = in_loop(p) ? 1 : ways(e);
      sum += w;
      most = std::max(most, w);
    }
    if (known.contains(p)) sum = most;
    if (in_loop(p) || apart.contains(p)) sum = 1;
    return count_[p] = sum;
  }
  void forget_counts() { count_.clear(); }

  std::map<Piece, std::vector<Out>> out;  // reachable pieces
  std::set<Piece> known, apart, announced;
  std::map<Piece, std::set<Piece>> loops;  // by header
  Piece entry = 0;

 private:
  static bool cuts(const llvm::Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    return call != nullptr && !call->isTerminator() && (calls(*call, "cut") || calls(*call, "twice"));
  }
  static std::set<Block> successors(Block b) {
    auto range = llvm::successors(b);
    return {range.begin(), range.end()};
  }
  bool is_known(Block b) const {
    return !settings_.plain && named_known(*b) && successors(b).size() > 1 &&
           llvm::isa<llvm::BranchInst, llvm::SwitchInst>(b->getTerminator());
  }
  Piece piece(Block b) const { return n_.segments.first_piece(n_.flow.number(b)); }
  void search(Block block) {
    blocks_.insert(block);
    state_[block] = 1;
    for (Block s : llvm::successors(block)) {
      if (state_[s] == 1) closing_.insert({block, s});
      if (state_[s] == 0) search(s);
    }
    state_[block] = 2;
  }
  // What can be reached from `from` without entering `without`.
  std::set<Block> reach(Block from, Block without) const {
    std::set<Block> seen;
    std::vector<Block> pending{from};
    while (!pending.empty()) {
      Block b = pending.back();
      pending.pop_back();
      if (b == without || !seen.insert(b).second) continue;
      for (Block s : llvm::successors(b)) pending.push_back(s);
    }
    return seen;
  }
  void find_loops() {
    for (Block h : blocks_) {
      std::set<Block> latches, body{h};
      for (auto& [from, to] : closing_) {
        if (to == h) latches.insert(from);
      }
      std::set<Block> not_dominated = reach(entry_block_, h);
      auto dominated = [&](Block b) { return !not_dominated.contains(b); };
      if (latches.empty() || !std::all_of(latches.begin(), latches.end(), dominated)) continue;
      for (Block b : blocks_) {
        std::set<Block> ahead = reach(b, h);
        auto reached = [&](Block l) { return ahead.contains(l); };
        if (dominated(b) && std::any_of(latches.begin(), latches.end(), reached)) body.insert(b);
      }
      auto goes_round_inside = [&](auto& edge) {
        return body.contains(edge.first) && body.contains(edge.second) && edge.second != h;
      };
      if (std::any_of(closing_.begin(), closing_.end(), goes_round_inside)) continue;
      LikelyWay way(h, body,
                    {[this](Block b) { return may_be_in_loop(b); }, [this](Block b) { return is_known(b); }});
      bool found = n_.segments.counted_loop_of(piece(h)) != nullptr;
      if (way.may_go_either_way() ? found : way.counts()) add_loop(h, way);
    }
  }
  bool may_be_in_loop(Block b) const {
    return std::none_of(b->begin(), b->end(), cuts) && !announced_blocks_.contains(b) &&
           llvm::isa<llvm::BranchInst, llvm::SwitchInst>(b->getTerminator());
  }
  void add_loop(Block h, const LikelyWay& way) {
    for (Block b : way.blocks) {
      loops[piece(h)].insert(piece(b));
      loop_of_[piece(b)] = piece(h);
    }
    for (auto& [from, to] : way.edges) inside_.insert({piece(from), piece(to)});
  }
  void add_block(Block b) {
    Piece p = piece(b);
    for (const llvm::Instruction& instruction : *b) {
      if (!cuts(instruction)) continue;
      out[p] = {{p + 1, true}};
      ++p;
    }
    last_[b] = p;
    if (is_known(b)) known.insert(p);
    if (llvm::isa<llvm::InvokeInst, llvm::IndirectBrInst, llvm::CallBrInst>(b->getTerminator()))
      apart.insert(p);
    out[p];
    for (Block s : successors(b)) {
      bool cut = apart.contains(p) || announced_blocks_.contains(s);
      cut |= in_loop(p) || in_loop(piece(s)) ? !inside_loop(p, piece(s)) : closing_.contains({b, s});
      out[p].push_back({piece(s), cut});
    }
  }

  const Numbered& n_;
  Settings settings_;
  Block entry_block_;
  std::set<Block> blocks_, announced_blocks_;
  std::map<Block, int> state_;
  std::set<std::pair<Block, Block>> closing_;
  std::map<Block, Piece> last_;
  std::map<Piece, Piece> loop_of_;
  std::set<std::pair<Piece, Piece>> inside_;  // edges
  std::map<Piece, double> count_;
};

// The edges are those of the rules; more are cut only if that is needed to have few enough ways. Takes these
// over into the reference.
inline void check_edges(Reference& reference, const Segments& segments, uint64_t max_ways) {
  double most = 0;
  for (auto& [p, edges] : reference.out) most = std::max(most, reference.count(p));
  bool cut_more = false;
  size_t count = 0;
  for (auto& [from, edges] : reference.out) {
    ASSERT_EQ(segments.ends_function(from), edges.empty());
    ASSERT_EQ(segments.known(from), reference.known.contains(from));
    ASSERT_EQ(segments.announces(from).has_value(), reference.announced.contains(from));
    for (Reference::Out& out : edges) {
      const Segments::Edge* edge = segments.find_edge(from, out.to);
      ASSERT_NE(edge, nullptr);
      ASSERT_EQ(std::pair(edge->from, edge->to), std::pair(from, out.to));
      ASSERT_TRUE(edge->cut || !out.cut) << from << " -> " << out.to << " must be cut";
      ASSERT_FALSE(edge->cut && reference.inside_loop(from, out.to));
      ASSERT_EQ(edge->leaves_loop, out.cut && reference.in_loop(from));
      ASSERT_EQ(edge->enters_loop, out.cut && reference.in_loop(out.to));
      ASSERT_EQ(edge->next_round, reference.inside_loop(from, out.to) && reference.loops.contains(out.to));
      cut_more |= edge->cut != out.cut;
      out.cut = edge->cut;
      ++count;
    }
  }
  ASSERT_EQ(segments.edges().size(), count);
  if (cut_more) ASSERT_GT(most, static_cast<double>(max_ways));
  reference.forget_counts();
  for (auto& [p, edges] : reference.out) {
    ASSERT_EQ(static_cast<double>(segments.count(p)), reference.count(p)) << p;
    ASSERT_LE(segments.count(p), std::max<uint64_t>(max_ways, count + 1));
  }
}

inline void check_loops(const Reference& reference, const Segments& segments) {
  ASSERT_EQ(segments.counted_loops().size(), reference.loops.size());
  for (const Segments::CountedLoop& loop : segments.counted_loops()) {
    ASSERT_TRUE(reference.loops.contains(loop.header));
    ASSERT_EQ(std::set(loop.pieces.begin(), loop.pieces.end()), reference.loops.at(loop.header));
    ASSERT_TRUE(std::is_sorted(loop.pieces.begin(), loop.pieces.end()));
    for (Piece p : loop.pieces) {
      ASSERT_EQ(segments.counted_loop_of(p), &loop);
      auto next = segments.inside(loop, p);
      ASSERT_EQ(next.has_value(), !reference.known.contains(p));
      if (next) ASSERT_TRUE(reference.inside_loop(p, *next));
    }
  }
  for (auto& [p, edges] : reference.out)
    ASSERT_EQ(segments.counted_loop_of(p) != nullptr, reference.in_loop(p));
}

inline unsigned width(double count) {
  unsigned bits = 0;
  for (double ways = 1; ways < count; ways *= 2) ++bits;
  return bits;
}

// Follows all ways of all segments to see which edges write with how many bits, which are fresh, and which
// starts clear state.path.
class PlacesCheck {
 public:
  PlacesCheck(Reference& reference, const Segments& segments, bool plain)
      : r_(reference), s_(segments), plain_(plain) {}

  void run() {
    for (Piece start : r_.starts()) {
      if (!r_.in_loop(start)) follow(start, start, false);
    }
    join_groups();
    for (auto& [from, edges] : r_.out) {
      for (const Reference::Out& out : edges) {
        const Segments::Edge& edge = *s_.find_edge(from, out.to);
        std::pair key(from, out.to);
        ASSERT_EQ(edge.bits, writers_.contains(key) ? group_bits(*writers_[key].begin()) : 0u);
        ASSERT_EQ(edge.fresh, !has_value_before_.contains(key)) << from << " -> " << out.to;
        if (r_.known.contains(from) || r_.apart.contains(from) || r_.in_loop(from)) ASSERT_EQ(edge.value, 0u);
      }
      std::pair end(from, from);
      ASSERT_EQ(s_.end_bits(from), edges.empty() && plain_ ? group_bits(*writers_[end].begin()) : 0u);
    }
    for (Piece start : r_.starts()) {
      if (r_.in_loop(start)) {
        ASSERT_FALSE(s_.clears_path(start));
        continue;
      }
      bool writes = plain_ || r_.count(start) > 1;
      ASSERT_EQ(s_.bits(start), writes ? group_bits(start) : 0u);
      ASSERT_EQ(s_.clears_path(start), clears(start)) << start;
    }
    bool writes = !writers_.empty() || !r_.loops.empty() || !r_.announced.empty();
    ASSERT_EQ(s_.silent(), !writes);
  }

 private:
  using EdgeKey = std::pair<Piece, Piece>;

  void follow(Piece start, Piece p, bool has_value) {
    if (!seen_.insert({start, p, has_value}).second) return;
    if (r_.out.at(p).empty() && plain_) writers_[{p, p}].insert(start);  // the end, as an edge to itself
    for (const Reference::Out& out : r_.out.at(p)) {
      if (has_value) has_value_before_.insert({p, out.to});
      bool writes = plain_ ? out.cut : r_.count(p) > 1 && r_.ways(out) == 1;
      if (writes) writers_[{p, out.to}].insert(start);
      if (!out.cut) follow(start, out.to, has_value || s_.find_edge(p, out.to)->value != 0);
    }
  }
  void join_groups() {
    for (Piece start : r_.starts()) group_[start] = {start};
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& [edge, starts] : writers_) {
        std::set<Piece> all;
        for (Piece start : starts) all.insert(group_[start].begin(), group_[start].end());
        for (Piece start : starts) {
          changed |= group_[start] != all;
          group_[start] = all;
        }
      }
    }
  }
  unsigned group_bits(Piece start) {
    double most = 1;
    for (Piece other : group_[start]) most = std::max(most, r_.count(other));
    return plain_ ? std::max(8u, (width(most) + 7) / 8 * 8) : width(most);
  }
  // Is there a way on which the first that uses state.path is an edge that is not fresh, or the end?
  bool clears(Piece start) {
    std::set<Piece> seen;
    std::vector<Piece> pending{start};
    while (!pending.empty()) {
      Piece p = pending.back();
      pending.pop_back();
      if (!seen.insert(p).second) continue;
      if (r_.out.at(p).empty() && plain_) return true;
      for (const Reference::Out& out : r_.out.at(p)) {
        const Segments::Edge& edge = *s_.find_edge(p, out.to);
        bool acts = edge.value != 0 || edge.bits != 0;
        if (acts && !edge.fresh) return true;
        if (!acts && !out.cut) pending.push_back(out.to);
      }
    }
    return false;
  }

  Reference& r_;
  const Segments& s_;
  bool plain_;
  std::set<std::tuple<Piece, Piece, bool>> seen_;
  std::map<EdgeKey, std::set<Piece>> writers_;  // starts whose number is written there
  std::set<EdgeKey> has_value_before_;
  std::map<Piece, std::set<Piece>> group_;
};

// ---- oracle: what is written along a walk, and read again ----

struct Log {
  std::deque<bool> bits;          // the path stream
  std::deque<uint32_t> outcomes;  // successors of known branches, which the reader computes, and of invokes

  void put(uint64_t number, unsigned count) {
    for (unsigned i = count; i > 0; --i) bits.push_back((number >> (i - 1) & 1) != 0);
    ASSERT_TRUE(count == 64 || number >> count == 0) << number << " does not fit into " << count << " bits";
  }
  std::optional<uint64_t> get(unsigned count) {
    if (bits.size() < count) return std::nullopt;
    uint64_t number = 0;
    for (; count > 0; --count) {
      number = number << 1 | (bits.front() ? 1 : 0);
      bits.pop_front();
    }
    return number;
  }
};
constexpr unsigned round_bits = 64;

// Does what instrumented code does, by the fields of Segments::Edge.
class Recorder {
 public:
  Recorder(const Segments& segments, std::mt19937& random) : s_(segments), random_(random), path_(random()) {}

  void enter(Piece entry) {
    pieces.push_back(entry);
    start();
  }
  void go_to(Piece to) {
    const Segments::Edge& edge = *s_.find_edge(pieces.back(), to);
    pieces.push_back(to);
    if (edge.bits != 0) {
      log.put(edge.fresh ? edge.value : path_ + edge.value, edge.bits);
      open_ = false;
    } else if (edge.value != 0) {
      path_ = edge.fresh ? edge.value : path_ + edge.value;
    }
    if (edge.leaves_loop) {
      log.put(rounds_, round_bits);
      log.put(edge.exit, edge.exit_bits);
      open_ = false;
    }
    if (edge.enters_loop) rounds_ = 0;
    if (edge.next_round) ++rounds_;
    if (!edge.cut) return;
    ASSERT_FALSE(open_) << "a segment ended unwritten at " << edge.from << " -> " << to;
    if (auto index = s_.announces(to)) log.put(*index, s_.announce_bits());
    start();
  }
  void end() {
    if (unsigned bits = s_.end_bits(pieces.back()); bits != 0) {
      log.put(path_, bits);
      open_ = false;
    }
    ASSERT_FALSE(open_);
    finished = true;
  }
  // A segment whose number is not written yet: the number so far leads back to the piece where we are.
  void check_stop() const {
    if (!open_) return;
    if (s_.counted_loop_of(pieces[start_]) != nullptr) return check_stop_in_loop();
    const Segments::Edge* any = nullptr;
    for (const Segments::Edge& e : s_.edges()) any = e.from == pieces.back() ? &e : any;
    uint64_t rest = any != nullptr && any->fresh ? 0 : path_;
    for (size_t i = start_; i + 1 < pieces.size(); ++i) {
      auto step = s_.step(pieces[i], rest);
      ASSERT_TRUE(step.has_value());
      if (step->kind == Segments::Step::Kind::ask)
        step = s_.step_to(pieces[i], s_.block_of(pieces[i + 1]), rest);
      ASSERT_TRUE(step.has_value());
      ASSERT_EQ(step->kind, Segments::Step::Kind::ordinary);
      ASSERT_EQ(step->to, pieces[i + 1]);
      rest = step->rest;
    }
    ASSERT_EQ(rest, 0u);
  }
  // How many pieces a reader can know.
  size_t readable() const { return open_ ? start_ + 1 : pieces.size(); }

  std::vector<Piece> pieces;
  Log log;
  bool finished = false;

 private:
  void check_stop_in_loop() const {
    const Segments::CountedLoop& loop = *s_.counted_loop_of(pieces[start_]);
    uint64_t rounds = 0;
    for (size_t i = start_; i + 1 < pieces.size(); ++i) {
      auto next = s_.inside(loop, pieces[i]);
      ASSERT_TRUE(!next || *next == pieces[i + 1]);
      rounds += pieces[i + 1] == loop.header ? 1 : 0;
    }
    ASSERT_EQ(rounds, rounds_);
  }
  void start() {
    start_ = pieces.size() - 1;
    open_ = s_.bits(pieces.back()) != 0 || s_.counted_loop_of(pieces.back()) != nullptr;
    path_ = s_.clears_path(pieces.back()) ? 0 : random_();  // whatever was there
  }

  const Segments& s_;
  std::mt19937& random_;
  uint64_t path_, rounds_ = 0;
  size_t start_ = 0;   // of the segment, in `pieces`
  bool open_ = false;  // its number, or the rounds, must be written still
};

class Reader {
 public:
  Reader(const Segments& segments, Log log, size_t most) : log(std::move(log)), s_(segments), most_(most) {}

  void read(Piece entry) {
    pieces.push_back(entry);
    while (pieces.size() < most_) {
      const Segments::CountedLoop* loop = s_.counted_loop_of(pieces.back());
      if (!(loop != nullptr ? read_loop(*loop) : read_segment())) return;
    }
  }

  std::vector<Piece> pieces;
  Log log;
  bool finished = false;

 private:
  using Kind = Segments::Step::Kind;

  // False: there is no more.
  bool read_segment() {
    auto number = log.get(s_.bits(pieces.back()));
    if (!number) return false;
    uint64_t rest = *number;
    while (true) {
      auto step = s_.step(pieces.back(), rest);
      bool announced = false;
      if (step && step->kind == Kind::ask) step = asked(rest, announced);
      if (!step) return false;
      finished = step->kind == Kind::ends;
      if (finished) return false;
      pieces.push_back(step->to);
      rest = step->rest;
      if (step->kind == Kind::cut) return announced || read_announcement();
      if (pieces.size() == most_) return false;
    }
  }
  std::optional<Segments::Step> asked(uint64_t rest, bool& announced) {
    Piece p = pieces.back();
    if (s_.known(p) || llvm::isa_and_nonnull<llvm::InvokeInst>(s_.cutting_terminator(p))) {
      auto outcome = pop_outcome();
      return outcome ? s_.step_to(p, *outcome, rest) : std::nullopt;
    }
    announced = true;
    auto index = log.get(s_.announce_bits());
    if (!index) return std::nullopt;
    auto target = s_.announced(static_cast<uint32_t>(*index));
    return target ? s_.step_to(p, s_.block_of(*target), rest) : std::nullopt;
  }
  bool read_announcement() {
    auto expected = s_.announces(pieces.back());
    if (!expected) return true;
    auto index = log.get(s_.announce_bits());
    EXPECT_EQ(index, expected);
    return index.has_value();
  }
  bool read_loop(const Segments::CountedLoop& loop) {
    auto rounds = log.get(round_bits);
    if (!rounds) return false;
    auto index = log.get(s_.exit_bits(loop));
    auto exit = index ? s_.loop_exit(loop, static_cast<uint32_t>(*index)) : std::nullopt;
    while (exit && pieces.size() < most_) {
      Piece p = pieces.back();
      auto next = s_.inside(loop, p);
      if (!next) {
        auto outcome = pop_outcome();
        if (!outcome) return false;
        next = s_.first_piece(*outcome);
      }
      bool leaves = *rounds == 0 && p == exit->from;
      pieces.push_back(leaves ? exit->to : *next);
      if (leaves) return read_announcement();
      if (s_.find_edge(p, *next)->next_round) --*rounds;
    }
    return false;
  }
  std::optional<uint32_t> pop_outcome() {
    if (log.outcomes.empty()) return std::nullopt;
    uint32_t outcome = log.outcomes.front();
    log.outcomes.pop_front();
    return outcome;
  }

  const Segments& s_;
  size_t most_;
};

inline Recorder walk(const llvm::Function& function, const Numbered& n, const Reference& reference,
                     std::mt19937& random, size_t most) {
  Recorder recorder(n.segments, random);
  Block block = &function.getEntryBlock();
  recorder.enter(reference.entry);
  while (recorder.pieces.size() < most && !testing::Test::HasFatalFailure()) {
    if (random() % 4 == 0) recorder.check_stop();
    Piece last = reference.last_piece(block);
    if (recorder.pieces.back() != last) {
      recorder.go_to(recorder.pieces.back() + 1);
      continue;
    }
    unsigned ways = block->getTerminator()->getNumSuccessors();
    if (ways == 0) {
      recorder.end();
      break;
    }
    bool invoke = llvm::isa<llvm::InvokeInst>(block->getTerminator());
    block = block->getTerminator()->getSuccessor(random() % ways);
    if (reference.known.contains(last) || invoke) recorder.log.outcomes.push_back(n.flow.number(block));
    recorder.go_to(n.segments.first_piece(n.flow.number(block)));
  }
  return recorder;
}

inline void check_walk(const llvm::Function& function, const Numbered& n, const Reference& reference,
                       std::mt19937& random, size_t most) {
  Recorder recorder = walk(function, n, reference, random, most);
  ASSERT_FALSE(testing::Test::HasFatalFailure());
  // One more, so that a reader who goes on behind the end is noticed.
  Reader reader(n.segments, recorder.log, recorder.pieces.size() + (recorder.finished ? 1 : 0));
  reader.read(reference.entry);
  ASSERT_EQ(reader.finished, recorder.finished);
  ASSERT_EQ(reader.pieces,
            std::vector<Piece>(recorder.pieces.begin(),
                               recorder.pieces.begin() + static_cast<long>(recorder.readable())));
  if (recorder.finished) ASSERT_TRUE(reader.log.bits.empty() && reader.log.outcomes.empty());
}

inline void check_all(const llvm::Function& function, const Settings& settings, uint32_t seed = 1,
                      int walks = 8) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", loops " << settings.counted_loops << ", plain "
                                  << settings.plain << ", max_ways " << settings.max_ways);
  Numbered n(function, settings);
  Reference reference(function, n, settings);
  ASSERT_NO_FATAL_FAILURE(check_edges(reference, n.segments, settings.max_ways));
  ASSERT_NO_FATAL_FAILURE(check_loops(reference, n.segments));
  ASSERT_NO_FATAL_FAILURE(PlacesCheck(reference, n.segments, settings.plain).run());
  std::mt19937 random(seed);
  for (int i = 0; i < walks; ++i)
    ASSERT_NO_FATAL_FAILURE(check_walk(function, n, reference, random, 1 + random() % 300));
}

}  // namespace heddle::segments_oracle
