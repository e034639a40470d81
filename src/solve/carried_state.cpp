#include "solve/carried_state.h"

#include <algorithm>
#include <set>

namespace heddle {

CarriedState::CarriedState(const Trace& trace, const std::vector<LivePlan>& plans)
    : trace_(&trace), positions_(trace.threads.size()), memory_(trace.initial) {
  for (const LivePlan& plan : plans) {
    values_.emplace_back(plan);
    values_.back().go_on(0, {});
    values_.back().arrive(forgotten_);
  }
  for (const ThreadTrace& thread : trace.threads)
    for (const Event& event : thread.events) {
      if (!is_wait(event.kind)) continue;
      const uint64_t condition = object_of(event.address), mutex = object_of(event.second);
      if (condition != mutex) joined_to_[condition] = mutex;
    }
}

uint64_t CarriedState::object_of(uint64_t address) const {
  for (auto other = joined_to_.find(address); other != joined_to_.end(); other = joined_to_.find(address))
    address = other->second;
  return address;
}

void CarriedState::perform(EventRef next) {
  const Event& event = trace_->threads[next.thread].events[next.event];
  if (is_access(event.kind) || event.kind == EventKind::semaphore_value) {
    access(next.thread, event);
  } else {
    values_[next.thread].go_on(next.event + 1, {});
    synchronise(next.thread, event);
  }
  values_[next.thread].arrive(forgotten_);
  forgotten_.clear();
  positions_[next.thread] = next.event + 1;
  ++time_;
}

void CarriedState::access(uint32_t thread, const Event& event) {
  std::vector<uint64_t> words(words_of(8 * event.size));
  bool certain = true;
  if (event.kind == EventKind::semaphore_value) {
    const auto count = counts_.find(event.address);
    words[0] = count == counts_.end() ? 0 : count->second & low_bits(8 * event.size);
  } else if (reads_value(event.kind)) {
    for (uint32_t i = 0; i < event.size; ++i) {
      const MemoryByte byte = memory_.get(event.address + i);
      words[i / 8] |= uint64_t{byte.value} << i % 8 * 8;
      certain &= byte.certain;
    }
  }
  values_[thread].go_on(positions_[thread] + 1, {.words = words.data(), .certain = certain});
  if (!writes_value(event.kind)) return;
  const LiveValue written = values_[thread].value(event.value);
  for (uint32_t i = 0; i < event.size; ++i)
    memory_.set(event.address + i,
                {.value = static_cast<uint8_t>(written.words[i / 8] >> i % 8 * 8), .certain = written.certain});
}

// ---- synchronisation

void CarriedState::keep(uint32_t thread, const Event& event, int held, int waiting, int inside) {
  Object& object = objects_[object_of(event.address)];
  object.events.push_back({time_, {thread, event}});
  object.held = std::max<int64_t>(object.held + held, 0);
  object.waiting += waiting;
  object.inside += inside;
  if (object.held == 0 && object.waiting == 0 && object.inside == 0) object.events.clear();
}

void CarriedState::change_block(uint32_t thread, const Event& event) {
  if (event.kind == EventKind::allocate)
    blocks_.erase(blocks_.lower_bound(event.address),
                  blocks_.lower_bound(event.address + std::max(event.size, 1U)));
  blocks_.insert_or_assign(event.address, std::pair(time_, Kept{thread, event}));
}

void CarriedState::synchronise(uint32_t thread, const Event& event) {
  switch (event.kind) {
    case EventKind::lock:
    case EventKind::read_lock:
    case EventKind::write_lock:
      return keep(thread, event, 1, 0, 0);
    case EventKind::unlock:
    case EventKind::read_unlock:
    case EventKind::write_unlock:
      return keep(thread, event, -1, 0, 0);
    case EventKind::wait_begin:
      return keep(thread, event, -1, 1, 0);
    case EventKind::wait_end:
    case EventKind::wait_timeout:
      return keep(thread, event, 1, -1, 0);
    case EventKind::signal:
    case EventKind::broadcast:
      return keep(thread, event, 0, 0, 0);
    case EventKind::barrier_arrive:
      return keep(thread, event, 0, 0, 1);
    case EventKind::barrier_leave:
      return keep(thread, event, 0, 0, -1);
    case EventKind::semaphore_post:
      ++counts_[event.address];
      return;
    case EventKind::semaphore_wait:
      --counts_[event.address];
      return;
    case EventKind::init:
      counts_[event.address] = event.second;
      onces_.erase(event.address);
      return;
    case EventKind::destroy:
      counts_.erase(event.address);
      onces_.erase(event.address);
      return;
    case EventKind::once_begin:
      onces_[event.address].events = {{time_, {thread, event}}};
      return;
    case EventKind::once_done:
      onces_[event.address].events.push_back({time_, {thread, event}});
      return;
    case EventKind::exit:
      exits_[thread] = {time_, {thread, event}};
      return;
    case EventKind::allocate:
    case EventKind::release:
      return change_block(thread, event);
    default:
      return;
  }
}

std::vector<CarriedState::Kept> CarriedState::kept_for(const std::vector<const Event*>& window) const {
  std::map<uint64_t, Kept> by_time;  // those of one time are the same
  std::set<uint64_t> counted;
  const auto take = [&](const std::pair<uint64_t, Kept>& kept) { by_time.insert(kept); };
  const auto take_all = [&](const std::unordered_map<uint64_t, Object>& from, uint64_t address) {
    if (const auto found = from.find(address); found != from.end())
      std::ranges::for_each(found->second.events, take);
  };
  for (const Event* event : window) {
    if (is_access(event->kind)) continue;
    if (event->kind == EventKind::join) {
      if (const auto exit = exits_.find(event->address); exit != exits_.end()) take(exit->second);
    } else if (is_block(event->kind)) {
      auto block = blocks_.upper_bound(event->address);
      if (block != blocks_.begin()) --block;
      for (; block != blocks_.end() && block->first < event->address + std::max(event->size, 1U); ++block)
        take(block->second);
    } else {
      take_all(objects_, object_of(event->address));
      if (is_wait(event->kind)) take_all(objects_, object_of(event->second));
      take_all(onces_, event->address);
      if (counts_.contains(event->address)) counted.insert(event->address);
    }
  }
  std::vector<Kept> out;
  for (const uint64_t address : counted)
    out.push_back({0, {.kind = EventKind::init, .address = address, .second = counts_.at(address)}});
  for (const auto& [time, kept] : by_time) out.push_back(kept);
  return out;
}

}  // namespace heddle
