// Ball-Larus path numbering (Ball and Larus, MICRO 1996) with CLAP's extension (CLAP section 5): function entry
// and exit, retreating edges and calls cut the run of a function into segments, each named by one number.
//
// The graph numbered here has *pieces* for nodes: a block is split after each cutting call, so that a segment
// ends where the callee's segments begin and the log of a thread stays in time order. A cut edge u->v is
// replaced, as Ball and Larus do with back edges, by u->EXIT and ENTRY->v.
//
// Cut edges: retreating edges; from a cutting call to the rest of its block, or, if it is the terminator
// (invoke), to all successors; into every successor of an indirectbr or callbr (their edges cannot carry code,
// so all edges into such a block are cut); after a call that may return twice (setjmp); and, where a function
// would have more paths than `max_paths`, all edges into as many pieces as are needed to stay below it.
//
// A block that the entry cannot reach is one piece without edges, which is in no segment and ends no function.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/InstrTypes.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "program/control_flow.h"

namespace heddle {

using PathId = uint64_t;

struct PathOptions {
  // Does a segment end at this call? None does when null. Not asked for calls that may return twice, which
  // always cut; nor for intrinsics, which never do; nor for musttail calls, behind which there is no place for
  // code: they belong to the end of the function, so the last id must be written before them. Called only
  // while numbering. Say yes to calls that may not come back (exceptions without a handler here, longjmp,
  // exit): a segment that such a call leaves in the middle is lost.
  llvm::function_ref<bool(const llvm::CallBase&)> cuts;
  // Guaranteed: path_count() <= max(max_paths, reachable pieces). The second bound is what is left when every
  // piece with several ways in starts a segment: then a piece is the end of at most one path.
  uint64_t max_paths = uint64_t{1} << 63;
};

class PathNumbering {
 public:
  using Piece = uint32_t;

  PathNumbering(const ControlFlow& flow, const PathOptions& options);

  // ---- the pieces: numbered by block, then by position in the block ----
  size_t piece_count() const { return pieces_.size(); }
  uint32_t block_of(Piece p) const { return pieces_[p].block; }
  Piece first_piece(uint32_t block) const { return first_piece_[block]; }
  // The call that ends this piece inside its block; null for the last piece of a block.
  const llvm::CallBase* cutting_call(Piece p) const { return pieces_[p].call; }
  // The terminator of the block, if this is its last piece and the terminator is a cutting call (invoke,
  // callbr).
  const llvm::CallBase* cutting_terminator(Piece p) const { return pieces_[p].terminator; }

  // ---- the numbers ----
  uint64_t path_count() const { return path_count_; }  // ids are 0 .. path_count()-1, all of them used
  bool split_for_size() const { return split_for_size_; }

  struct Edge {
    Piece from, to;
    bool cut = false;
    uint64_t value = 0;  // ordinary edge: what it adds to the path register
    uint64_t end =
        0;  // cut edge: the segment's id is register + end (the same for all cut edges of `from`) ...
    uint64_t start = 0;  // ... and the register becomes `start` (the same for all cut edges into `to`)
  };
  // By `from`; those of one piece: ordinary edges before cut ones, each by `to`.
  const std::vector<Edge>& edges() const { return edges_; }
  const Edge* find_edge(Piece from, Piece to) const;  // null if there is none
  // Register at function entry is 0. At a piece where the function ends (return, resume, unreachable) the
  // segment's id is the register as it is. Known hole: a catchswitch that unwinds to the caller (exceptions on
  // Windows) is not seen as an end.
  bool ends_function(Piece p) const { return pieces_[p].exits; }

  struct Segment {
    std::vector<Piece> pieces;
    bool starts_at_entry = false;  // else it starts behind a cut edge
    bool ends_function = false;    // else it ends at a cut edge out of its last piece
  };
  // Null for an id that no path has. O(length * log(out-degree)).
  std::optional<Segment> decode(PathId id) const;

 private:
  class Builder;
  struct PieceInfo {
    uint32_t block;
    const llvm::CallBase* call = nullptr;
    const llvm::CallBase* terminator = nullptr;
    bool exits = false;
    uint32_t first_edge = 0, first_cut = 0, last_edge = 0;  // in edges_; last_edge is behind the last
  };
  struct Start {
    uint64_t value;
    Piece piece;
  };
  std::vector<PieceInfo> pieces_;
  std::vector<Piece> first_piece_;
  std::vector<Edge> edges_;
  std::vector<Start> starts_;  // the out-edges of ENTRY, by value; the function's entry is the first
  uint64_t path_count_ = 0;
  bool split_for_size_ = false;
};

}  // namespace heddle
