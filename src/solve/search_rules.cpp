// Of SearchState: which moves and flushes are worth trying (search_state.h says why).
#include <algorithm>

#include "solve/search_state.h"

namespace heddle {
namespace {

constexpr uint64_t bit_of(uint32_t thread) {
  return thread < 64 ? uint64_t{1} << thread : 0;  // further ones never sleep
}

}  // namespace

bool SearchState::can_go_on(uint32_t thread) const {
  return !is_at_end(thread) && sync_.is_there(thread) &&
         sync_.is_enabled(thread, event(thread, positions_[thread]));
}

bool SearchState::facts_allow(uint32_t thread, uint32_t number) const {
  return std::ranges::all_of(plan_->needs.of({thread, number}), [&](const OrderNeed& need) {
    return (need.thread == thread ? number : positions_[need.thread]) >= need.events;
  });
}

bool SearchState::facts_allow_step(uint32_t thread) const {
  for (uint32_t e = positions_[thread]; e < plan_->step_end[thread][positions_[thread]]; ++e)
    if (!facts_allow(thread, e)) return false;
  return true;
}

template <class Each>
bool SearchState::any_use(uint32_t thread, Each each) const {
  const uint32_t begin = positions_[thread], end = plan_->step_end[thread][begin];
  uint32_t emptied = begin;  // one behind the last event of the step that empties the buffer
  for (uint32_t e = begin; e < end; ++e) {
    for (const ResourceUse& use : plan_->resources.of({thread, e}))
      if (each(use)) return true;
    if (buffers() && needs_empty_buffer(event(thread, e))) emptied = e + 1;
  }
  if (emptied == begin) return false;
  for (const Store& store : threads_[thread].buffer)
    if (each(ResourceUse{store.memory, true})) return true;
  for (uint32_t e = begin; e < emptied; ++e)  // what it writes itself is flushed, too
    if (event(thread, e).kind == EventKind::write &&
        each(ResourceUse{plan_->resources.memory_of({thread, e}), true}))
      return true;
  return false;
}

bool SearchState::step_conflicts(uint32_t thread, const ResourceUse& use) const {
  return any_use(thread, [&](const ResourceUse& own) { return conflict(own, use); });
}

bool SearchState::is_buffered_by_others(const ResourceUse& use, uint32_t thread) const {
  return all_buffered_[use.resource] > buffered_[thread * plan_->resources.size() + use.resource];
}

bool SearchState::can_be_told(uint32_t thread) const {
  return !facts_allow_step(thread) || any_use(thread, [&](const ResourceUse& use) {
    return is_buffered_by_others(use, thread) || plan_->resources.is_wanted(use, thread, positions_);
  });
}

void SearchState::wake(const ResourceUse& use, uint32_t by) {
  if (sleeping_ == 0) return;
  for (uint32_t t = 0; t < threads_.size(); ++t)
    if (t != by && (sleeping_ & bit_of(t)) != 0 && step_conflicts(t, use)) sleeping_ &= ~bit_of(t);
}

// Another thread runs from here on.
void SearchState::leave_for(uint32_t thread) {
  last_flush_.reset();
  if (running_ == thread) return;
  if (running_ && can_go_on(*running_) && facts_allow_step(*running_)) sleeping_ |= bit_of(*running_);
  running_ = thread;
  sleeping_ &= ~bit_of(thread);
}

bool SearchState::may_move(uint32_t thread) const {
  if (is_at_end(thread) || (sleeping_ & bit_of(thread)) != 0) return false;
  if (last_flush_ && (last_flush_->thread == thread || !step_conflicts(thread, {last_flush_->memory, true})))
    return false;
  return can_go_on(thread) && facts_allow(thread, positions_[thread]);
}

// ---- flushes

bool SearchState::may_flush(uint32_t thread, size_t index) const {
  const std::vector<Store>& buffer = threads_[thread].buffer;
  if (index == 0) return true;
  const Store& store = buffer[index];
  if (plan_->problem->model == MemoryModel::tso || buffer.front().event < store.barrier) return false;
  return std::none_of(buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(index), [&](const Store& older) {
    return older.address < store.address + store.bytes.size() &&
           store.address < older.address + older.bytes.size();
  });
}

// Whether there is a next step for which one of the stores matters: of another thread; or its own, before which
// a store of another thread may come to the same memory.
bool SearchState::is_flush_useful(uint32_t thread) const {
  for (uint32_t t = 0; t < threads_.size(); ++t) {
    if (!can_go_on(t)) continue;
    for (const Store& store : threads_[thread].buffer) {
      const ResourceUse use{store.memory, true};
      if ((t != thread || is_buffered_by_others(use, thread)) && step_conflicts(t, use)) return true;
    }
  }
  return false;
}

std::vector<OrderItem> SearchState::flushes() const {
  std::vector<OrderItem> out;
  for (uint32_t t = 0; t < threads_.size(); ++t) {
    const std::vector<Store>& buffer = threads_[t].buffer;
    if (buffer.empty() || !is_flush_useful(t)) continue;
    for (size_t i = 0; i < buffer.size(); ++i) {
      const bool wrong_order = last_flush_ && last_flush_->memory != buffer[i].memory &&
                               EventRef{t, buffer[i].event} < EventRef{last_flush_->thread, last_flush_->event};
      if (!wrong_order && may_flush(t, i))
        out.push_back({.thread = t, .event = buffer[i].event, .flush = true});
    }
  }
  return out;
}

std::vector<OrderItem> SearchState::possible_flushes() const {
  std::vector<OrderItem> out;
  for (uint32_t t = 0; t < threads_.size(); ++t)
    for (size_t i = 0; i < threads_[t].buffer.size(); ++i)
      if (may_flush(t, i)) out.push_back({.thread = t, .event = threads_[t].buffer[i].event, .flush = true});
  return out;
}

Hash128 SearchState::hash() const {
  const bool left = running_ && can_go_on(*running_);  // else it does not matter who ran
  const uint64_t flushed = last_flush_ ? uint64_t{last_flush_->thread + 1} << 32 | last_flush_->event : 0;
  return hash_ ^ hash_of({'k', left ? *running_ + 1 : 0, sleeping_, flushed});
}

}  // namespace heddle
