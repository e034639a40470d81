// Oracles for the tests of PathNumbering that know nothing of how it works: all segments, listed by walking the
// graph that the rules in path_numbering.h define, and the path register, simulated along random walks as
// instrumented code would keep it. Only for tests.
//
// The functions tested call @cut, @plain, and @twice, which has the attribute returns_twice.
#pragma once

#include <gtest/gtest.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <vector>

#include "program/path_numbering.h"

namespace heddle::path_oracle {

using Piece = PathNumbering::Piece;
using Path = std::tuple<bool, bool, std::vector<Piece>>;  // starts at entry, ends function, pieces

constexpr uint64_t default_max = PathOptions{}.max_paths;

inline bool calls(const llvm::CallBase& call, llvm::StringRef name) {
  return call.getCalledFunction() != nullptr && call.getCalledFunction()->getName() == name;
}

// Says yes to intrinsics and no to @twice, which must both be overruled.
inline bool cut_asked(const llvm::CallBase& call) {
  return call.getCalledFunction() != nullptr && !calls(call, "plain") && !calls(call, "twice");
}

struct Numbered {
  Numbered(const llvm::Function& function, uint64_t max_paths = default_max)
      : flow(function), paths(flow, {.cuts = cut_asked, .max_paths = max_paths}) {}
  ControlFlow flow;
  PathNumbering paths;
};

// ---- oracle: the graph that the rules define ----

class Reference {
 public:
  struct Out {
    Piece to;
    bool cut;
  };

  Reference(const llvm::Function& function, const Numbered& numbered) : n_(numbered) {
    search(&function.getEntryBlock());
    std::set<const llvm::BasicBlock*> codeless;
    for (auto& [block, state] : state_) {
      if (!llvm::isa<llvm::IndirectBrInst, llvm::CallBrInst>(block->getTerminator())) continue;
      for (const llvm::BasicBlock* s : llvm::successors(block)) codeless.insert(s);
    }
    for (auto& [block, state] : state_) {
      Piece p = piece(block);
      for (const llvm::Instruction& instruction : *block) {
        if (!cuts(instruction) || instruction.isTerminator()) continue;
        out[p] = {{p + 1, true}};
        ++p;
      }
      out[p];
      last_[block] = p;
      std::set<const llvm::BasicBlock*> seen;
      for (const llvm::BasicBlock* s : llvm::successors(block)) {
        if (!seen.insert(s).second) continue;
        bool cut = cuts(*block->getTerminator()) || codeless.contains(s) || closing_.contains({block, s});
        out[p].push_back({piece(s), cut});
      }
    }
    entry = piece(&function.getEntryBlock());
  }

  static bool cuts(const llvm::Instruction& instruction) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    return call != nullptr && (calls(*call, "cut") || calls(*call, "twice"));
  }
  Piece last_piece(const llvm::BasicBlock* block) const { return last_.at(block); }

  // An estimate is enough: it is compared with small bounds, or must be below 2^63.
  double total() const {
    std::map<Piece, double> memo;
    double sum = count(entry, memo);
    for (Piece p : cut_targets()) sum += count(p, memo);
    return sum;
  }
  std::set<Piece> cut_targets() const {
    std::set<Piece> targets;
    for (auto& [p, edges] : out) {
      for (const Out& e : edges) {
        if (e.cut) targets.insert(e.to);
      }
    }
    return targets;
  }
  std::vector<Path> all_paths() const {
    std::vector<Path> paths;
    std::vector<Piece> pieces;
    list(entry, true, pieces, paths);
    for (Piece p : cut_targets()) list(p, false, pieces, paths);
    return paths;
  }

  std::map<Piece, std::vector<Out>> out;  // reachable pieces
  Piece entry;

 private:
  Piece piece(const llvm::BasicBlock* block) const { return n_.paths.first_piece(n_.flow.number(block)); }
  void search(const llvm::BasicBlock* block) {
    state_[block] = 1;
    for (const llvm::BasicBlock* s : llvm::successors(block)) {
      if (state_[s] == 1) closing_.insert({block, s});
      if (state_[s] == 0) search(s);
    }
    state_[block] = 2;
  }
  double count(Piece p, std::map<Piece, double>& memo) const {
    if (auto known = memo.find(p); known != memo.end()) return known->second;
    double sum = 0, end = out.at(p).empty() ? 1 : 0;
    for (const Out& e : out.at(p)) {
      if (e.cut) end = 1;
      if (!e.cut) sum += count(e.to, memo);
    }
    return memo[p] = sum + end;
  }
  void list(Piece p, bool at_entry, std::vector<Piece>& pieces, std::vector<Path>& paths) const {
    pieces.push_back(p);
    bool ends = false;
    for (const Out& e : out.at(p)) {
      ends |= e.cut;
      if (!e.cut) list(e.to, at_entry, pieces, paths);
    }
    if (ends || out.at(p).empty()) paths.emplace_back(at_entry, out.at(p).empty(), pieces);
    pieces.pop_back();
  }

  const Numbered& n_;
  std::map<const llvm::BasicBlock*, int> state_;
  std::set<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>> closing_;
  std::map<const llvm::BasicBlock*, Piece> last_;
};

// The edges are those of the rules; more are cut only if that is needed to have few enough paths. Takes these
// over into the reference.
inline void check_edges(Reference& reference, const PathNumbering& paths, uint64_t max_paths) {
  bool too_many = reference.total() > static_cast<double>(max_paths);
  bool cut_more = false;
  size_t count = 0;
  for (auto& [from, edges] : reference.out) {
    ASSERT_EQ(paths.ends_function(from), edges.empty());
    for (Reference::Out& out : edges) {
      const PathNumbering::Edge* edge = paths.find_edge(from, out.to);
      ASSERT_NE(edge, nullptr);
      ASSERT_EQ(std::tie(edge->from, edge->to), std::tie(from, out.to));
      ASSERT_TRUE(edge->cut || !out.cut) << from << " -> " << out.to << " must be cut";
      cut_more |= edge->cut != out.cut;
      out.cut = edge->cut;
      ++count;
    }
  }
  ASSERT_EQ(paths.edges().size(), count);
  ASSERT_EQ(cut_more, paths.split_for_size());
  if (cut_more) ASSERT_TRUE(too_many);
  ASSERT_LE(paths.path_count(), std::max<uint64_t>(max_paths, reference.out.size()));
}

inline uint64_t sum_along(const PathNumbering& paths, const Reference& reference, const Path& path) {
  const auto& [at_entry, ends, pieces] = path;
  uint64_t sum = 0;
  if (!at_entry) {
    for (const PathNumbering::Edge& e : paths.edges()) {
      if (e.cut && e.to == pieces.front()) sum = e.start;
    }
  }
  for (size_t i = 1; i < pieces.size(); ++i) sum += paths.find_edge(pieces[i - 1], pieces[i])->value;
  if (ends) return sum;
  for (const Reference::Out& out : reference.out.at(pieces.back())) {
    if (out.cut) return sum + paths.find_edge(pieces.back(), out.to)->end;
  }
  ADD_FAILURE() << "no cut edge where a path ends";
  return sum;
}

// Every path has the id that its edges add up to, every id its path, and there are no others.
inline void check_all_paths(const Reference& reference, const PathNumbering& paths) {
  std::vector<Path> all = reference.all_paths();
  ASSERT_EQ(all.size(), paths.path_count());
  std::set<PathId> ids;
  for (const Path& path : all) {
    PathId id = sum_along(paths, reference, path);
    ASSERT_TRUE(ids.insert(id).second) << "two paths with id " << id;
    auto segment = paths.decode(id);
    ASSERT_TRUE(segment.has_value());
    ASSERT_EQ(Path(segment->starts_at_entry, segment->ends_function, segment->pieces), path) << id;
  }
  ASSERT_LT(*ids.rbegin(), paths.path_count());
  ASSERT_EQ(paths.decode(paths.path_count()), std::nullopt);
  ASSERT_EQ(paths.decode(UINT64_MAX), std::nullopt);
}

// ---- oracle: the path register along a walk ----

struct Walk {
  std::vector<Piece> pieces;
  std::vector<PathId> ids;
  size_t written = 0;  // so many pieces are in the segments of `ids`
  bool finished = false;
};

inline Walk walk(const llvm::Function& function, const Numbered& n, const Reference& reference,
                 std::mt19937& random) {
  Walk w;
  uint64_t path_register = 0;
  auto go_to = [&](Piece p) {
    const PathNumbering::Edge* edge = n.paths.find_edge(w.pieces.back(), p);
    if (edge->cut) {
      w.ids.push_back(path_register + edge->end);
      w.written = w.pieces.size();
      path_register = edge->start;
    } else {
      path_register += edge->value;
    }
    w.pieces.push_back(p);
  };
  const llvm::BasicBlock* block = &function.getEntryBlock();
  w.pieces.push_back(n.paths.first_piece(n.flow.number(block)));
  while (w.pieces.size() < 400) {
    while (w.pieces.back() != reference.last_piece(block)) go_to(w.pieces.back() + 1);
    unsigned ways = block->getTerminator()->getNumSuccessors();
    if (ways == 0) {
      w.ids.push_back(path_register);
      w.written = w.pieces.size();
      w.finished = true;
      break;
    }
    block = block->getTerminator()->getSuccessor(random() % ways);
    go_to(n.paths.first_piece(n.flow.number(block)));
  }
  return w;
}

inline void check_walk(const PathNumbering& paths, const Walk& w) {
  std::vector<Piece> decoded;
  for (size_t i = 0; i < w.ids.size(); ++i) {
    auto segment = paths.decode(w.ids[i]);
    ASSERT_TRUE(segment.has_value()) << w.ids[i];
    ASSERT_EQ(segment->starts_at_entry, i == 0);
    ASSERT_EQ(segment->ends_function, w.finished && i + 1 == w.ids.size());
    decoded.insert(decoded.end(), segment->pieces.begin(), segment->pieces.end());
  }
  ASSERT_EQ(decoded, std::vector<Piece>(w.pieces.begin(), w.pieces.begin() + static_cast<long>(w.written)));
}

inline void check_all(const llvm::Function& function, uint64_t max_paths, uint32_t seed = 1) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", max_paths " << max_paths);
  Numbered n(function, max_paths);
  Reference reference(function, n);
  ASSERT_NO_FATAL_FAILURE(check_edges(reference, n.paths, max_paths));
  if (reference.total() < 3000) ASSERT_NO_FATAL_FAILURE(check_all_paths(reference, n.paths));
  std::mt19937 random(seed);
  for (int i = 0; i < 4; ++i) {
    ASSERT_NO_FATAL_FAILURE(check_walk(n.paths, walk(function, n, reference, random)));
  }
}

}  // namespace heddle::path_oracle
