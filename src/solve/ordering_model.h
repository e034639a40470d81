// What the ordering engine decides about, taken from a problem: moments, the order they have in any case, and
// for each read the writes that it may read from.
//
// Moments: each step of a thread is one (its events are carried out together). Under TSO and PSO each buffered
// write has one more, at which it becomes visible; a write's moment `visible` is that one, or that of its step
// if it is never in a buffer. One moment, `end`, is the end of the run: what comes after it is not carried out.
//
// Edges of the order: `a` before `b` means that b is carried out only after a. So what can never be carried out
// comes after the end, and if that must be carried out, the problem is impossible.
//
// Memory is cut into cells: the longest ranges that are always accessed as a whole.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "solve/chain_order.h"
#include "solve/problem.h"

namespace heddle {

inline constexpr uint32_t kInitial = std::numeric_limits<uint32_t>::max();  // as a write: what was there before

struct OrderingWrite {
  uint32_t thread = 0, event = 0;
  uint32_t first_cell = 0, cells = 0;
  Moment visible = 0;
  bool buffered = false;  // it has a moment of its own
};

struct OrderingCandidate {
  uint32_t write = kInitial;
  uint32_t variable = 0;  // "is read from here"
};

// One cell of what an event reads.
struct OrderingRead {
  uint32_t event = 0;  // in OrderingModel::read_events
  uint32_t cell = 0;
  uint32_t own = kInitial;  // the last write of the thread to the cell before it
  std::vector<OrderingCandidate> candidates;
};

// A count of a semaphore has no cells.
struct OrderingReadEvent {
  uint32_t thread = 0, event = 0;
  Moment moment = 0;
  uint32_t first = 0, count = 0;  // in OrderingModel::reads, by address
};

struct OrderingCell {
  uint64_t address = 0;
  uint32_t size = 0;
  struct Chain {
    uint32_t chain = 0;
    std::vector<uint32_t> places, writes;  // of what becomes visible in this chain, growing
  };
  std::vector<Chain> chains;
};

// What happens at a moment: a step's events, or a write becomes visible, or (at the end) nothing.
struct MomentContent {
  uint32_t thread = 0;
  uint32_t first_event = 0, behind = 0;
  uint32_t flushed = kInitial;  // this write, and no events
};

struct OrderingCase {
  // A guess that makes problems small. What lies further apart than so many moments of a thread, about, is
  // taken to have come in that order. 0: no guess. With one an answer is an answer, but that there is none says
  // nothing.
  uint32_t window = 0;
  // The run ends inside of a step, before this event. What comes before it in the step comes last of all.
  std::optional<EventRef> cut;
};

class OrderingModel {
 public:
  // Ends early if it is stopped, which is asked now and then; then it is not covered.
  OrderingModel(const Problem& problem, const OrderingCase& of, const std::function<bool()>& stopped);

  const Problem& problem() const { return *problem_; }
  const Event& event(uint32_t thread, uint32_t number) const {
    return problem_->trace->threads[thread].events[number];
  }
  Moment moment(uint32_t thread, uint32_t event) const { return moments_[thread][event]; }
  const OrderingWrite* write_of(uint32_t index) const { return index == kInitial ? nullptr : &writes[index]; }
  uint32_t write_number(uint32_t thread, uint32_t event) const { return write_of_[thread][event]; }
  // The read event, or none (kInitial).
  uint32_t read_event(uint32_t thread, uint32_t event) const { return read_event_of_[thread][event]; }

  static bool needs_empty_buffer(const Event& event);
  // From a read to a write that it may read from: small for the last one before it, large for later ones.
  uint64_t distance(const OrderingRead& read, uint32_t write) const;

  ChainOrder order;  // chains: of each thread, the end, then those of flushes
  Moment end = 0;
  std::vector<MomentContent> contents;  // by moment
  std::vector<OrderingCell> cells;
  std::vector<OrderingWrite> writes;
  std::vector<OrderingRead> reads;
  std::vector<OrderingReadEvent> read_events;
  // By moment: where it comes, about. An order with few switches, as if reads did not matter.
  std::vector<uint64_t> times;
  size_t candidates = 0;    // of all reads
  bool impossible = false;  // what must be carried out cannot be
  // Carried out last (OrderingCase::cut).
  std::optional<Moment> last_moment;
  std::string not_covered;  // why the engine cannot take this problem; empty: it can

 private:
  void make_moments();
  void make_flushes(uint32_t thread, std::vector<std::vector<uint32_t>>& chains);
  void order_flushes(uint32_t thread);
  void make_cells();
  void make_order();
  void add_edge(Moment before, Moment after) { edges_.push_back({before, after}); }
  void never(Moment moment) { add_edge(moment, moment); }
  void start_order();
  void add_window(uint32_t window);
  std::vector<bool> find_locks() const;
  void add_accesses();
  void add_candidates(const std::function<bool()>& stopped);
  void find_times();
  void find_candidates(OrderingRead& read);
  std::pair<uint32_t, uint32_t> cells_of(const Event& event) const;  // first, behind the last

  const Problem* problem_;
  std::optional<EventRef> cut_;
  std::vector<std::vector<Moment>> moments_;
  std::vector<std::vector<uint32_t>> read_event_of_, write_of_;
  std::vector<ChainOrder::MomentPair> edges_;
};

}  // namespace heddle
