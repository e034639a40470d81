#include "symex/core_stays.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "recording/path_visitor.h"

namespace heddle {
namespace {

struct Turn {  // of a thread on a core
  uint64_t tsc = 0;
  uint32_t thread = 0;
  size_t stay = 0;
};

}  // namespace

std::vector<OrderOnCore> core_orders(std::span<const std::vector<CoreStay>> threads,
                                     std::span<const uint32_t> event_counts) {
  std::map<uint32_t, std::vector<Turn>> cores;
  for (uint32_t thread = 0; thread < threads.size(); ++thread)
    for (size_t i = 0; i < threads[thread].size(); ++i)
      if (threads[thread][i].core != PathVisitor::kAnyCore)
        cores[threads[thread][i].core].push_back({threads[thread][i].tsc, thread, i});
  std::vector<OrderOnCore> out;
  for (auto& [core, turns] : cores) {
    std::ranges::sort(turns, {}, [](const Turn& turn) { return std::tuple(turn.tsc, turn.thread, turn.stay); });
    for (size_t i = 0; i + 1 < turns.size(); ++i) {
      const Turn& left = turns[i];
      const Turn& came = turns[i + 1];
      if (left.thread == came.thread) continue;
      // The thread that left has done what comes before its next stay, wherever that is: calls that lead
      // outside are stays of their own, so nothing that code outside did is taken for done.
      const std::vector<CoreStay>& stays = threads[left.thread];
      if (left.stay + 1 >= stays.size()) continue;  // how far it came is not known
      const uint32_t done = stays[left.stay + 1].before;
      const uint32_t next = threads[came.thread][came.stay].from;
      if (done == 0 || done > event_counts[left.thread] || next >= event_counts[came.thread]) continue;
      out.push_back(
          {.before_thread = left.thread, .before = done - 1, .after_thread = came.thread, .after = next});
    }
  }
  return out;
}

}  // namespace heddle
