// The constraints of MCR for Z3. An event of the interleaving has a number; a write has another one, which says
// when it becomes visible. Under SC the two are the same.
#include <algorithm>

#include "explore/leaving.h"
#include "smt/smt_solver.h"

namespace heddle {
namespace {

class LeavingFormula {
 public:
  explicit LeavingFormula(const RunEvents& run) : run_(run) {
    for (size_t i = 0; i < run.events.size(); ++i) {
      happens_.push_back(solver_.truth_variable("happens"));
      when_.push_back(solver_.number_variable("when"));
      const bool buffers = run.model != MemoryModel::sc && run.events[i].kind == RunEvent::Kind::writes;
      visible_.push_back(buffers ? solver_.number_variable("visible") : when_.back());
      if (buffers) solver_.require(solver_.less(when_[i], visible_[i]));
    }
    for (size_t i = 0; i < run.events.size(); ++i) {
      if (i > 0 && run.events[i].thread == run.events[i - 1].thread) needs(i, i - 1);
      order_visibility(i);
    }
    for (const auto& [first, second] : run.joins) needs(second, first);
    for (size_t i = 0; i < run.events.size(); ++i)
      for (size_t j = i + 1; j < run.events.size(); ++j) order_sections(i, j);
    if (!run.values_are_fixed) return;
    for (size_t i = 0; i < run.events.size(); ++i) {
      goes_on_.push_back(solver_.truth_variable("goes on"));
      if (run.events[i].is_read())
        solver_.require(solver_.implies(solver_.all({happens_[i], goes_on_[i]}), reads(i, true)));
    }
  }

  bool may_leave(size_t read) {
    std::vector<SmtTerm> assumed = {happens_[read], reads(read, false)};
    // It is the last event of its thread, and need not return what it did.
    for (size_t i = 0; i < run_.events.size(); ++i) {
      if (i == read + 1 && run_.events[i].thread == run_.events[read].thread)
        assumed.push_back(solver_.no(happens_[i]));
      if (run_.values_are_fixed && i != read) assumed.push_back(goes_on_[i]);
    }
    return solver_.check(assumed, [] { return false; }) != SmtSolver::Answer::unsatisfiable;
  }

 private:
  void needs(size_t event, size_t before) {
    solver_.require(solver_.implies(
        happens_[event], solver_.all({happens_[before], solver_.less(when_[before], when_[event])})));
  }

  // Of the thread's earlier stores: which become visible before the event, or before it becomes visible.
  void order_visibility(size_t event) {
    const RunEvent& later = run_.events[event];
    for (size_t i = event; i-- > 0 && run_.events[i].thread == later.thread;) {
      const RunEvent& earlier = run_.events[i];
      if (!earlier.is_write()) continue;
      const bool drains = later.kind != RunEvent::Kind::reads && later.kind != RunEvent::Kind::writes &&
                          later.kind != RunEvent::Kind::other;
      const bool in_order = later.is_write() && (run_.model == MemoryModel::tso || earlier.overlaps(later));
      if (drains) solver_.require(solver_.implies(happens_[event], solver_.less(visible_[i], when_[event])));
      if (in_order) solver_.require(solver_.less(visible_[i], visible_[event]));
    }
  }

  void order_sections(size_t left, size_t right) {
    const RunEvent &one = run_.events[left], &other = run_.events[right];
    if (one.kind != RunEvent::Kind::locks || other.kind != RunEvent::Kind::locks ||
        one.address != other.address)
      return;
    const auto first = [&](size_t lock, size_t next) {
      const size_t unlock = run_.unlock_of[lock];
      return solver_.all({happens_[unlock], solver_.less(when_[unlock], when_[next])});
    };
    solver_.require(solver_.implies(solver_.all({happens_[left], happens_[right]}),
                                    solver_.any({first(left, right), first(right, left)})));
  }

  // The read returns what it did, or something else.
  SmtTerm reads(size_t read, bool same) {
    const RunEvent& event = run_.events[read];
    std::vector<SmtTerm> ways;
    if (!event.initial || (*event.initial == event.in) == same) ways.push_back(takes_from(read, SIZE_MAX));
    for (size_t i = 0; i < run_.events.size(); ++i) {
      const RunEvent& writes = run_.events[i];
      if (i == read || !writes.is_write() || !writes.overlaps(event)) continue;
      if (!writes.is_same_place(event) || (writes.out == event.in) == same) ways.push_back(takes_from(read, i));
    }
    return solver_.any(ways);
  }

  SmtTerm takes_from(size_t read, size_t source) {
    const RunEvent& event = run_.events[read];
    const auto is_own = [&](size_t write) { return run_.events[write].thread == event.thread && write < read; };
    std::vector<SmtTerm> from_memory, from_buffer;
    if (source != SIZE_MAX) from_memory = {happens_[source], solver_.less(visible_[source], when_[read])};
    for (size_t i = 0; i < run_.events.size(); ++i) {
      if (i == read || i == source || !run_.events[i].is_write() || !run_.events[i].overlaps(event)) continue;
      std::vector<SmtTerm> out_of_the_way = {solver_.no(happens_[i])};
      // Its own stores that are still in the buffer would be read.
      if (!is_own(i)) out_of_the_way.push_back(solver_.less(when_[read], visible_[i]));
      if (source != SIZE_MAX) out_of_the_way.push_back(solver_.less(visible_[i], visible_[source]));
      from_memory.push_back(solver_.any(out_of_the_way));
    }
    if (source == SIZE_MAX || !is_own(source) || run_.model == MemoryModel::sc) return solver_.all(from_memory);
    for (size_t i = source + 1; i < read; ++i)
      if (run_.events[i].is_write() && run_.events[i].overlaps(event)) return solver_.all(from_memory);
    return solver_.any({solver_.all(from_memory), solver_.less(when_[read], visible_[source])});
  }

  const RunEvents& run_;
  SmtSolver solver_;
  std::vector<SmtTerm> happens_, when_, visible_, goes_on_;
};

}  // namespace

std::vector<bool> may_leave_by_smt(const RunEvents& run, LeavingCounts& counts) {
  std::vector<bool> out(run.events.size());
  LeavingFormula formula(run);
  for (size_t read = 0; read < run.events.size(); ++read) {
    if (!run.events[read].is_read()) continue;
    ++counts.asked;
    out[read] = formula.may_leave(read);
    counts.refuted += !out[read];
  }
  return out;
}

}  // namespace heddle
