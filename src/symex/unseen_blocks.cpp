#include "symex/unseen_blocks.h"

#include <algorithm>
#include <set>

namespace heddle {
namespace {

struct Block {  // what is seen of the memory at one address
  uint64_t end = 0, smallest = UINT64_MAX;
  uint64_t allocations = 0, releases = 0;
  bool again_too_soon = false;  // a thread allocated it while nobody can have released it

  uint64_t in_use() const { return allocations > releases ? allocations - releases : 0; }
  // One release more than allocations is a block that was made before, or a double free.
  bool misses(DoubleFrees double_frees) const {
    const bool more = allocations > 0 && releases > allocations && double_frees == DoubleFrees::none;
    return again_too_soon || in_use() > 1 || releases > allocations + 1 || more;
  }
};
using Blocks = std::map<uint64_t, Block>;  // by address

Blocks blocks_of(const Trace& trace) {
  Blocks out;
  for (const ThreadTrace& thread : trace.threads) {
    for (const Event& event : thread.events) {
      if (!is_block(event.kind)) continue;
      Block& block = out[event.address];
      block.end = std::max(block.end, event.address + std::max<uint64_t>(event.size, 1));
      if (event.kind == EventKind::release) {
        ++block.releases;
      } else {
        ++block.allocations;
        block.smallest = std::min<uint64_t>(block.smallest, std::max<uint64_t>(event.size, 1));
      }
    }
  }
  // Releases of other threads may come at any time, its own where they stand.
  for (const ThreadTrace& thread : trace.threads) {
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> own;  // releases in all; allocations less releases so far
    for (const Event& event : thread.events)
      if (event.kind == EventKind::release) ++own[event.address].first;
    for (const Event& event : thread.events) {
      if (!is_block(event.kind)) continue;
      auto& [releases, used] = own[event.address];
      if (event.kind == EventKind::release) {
        used -= used > 0;
        continue;
      }
      Block& block = out[event.address];
      block.again_too_soon |= used++ > block.releases - releases;
    }
  }
  return out;
}

// Addresses of blocks that overlap, one group after another.
template <class Visit>
void each_group(const Blocks& blocks, Visit visit) {
  for (auto first = blocks.begin(); first != blocks.end();) {
    uint64_t end = first->second.end;
    auto last = std::next(first);
    for (; last != blocks.end() && last->first < end; ++last) end = std::max(end, last->second.end);
    visit(first, last);
    first = last;
  }
}

bool fits(Blocks::const_iterator first, Blocks::const_iterator last, DoubleFrees double_frees) {
  uint64_t used_to = 0;  // where the one before ends that is never released
  for (; first != last; ++first) {
    const auto& [begin, block] = *first;
    if (block.misses(double_frees)) return false;
    if (block.in_use() == 0) continue;
    if (begin < used_to) return false;
    used_to = begin + block.smallest;
  }
  return true;
}

}  // namespace

void forget_unseen_blocks(Trace& trace, DoubleFrees double_frees) {
  const Blocks blocks = blocks_of(trace);
  std::set<uint64_t> unseen;
  each_group(blocks, [&](auto first, auto last) {
    if (!fits(first, last, double_frees))
      for (; first != last; ++first) unseen.insert(first->first);
  });
  for (uint32_t t = 0; t < trace.threads.size(); ++t) {
    std::set<uint32_t> places;  // that were named
    for (Event& event : trace.threads[t].events) {
      if (!is_block(event.kind) || !unseen.contains(event.address)) continue;
      event.kind = EventKind::sync;
      if (places.insert(event.place).second)
        trace.approximations.push_back({.what = "memory that a library allocates or releases by itself",
                                        .thread = t,
                                        .place = event.place});
    }
  }
}

void forget_reused_flags(Trace& trace) {
  std::map<uint64_t, unsigned> done;
  for (const ThreadTrace& thread : trace.threads)
    for (const Event& event : thread.events)
      if (event.kind == EventKind::once_done && event.second == 0) ++done[event.address];
  for (uint32_t t = 0; t < trace.threads.size(); ++t) {
    std::set<uint32_t> places;  // that were named
    for (Event& event : trace.threads[t].events) {
      const bool is_once = event.kind == EventKind::once_begin || event.kind == EventKind::once_passed ||
                           event.kind == EventKind::once_done;
      if (!is_once || done[event.address] < 2) continue;
      event.kind = EventKind::sync;
      if (places.insert(event.place).second)
        trace.approximations.push_back(
            {.what = "a flag of call_once whose memory was used again", .thread = t, .place = event.place});
    }
  }
}

}  // namespace heddle
