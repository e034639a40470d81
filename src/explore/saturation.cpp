#include <algorithm>

#include "explore/leaving.h"

namespace heddle {
namespace {

constexpr size_t kInitial = SIZE_MAX;  // memory as it was, as a source

// What has to come before what; a cycle makes it impossible.
class SaturatedOrder {
 public:
  explicit SaturatedOrder(const RunEvents& run) : run_(run), words_((run.events.size() + 63) / 64) {
    before_.resize(run.events.size() * words_);
    for (size_t i = 1; i < run.events.size(); ++i)
      if (run.events[i].thread == run.events[i - 1].thread) add(i - 1, i);
    for (const auto& [first, second] : run.joins) add(first, second);
  }

  bool is_before(size_t left, size_t right) const {
    return (before_[right * words_ + left / 64] >> left % 64 & 1) != 0;
  }
  bool is_possible() const { return is_possible_; }

  // Whether that is new.
  bool add(size_t first, size_t second) {
    if (!is_possible_ || is_before(first, second)) return false;
    if (first == second || is_before(second, first)) {
      is_possible_ = false;
      return true;
    }
    std::vector<uint64_t> more(before_.begin() + static_cast<ptrdiff_t>(first * words_),
                               before_.begin() + static_cast<ptrdiff_t>((first + 1) * words_));
    more[first / 64] |= uint64_t{1} << first % 64;
    for (size_t each = 0; each < run_.events.size(); ++each) {
      if (each != second && !is_before(second, each)) continue;
      for (size_t word = 0; word < words_; ++word) before_[each * words_ + word] |= more[word];
    }
    return true;
  }

 private:
  const RunEvents& run_;
  size_t words_;
  std::vector<uint64_t> before_;  // of each event a set of events
  bool is_possible_ = true;
};

class SourceQuestion {
 public:
  SourceQuestion(const RunEvents& run, SaturatedOrder order, size_t read, size_t source)
      : run_(run), order_(std::move(order)), read_(read), source_(source) {}

  bool is_refuted() {
    if (!is_source(read_, source_)) return true;
    if (source_ == kInitial || run_.events[source_].thread == run_.events[read_].thread) {
      if (run_.model != MemoryModel::sc || !run_.values_are_fixed) return false;
    } else if (is_overwritten_in_section()) {
      return true;
    }
    // Of store buffers only what was said is known: when a store becomes visible does not follow from the order
    // of events.
    if (run_.model != MemoryModel::sc || !run_.values_are_fixed) return false;
    take_from(read_, source_);
    for (bool more = true; more && order_.is_possible();) {
      more = false;
      for (size_t each = 0; each < run_.events.size() && order_.is_possible(); ++each) {
        if (!is_needed(each)) continue;
        if (run_.events[each].kind == RunEvent::Kind::locks) more |= order_sections(each);
        if (run_.events[each].is_read()) more |= order_sources(each);
      }
    }
    return !order_.is_possible();
  }

 private:
  bool is_needed(size_t event) const {
    return event != read_ && (order_.is_before(event, read_) || event == source_);
  }

  // May the read take its value from there, as far as the order says?
  bool is_source(size_t read, size_t source) const {
    const RunEvent& reads = run_.events[read];
    if (source != kInitial && order_.is_before(read, source)) return false;
    for (size_t other = 0; other < run_.events.size(); ++other) {
      const RunEvent& writes = run_.events[other];
      if (other == source || other == read || !writes.is_write() || !writes.is_same_place(reads)) continue;
      if (order_.is_before(other, read) && (source == kInitial || order_.is_before(source, other)))
        return false;
    }
    return true;
  }

  // Both are in sections of one mutex: the source's is over then, and had another write.
  bool is_overwritten_in_section() const {
    const RunEvent &reads = run_.events[read_], &writes = run_.events[source_];
    if (!reads.lock || !writes.lock || run_.events[*reads.lock].address != run_.events[*writes.lock].address)
      return false;
    for (size_t each = source_ + 1; each < run_.unlock_of[*writes.lock]; ++each)
      if (run_.events[each].is_write() && run_.events[each].is_same_place(writes)) return true;
    return false;
  }

  bool take_from(size_t read, size_t source) {
    bool more = source != kInitial && order_.add(source, read);
    for (size_t other = 0; other < run_.events.size() && order_.is_possible(); ++other) {
      const RunEvent& writes = run_.events[other];
      if (other == source || other == read || !writes.is_write() || !writes.is_same_place(run_.events[read]))
        continue;
      if (source == kInitial || order_.is_before(source, other))
        more |= order_.add(read, other);
      else if (order_.is_before(other, read))
        more |= order_.add(other, source);
    }
    return more;
  }

  // A read that has to come before, and to return what it did.
  bool order_sources(size_t read) {
    const RunEvent& reads = run_.events[read];
    size_t found = 0, last = kInitial;
    if (!reads.initial) return false;  // nobody knows what is there
    if (*reads.initial == reads.in && is_source(read, kInitial)) found = 1;
    for (size_t each = 0; each < run_.events.size() && found < 2; ++each) {
      const RunEvent& writes = run_.events[each];
      if (each == read || !writes.is_write() || !writes.overlaps(reads)) continue;
      if (!writes.is_same_place(reads)) return false;
      if (writes.out != reads.in || !is_source(read, each)) continue;
      ++found;
      last = each;
    }
    if (found == 0) return order_.add(read, read);
    return found == 1 && take_from(read, last);
  }

  // Sections of one mutex come one after the other.
  bool order_sections(size_t lock) {
    bool more = false;
    for (size_t other = 0; other < run_.events.size() && order_.is_possible(); ++other) {
      const RunEvent& event = run_.events[other];
      if (other == lock || event.kind != RunEvent::Kind::locks || event.address != run_.events[lock].address ||
          event.thread == run_.events[lock].thread)
        continue;
      if (order_.is_before(other, lock)) more |= order_.add(run_.unlock_of[other], lock);
    }
    return more;
  }

  const RunEvents& run_;
  SaturatedOrder order_;
  size_t read_, source_;
};

}  // namespace

std::vector<bool> may_leave_by_saturation(const RunEvents& run, LeavingCounts& counts) {
  const SaturatedOrder order(run);
  std::vector<bool> out(run.events.size());
  for (size_t read = 0; read < run.events.size(); ++read) {
    const RunEvent& reads = run.events[read];
    if (!reads.is_read()) continue;
    const auto ask = [&](size_t source) {
      ++counts.asked;
      if (SourceQuestion(run, order, read, source).is_refuted())
        ++counts.refuted;
      else
        out[read] = true;
    };
    if (!reads.initial)
      out[read] = true;
    else if (*reads.initial != reads.in)
      ask(kInitial);
    for (size_t source = 0; source < run.events.size() && !out[read]; ++source) {
      const RunEvent& writes = run.events[source];
      if (source == read || !writes.is_write() || !writes.overlaps(reads)) continue;
      if (!writes.is_same_place(reads))
        out[read] = true;
      else if (writes.out != reads.in)
        ask(source);
    }
  }
  return out;
}

}  // namespace heddle
