#include "solve/reads_from.h"

#include <algorithm>
#include <map>

namespace heddle {
namespace {

// Memory and buffers that hold the names of writes instead of values.
class WriterMemory {
 public:
  explicit WriterMemory(const Problem& problem) : problem_(problem), buffers_(problem.trace->threads.size()) {}

  void perform(const OrderItem& item, ReadsFrom& out) {
    const EventRef ref{item.thread, item.event};
    const Event& event = problem_.event(ref);
    if (item.flush) {
      std::erase(buffers_[item.thread], item.event);
      return write(event, ref);
    }
    if (!is_access(event.kind)) return;
    if (event.kind != EventKind::write) read(event, ref, out);
    if (event.kind == EventKind::read) return;
    if (problem_.model != MemoryModel::sc && !needs_empty_buffer(event))
      buffers_[item.thread].push_back(item.event);
    else
      write(event, ref);
  }

 private:
  void write(const Event& event, EventRef by) {
    for (uint64_t i = 0; i < event.size; ++i) memory_[event.address + i] = by;
  }

  std::optional<EventRef> writer(uint32_t thread, uint64_t address) const {
    for (size_t i = buffers_[thread].size(); i-- > 0;) {
      const EventRef ref{thread, buffers_[thread][i]};
      const Event& event = problem_.event(ref);
      if (address >= event.address && address - event.address < event.size) return ref;
    }
    const auto found = memory_.find(address);
    return found == memory_.end() ? std::nullopt : std::optional(found->second);
  }

  void read(const Event& event, EventRef by, ReadsFrom& out) const {
    for (uint64_t i = 0; i < event.size; ++i) {
      const std::optional<EventRef> write = writer(by.thread, event.address + i);
      if (i == 0 || write != out.back().write)
        out.push_back({.read = by, .address = event.address + i, .write = write});
    }
  }

  const Problem& problem_;
  std::map<uint64_t, EventRef> memory_;
  std::vector<std::vector<uint32_t>> buffers_;  // by thread: writes, the oldest first
};

}  // namespace

std::optional<ReadsFrom> reads_from(const Problem& problem, std::span<const OrderItem> order) {
  WriterMemory memory(problem);
  ReadsFrom out;
  for (const OrderItem& item : order) {
    if (problem.event({item.thread, item.event}).address_expression) return std::nullopt;
    memory.perform(item, out);
  }
  return out;
}

ReadsFrom sources_before(const ReadsFrom& all, EventRef end) {
  std::map<uint32_t, uint32_t> ends = {{end.thread, end.event}};  // by thread: how many events
  const auto matters = [&](const ReadSource& source) {
    const auto found = ends.find(source.read.thread);
    return found != ends.end() && source.read.event < found->second;
  };
  for (bool grew = true; grew;) {
    grew = false;
    for (const ReadSource& source : all) {
      if (!matters(source) || !source.write) continue;
      uint32_t& known = ends[source.write->thread];
      if (known > source.write->event) continue;
      known = source.write->event + 1;
      grew = true;
    }
  }
  ReadsFrom out;
  std::ranges::copy_if(all, std::back_inserter(out), matters);
  return out;
}

bool is_refuted(const Problem& problem, std::span<const OrderItem> order) {
  if (problem.refuted.empty()) return false;
  const std::optional<ReadsFrom> sources = reads_from(problem, order);
  if (!sources) return false;
  return std::ranges::any_of(problem.refuted, [&](const ReadsFrom& refuted) {
    return std::ranges::all_of(refuted, [&](const ReadSource& source) {
      return std::ranges::find(*sources, source) != sources->end();
    });
  });
}

}  // namespace heddle
