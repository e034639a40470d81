// Of SmtEncoding: what is read, and when writes become visible (Φrw and Φmo).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "solve/smt_encoding.h"

namespace heddle {
namespace {

constexpr uint64_t kLargestObject = 4096;  // that a symbolic address may point into: each byte is a piece

}  // namespace

void SmtEncoding::find_pieces() {
  std::set<uint64_t> ends;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const ThreadTrace& thread : problem_.trace->threads)
    for (const Event& event : thread.events) {
      if (!is_access(event.kind)) continue;
      ranges.push_back({event.address, event.address + event.size});
      if (!event.address_expression) continue;
      if (event.object_size == 0 || event.object_size > kLargestObject) {
        refusal_ = fmt::format("an address of thread {} may be anywhere", thread.name);
        return;
      }
      for (uint64_t i = 0; i < event.object_size; ++i)
        ranges.push_back({event.object + i, event.object + i + 1});
      for (uint64_t i = 0; i < event.size; ++i) ranges.push_back({event.address + i, event.address + i + 1});
    }
  for (const auto& [begin, end] : ranges) {
    ends.insert(begin);
    ends.insert(end);
  }
  for (auto at = ends.begin(); at != ends.end() && std::next(at) != ends.end(); ++at) {
    const bool used = std::ranges::any_of(
        ranges, [&](const auto& range) { return range.first <= *at && *at < range.second; });
    if (used) pieces_.push_back({.address = *at, .size = static_cast<uint32_t>(*std::next(at) - *at)});
  }
}

// Those that it may touch.
std::vector<size_t> SmtEncoding::pieces_of(EventRef ref) const {
  const Event& accessed = event(ref);
  std::vector<size_t> out;
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const uint64_t at = pieces_[i].address;
    const bool in_object = accessed.address_expression && at - accessed.object < accessed.object_size;
    if (in_object || at - accessed.address < accessed.size) out.push_back(i);
  }
  return out;
}

SmtTerm SmtEncoding::address_of(EventRef ref) {
  const Event& accessed = event(ref);
  const SmtTerm recorded = solver_.bits(std::array{accessed.address}, 64);
  if (!accessed.address_expression) return recorded;
  const Value value = expression(ref.thread, accessed.address_expression);
  return solver_.choose(value.certain, value.bits, recorded);
}

SmtTerm SmtEncoding::touches(EventRef ref, size_t piece) {
  const Event& accessed = event(ref);
  if (!accessed.address_expression) return solver_.truth(true);
  const SmtTerm offset = solver_.minus(solver_.bits(std::array{pieces_[piece].address}, 64), address_of(ref));
  return solver_.at_most_unsigned(offset, solver_.bits(std::array<uint64_t, 1>{accessed.size - 1}, 64));
}

SmtEncoding::Value SmtEncoding::written(EventRef ref, size_t piece) {
  const Event& accessed = event(ref);
  const Value value = expression(ref.thread, accessed.value);
  const Piece& at = pieces_[piece];
  if (!accessed.address_expression) {
    const auto offset = static_cast<unsigned>(at.address - accessed.address);
    return {.bits = solver_.extract(value.bits, offset * 8, at.size * 8), .certain = value.certain};
  }
  SmtTerm bits = solver_.extract(value.bits, 0, 8);
  for (uint32_t i = 1; i < accessed.size; ++i) {
    const SmtTerm here = solver_.equal(address_of(ref), solver_.bits(std::array{at.address - i}, 64));
    bits = solver_.choose(here, solver_.extract(value.bits, i * 8, 8), bits);
  }
  return {.bits = bits, .certain = value.certain};
}

SmtEncoding::Value SmtEncoding::memory_before(size_t piece) {
  const Piece& at = pieces_[piece];
  std::vector<uint64_t> words(words_of(at.size * 8));
  for (uint32_t i = 0; i < at.size; ++i) {
    const auto byte = problem_.trace->initial.find(at.address + i);
    if (byte != problem_.trace->initial.end()) words[i / 8] |= uint64_t{byte->second} << i % 8 * 8;
  }
  return {.bits = solver_.bits(words, at.size * 8), .certain = solver_.truth(true)};
}

// ---- Φmo of flushes

// Whether two writes touch the same memory.
SmtTerm SmtEncoding::overlap(EventRef a, EventRef b) {
  std::vector<SmtTerm> same;
  const std::vector<size_t> pieces = pieces_of(b);
  for (const size_t piece : pieces_of(a))
    if (std::ranges::find(pieces, piece) != pieces.end())
      same.push_back(solver_.all({touches(a, piece), touches(b, piece)}));
  return solver_.any(same);
}

void SmtEncoding::encode_flushes() {
  for (const auto& [write, flush] : flushes_) {
    solver_.require(solver_.implies(flush.done, moment(write).done));
    solver_.require(is_before(moment(write), flush));
  }
  for (uint32_t t = 0; t < threads(); ++t)
    for (uint32_t e = 0; e < events(t).size(); ++e)
      for (uint32_t older = 0; older < e; ++older) {
        const auto before = flushes_.find({t, older});
        if (before == flushes_.end()) continue;
        const Moment& flush = before->second;
        if (needs_empty_buffer(events(t)[e]))
          solver_.require(solver_.implies(moment({t, e}).done,
                                          solver_.all({flush.done, is_before(flush, moment({t, e}))})));
      }
}

void SmtEncoding::encode_flush_order() {
  for (const auto& [write, flush] : flushes_)
    for (const auto& [older, older_flush] : flushes_) {
      if (older.thread != write.thread || older.event >= write.event) continue;
      bool in_order = problem_.model == MemoryModel::tso || releases(event(write).order);
      for (uint32_t e = older.event + 1; e < write.event; ++e) {
        const Event& between = events(write.thread)[e];
        in_order |= between.kind == EventKind::fence && releases(between.order);
      }
      const SmtTerm waits = in_order ? flush.done : solver_.all({flush.done, overlap(older, write)});
      solver_.require(solver_.implies(waits, solver_.all({older_flush.done, is_before(older_flush, flush)})));
    }
}

// ---- Φrw

// Those that a read may see, by program order: not the thread's own later ones, nor those that an own write to
// the same memory has overwritten (if that is where it always is, and not in a buffer).
std::vector<SmtEncoding::Write> SmtEncoding::candidates(EventRef ref, const std::vector<Write>& writes) const {
  std::vector<Write> out;
  for (const Write& write : writes) {
    const bool own = write.event.thread == ref.thread;
    if (own && write.event.event >= ref.event) continue;
    const bool overwrites = own && !is_buffered(write.event) && !event(write.event).address_expression;
    if (overwrites) std::erase_if(out, [&](const Write& older) { return older.event.thread == ref.thread; });
    out.push_back(write);
  }
  return out;
}

// Facts order what is carried out, so they say when a write becomes visible only if that is when it is carried
// out; and which memory it touches must be known.
bool SmtEncoding::is_known_before(EventRef a, EventRef b) const {
  return !is_buffered(a) && !is_buffered(b) && known_.is_before(a, b);
}

// Writes that come after the read, and those that another one overwrites before it, are not read.
void SmtEncoding::drop_overwritten(EventRef ref, std::vector<Write>& writes) const {
  std::vector<Write> out;
  for (const Write& write : writes) {
    const bool later = is_known_before(ref, write.event);
    const bool overwritten = std::ranges::any_of(next_on_each(writes, write.event),
                                                 [&](EventRef other) { return is_known_before(other, ref); });
    if (!later && !overwritten) out.push_back(write);
  }
  writes = std::move(out);
}

// Of each thread the first write that is known to come behind.
std::vector<EventRef> SmtEncoding::next_on_each(const std::vector<Write>& writes, EventRef after) const {
  std::vector<EventRef> out;  // writes of a thread are in program order
  std::vector<bool> has(threads());
  for (const Write& write : writes) {
    if (has[write.event.thread] || event(write.event).address_expression ||
        !is_known_before(after, write.event))
      continue;
    has[write.event.thread] = true;
    out.push_back(write.event);
  }
  return out;
}

// A write is read, so another one must not come between (algorithm 12). That is so already if it is known to
// come before; and if it comes behind one that comes behind the one that is read, it is enough to keep that one
// out.
bool SmtEncoding::follows_by_facts(EventRef read, const std::vector<EventRef>& next, EventRef other) const {
  return is_known_before(other, read) || std::ranges::any_of(next, [&](EventRef between) {
           return between != other && is_known_before(between, other);
         });
}

SmtEncoding::Value SmtEncoding::read_piece(EventRef ref, size_t piece, const std::vector<Write>& writes) {
  const unsigned width = pieces_[piece].size * 8;
  const std::string name = fmt::format("{}.{}.{}", ref.thread, ref.event, pieces_[piece].address);
  const Value value{.bits = solver_.bits_variable("read." + name, width),
                    .certain = solver_.truth_variable("certain." + name)};
  const Moment& read = moment(ref);
  const auto is = [&](const Value& other) {
    return solver_.all({solver_.equal(value.bits, other.bits), solver_.equal(value.certain, other.certain)});
  };
  // The thread's own youngest write that is still in its buffer.
  SmtTerm none_in_buffer = solver_.truth(true);
  std::vector<SmtTerm> in_memory;
  for (const Write& write : writes)
    in_memory.push_back(
        solver_.all({write.moment.done, is_before(write.moment, read), touches(write.event, piece)}));
  for (auto write = writes.rbegin(); write != writes.rend(); ++write) {
    if (write->event.thread != ref.thread || write->event.event >= ref.event || !is_buffered(write->event))
      continue;
    const SmtTerm buffered =
        solver_.all({touches(write->event, piece),
                     solver_.any({solver_.no(write->moment.done), is_before(read, write->moment)})});
    solver_.require(
        solver_.implies(solver_.all({read.done, none_in_buffer, buffered}), is(written(write->event, piece))));
    none_in_buffer = solver_.all({none_in_buffer, solver_.no(buffered)});
  }
  // Else the last that is in memory.
  const SmtTerm from_memory = solver_.all({read.done, none_in_buffer});
  for (size_t i = 0; i < writes.size(); ++i) {
    std::vector<SmtTerm> last = {from_memory, in_memory[i]};
    const std::vector<EventRef> next = next_on_each(writes, writes[i].event);
    for (size_t k = 0; k < writes.size(); ++k) {
      if (k == i || follows_by_facts(writes[i].event, next, writes[k].event)) continue;
      last.push_back(solver_.any({solver_.no(in_memory[k]), is_before(writes[k].moment, writes[i].moment)}));
    }
    solver_.require(solver_.implies(solver_.all(last), is(written(writes[i].event, piece))));
  }
  const SmtTerm untouched = solver_.all({from_memory, solver_.no(solver_.any(in_memory))});
  solver_.require(solver_.implies(untouched, is(memory_before(piece))));
  return value;
}

// What a read's value is made of, before anything is said about it: values of writes depend on those of reads.
void SmtEncoding::make_read(EventRef ref) {
  const Event& accessed = event(ref);
  const std::string name = fmt::format("{}.{}", ref.thread, ref.event);
  reads_[ref.thread][ref.event] = Value{.bits = solver_.bits_variable("value." + name, accessed.size * 8),
                                        .certain = solver_.truth_variable("certain." + name)};
}

void SmtEncoding::encode_read(EventRef ref, const std::map<size_t, std::vector<Write>>& writes) {
  const Event& accessed = event(ref);
  const Value& value = *reads_[ref.thread][ref.event];
  std::vector<SmtTerm> certain;
  for (const size_t piece : pieces_of(ref)) {
    const auto of_piece = writes.find(piece);
    std::vector<Write> seen =
        of_piece == writes.end() ? std::vector<Write>{} : candidates(ref, of_piece->second);
    drop_overwritten(ref, seen);
    const Value part = read_piece(ref, piece, seen);
    const SmtTerm touched = touches(ref, piece);
    certain.push_back(solver_.any({solver_.no(touched), part.certain}));
    if (!accessed.address_expression) {
      const auto offset = static_cast<unsigned>(pieces_[piece].address - accessed.address);
      solver_.require(
          solver_.equal(solver_.extract(value.bits, offset * 8, pieces_[piece].size * 8), part.bits));
      continue;
    }
    for (uint32_t i = 0; i < accessed.size; ++i) {
      const SmtTerm here =
          solver_.equal(address_of(ref), solver_.bits(std::array{pieces_[piece].address - i}, 64));
      solver_.require(solver_.implies(solver_.all({moment(ref).done, here}),
                                      solver_.equal(solver_.extract(value.bits, i * 8, 8), part.bits)));
    }
  }
  solver_.require(solver_.equal(value.certain, solver_.all(certain)));
}

// How many constraints read_piece() will make: known before any is made, also where that takes too long.
bool SmtEncoding::count_constraints(const std::vector<EventRef>& accesses,
                                    const std::map<size_t, std::vector<Write>>& writes) {
  ReadWriteCounts counts;
  for (const EventRef ref : accesses) {
    if (should_end_()) return false;
    if (!reads_value(event(ref).kind)) continue;
    for (const size_t piece : pieces_of(ref)) {
      const auto of_piece = writes.find(piece);
      if (of_piece == writes.end()) continue;
      std::vector<Write> seen = candidates(ref, of_piece->second);
      if (!seen.empty()) counts.without_facts += seen.size() * (seen.size() - 1);
      drop_overwritten(ref, seen);
      for (size_t i = 0; i < seen.size(); ++i) {
        const std::vector<EventRef> next = next_on_each(seen, seen[i].event);
        for (size_t k = 0; k < seen.size(); ++k)
          if (k != i && !follows_by_facts(seen[i].event, next, seen[k].event)) ++counts.constraints;
      }
    }
  }
  counts_ = counts;
  return true;
}

bool SmtEncoding::encode_accesses() {
  std::vector<EventRef> accesses;
  for (uint32_t t = 0; t < threads(); ++t)
    for (uint32_t e = 0; e < events(t).size(); ++e) {
      if (reads_value(events(t)[e].kind)) make_read({t, e});
      if (is_access(events(t)[e].kind)) accesses.push_back({t, e});
    }
  std::map<size_t, std::vector<Write>> writes;  // by piece; of each thread in program order
  for (const EventRef ref : accesses) {
    if (!writes_value(event(ref).kind)) continue;
    const Moment& visible = is_buffered(ref) ? flushes_.at(ref) : moment(ref);
    for (const size_t piece : pieces_of(ref)) writes[piece].push_back({.event = ref, .moment = visible});
  }
  if (!count_constraints(accesses, writes)) return false;
  for (const EventRef ref : accesses) {
    if (should_end_()) return false;
    if (reads_value(event(ref).kind)) encode_read(ref, writes);
    const Event& accessed = event(ref);
    if (!accessed.address_expression) continue;
    const Value address = expression(ref.thread, accessed.address_expression);
    const SmtTerm offset = solver_.minus(address.bits, solver_.bits(std::array{accessed.object}, 64));
    const bool fits = accessed.size <= accessed.object_size;
    const SmtTerm inside = fits
                               ? solver_.at_most_unsigned(
                                     offset, solver_.bits(std::array{accessed.object_size - accessed.size}, 64))
                               : solver_.truth(false);
    solver_.require(solver_.implies(moment(ref).done, solver_.any({solver_.no(address.certain), inside})));
  }
  encode_flush_order();
  return true;
}

}  // namespace heddle
