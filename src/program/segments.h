// Numbers for the ways through a function, as the record variant writes them: Ball-Larus (MICRO 1996) with
// CLAP's extension (CLAP section 5), and three departures that make the log small and the recording cheap (D4).
//
// As in path_numbering.h the nodes are *pieces*: a block is split after each call at which a segment must end,
// so that what the callee writes comes next in the log. The run of a function is a chain of segments; each
// begins at a *start* (the entry, or the piece behind a cut edge) and ends with a cut edge, or with the
// function. Departures:
//
// 1. Who follows the path knows where each segment starts, so numbers are relative to the start:
//    0 .. count(start) - 1. A segment with one way only needs no bits.
// 2. The number is written as soon as it is decided, on the edge where the count of ways ahead falls to 1, not
//    at the end of the segment. So starts from which nothing is undecided cost nothing, also where their ways
//    join others.
// 3. A branch whose outcome the reader can compute (`known`) adds no numbers: it counts as the largest of its
//    successors instead of their sum, its edges have the value 0, and the reader is told the successor.
//
// And *counted loops*: the likely way around an innermost loop (counted_loops.h says which). In a counted loop
// each piece has one successor, or a known choice of several, so that it goes round from the header to the
// header; no piece of it ends with a cut, and at least one unknown branch can leave it. To follow it is one
// step: how often it came to the header again (rounds: a bit for each, which costs no more than to count them),
// and, on leaving it, by which edge it was left. So start, rounds and exit name exactly one way. All other
// edges from its pieces are exits, also those to other blocks of the loop and those to other pieces of the way;
// all other edges to its pieces enter it, also in its middle; and all these edges are cut. The function's entry
// has no edge to it and is in no loop.
//
// The number of bits that a segment writes must follow from its start alone, but ways of several starts join.
// So starts whose ways share an edge with a write form a group, and all of a group write the same number of
// bits.
//
// Cut edges: retreating edges (but those inside counted loops, which are inside their step); into and out of
// counted loops; from a cutting call to the rest of its block; from every invoke to its successors; into every
// successor of an indirectbr or callbr (their edges carry no code, so all edges into such a block are cut);
// behind a call that may return twice; and where a function would have more than `max_ways` ways from one
// start, all edges into as many pieces as are needed to stay below it. Cut edges out of one piece are told
// apart by their own numbers, with two exceptions: of an invoke the data stream says whether it landed, and
// successors of indirectbr and callbr are *announced*: the block writes its own index first thing, whichever
// edge led to it.
//
// A block that the entry cannot reach is one piece without edges, which is in no segment and ends no function.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/InstrTypes.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "program/control_flow.h"

namespace heddle {

struct SegmentOptions {
  // Does a segment end at this call? Not asked for calls that may return twice, which always cut, for
  // intrinsics, which never do, nor for musttail calls, which belong to the end of the function.
  llvm::function_ref<bool(const llvm::CallBase&)> cuts;
  // Can the reader compute where this block's terminator (br, switch) goes? None when null.
  llvm::function_ref<bool(const llvm::BasicBlock&)> known;
  bool counted_loops = true;
  // CLAP as published, the baseline: the number of every segment is written at its end (on cut edges, and where
  // the function ends: end_bits), in whole bytes, also where there is one way only. No departure but the first.
  bool plain = false;
  uint64_t max_ways = uint64_t{1} << 24;  // so at most 24 bits are written at a time
};

class Segments {
 public:
  using Piece = uint32_t;

  Segments(const ControlFlow& flow, const SegmentOptions& options);

  // ---- the pieces: numbered by block, then by position in the block
  size_t piece_count() const { return pieces_.size(); }
  uint32_t block_of(Piece p) const { return pieces_[p].block; }
  Piece first_piece(uint32_t block) const { return first_piece_[block]; }
  Piece last_piece(uint32_t block) const {
    return (block + 1 < first_piece_.size() ? first_piece_[block + 1] : static_cast<Piece>(pieces_.size())) - 1;
  }
  // The call that ends this piece inside its block, or null.
  const llvm::CallBase* cutting_call(Piece p) const { return pieces_[p].call; }
  // Invoke or callbr, of the block's last piece, or null.
  const llvm::CallBase* cutting_terminator(Piece p) const { return pieces_[p].terminator; }
  // The terminator's outcome is computed by the reader.
  bool known(Piece p) const { return pieces_[p].known; }
  bool ends_function(Piece p) const { return pieces_[p].exits; }  // return, resume, unreachable

  // ---- what instrumentation does on edges
  struct Edge {
    Piece from, to;
    bool cut = false;
    uint64_t value = 0;  // what it adds to the number; of a cut edge too
    // The number (state.path + value, or value alone where `fresh`) is written here, with so many bits; 0:
    // nothing is.
    unsigned bits = 0;
    // No edge before this one in its segment has a value: the number so far is 0, whatever state.path holds.
    // The same for all edges of a piece, so of a thread that stopped in a piece, whose number is not written
    // yet, it is known whether the number so far is 0 or state.path.
    bool fresh = false;
    // Of a counted loop: written here are the bit 1, which ends the rounds, then `exit` with `exit_bits` bits.
    bool leaves_loop = false;
    uint32_t exit = 0;
    unsigned exit_bits = 0;
    bool enters_loop = false;  // an edge can leave a loop and enter it, or another
    bool next_round = false;   // the bit 0 is written: to the header, inside
  };
  // Sorted by (from, to). An edge with `value` != 0 and no `bits` adds to state.path; if `fresh`, it sets it.
  const std::vector<Edge>& edges() const { return edges_; }
  const Edge* find_edge(Piece from, Piece to) const;  // null if there is none
  llvm::ArrayRef<Edge> edges_from(Piece p) const {
    return llvm::ArrayRef(edges_).slice(pieces_[p].first_edge, pieces_[p].last_edge - pieces_[p].first_edge);
  }
  // Plain numbering only: bits of state.path that are written where the function ends; else 0.
  unsigned end_bits(Piece p) const { return pieces_[p].end_bits; }
  // At starts of which this is true, state.path must be set to 0: edges that are not fresh follow.
  bool clears_path(Piece start) const { return pieces_[start].clears_path; }

  struct CountedLoop {
    Piece header;
    std::vector<Piece> pieces;  // ascending, with the header
  };
  const std::vector<CountedLoop>& counted_loops() const { return loops_; }
  const CountedLoop* counted_loop_of(Piece p) const;  // null if it is in none

  // Index that an announced piece writes when it is entered, with announce_bits() bits (at least 1); none for
  // others.
  std::optional<uint32_t> announces(Piece p) const;
  unsigned announce_bits() const;
  std::optional<Piece> announced(uint32_t index) const;

  bool silent() const { return silent_; }  // nothing is ever written
  // Ways from here to the end of the segment.
  uint64_t count(Piece p) const { return pieces_[p].count; }

  // ---- reading: at a start, read `bits(start)` bits, then step until a cut edge or the end of the function.
  // At a start in a counted loop read rounds and exit instead (exit_bits(loop)); its pieces are followed by the
  // choice of known branches, else by `inside`, to the exit's piece after so many edges with next_round.
  unsigned bits(Piece start) const { return pieces_[start].bits; }
  struct Step {
    enum class Kind { ordinary, cut, ends, ask } kind;
    Piece to = 0;       // ordinary and cut
    uint64_t rest = 0;  // ordinary
  };
  // Where a segment whose number has `rest` left goes from `p`. `ask`: the caller finds out the successor, by
  // computing it (known branch), from the data stream (invoke) or by reading an announcement (indirectbr,
  // callbr), and calls step_to. None if no way has this number (damaged log), and from pieces of counted loops,
  // which have no number.
  std::optional<Step> step(Piece p, uint64_t rest) const;
  std::optional<Step> step_to(Piece p, uint32_t successor_block, uint64_t rest) const;
  // Inside a counted loop: where it goes on from `p`; none if the branch is known (ask): then edges that are
  // not cut stay inside.
  std::optional<Piece> inside(const CountedLoop& loop, Piece p) const;
  struct LoopExit {
    Piece from, to;
  };
  std::optional<LoopExit> loop_exit(const CountedLoop& loop, uint32_t exit) const;
  unsigned exit_bits(const CountedLoop& loop) const;

 private:
  class Builder;
  static constexpr uint32_t none = UINT32_MAX;
  struct PieceInfo {
    uint32_t block;
    const llvm::CallBase* call = nullptr;
    const llvm::CallBase* terminator = nullptr;
    bool exits = false;
    bool known = false;
    bool told_apart_elsewhere = false;  // not by numbers: the successors of invoke, indirectbr, callbr
    bool clears_path = false;
    uint32_t announced = none;               // index in announced_
    uint32_t loop = none;                    // index in loops_
    Piece inside = none;                     // the next of a counted loop
    uint32_t first_edge = 0, last_edge = 0;  // in edges_; last_edge is behind the last
    uint64_t count = 0;
    unsigned bits = 0;
    unsigned end_bits = 0;

    bool asks() const { return known || told_apart_elsewhere; }
  };
  uint64_t ways(const Edge& edge) const;  // along it, to the end of the segment
  std::optional<Step> take(const Edge& edge, uint64_t rest) const;

  std::vector<PieceInfo> pieces_;
  std::vector<Piece> first_piece_;  // by block
  std::vector<Edge> edges_;
  std::vector<uint32_t> by_value_;  // indexes of edges_, those of one piece by value
  std::vector<CountedLoop> loops_;
  std::vector<std::vector<LoopExit>> exits_;  // by loop
  std::vector<Piece> announced_;
  bool silent_ = true;
};

}  // namespace heddle
