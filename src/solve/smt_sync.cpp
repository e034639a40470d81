// Of SmtEncoding: synchronisation (Φso). Each operation is an update of its object: it finds the state that the
// one before it left, and says whether it was possible then. Waits are matched with signals as in CLAP: a
// signal is taken by at most one; the oldest one first, as trace/condition_state.h does it.
#include <fmt/format.h>

#include <algorithm>

#include "solve/smt_encoding.h"

namespace heddle {
namespace {

// Does something to the object at its address.
bool has_object(EventKind kind) {
  return kind >= EventKind::lock && kind <= EventKind::destroy &&
         !(kind >= EventKind::create && kind <= EventKind::detach);
}

}  // namespace

void SmtEncoding::find_sync() {
  for (uint32_t t = 0; t < threads(); ++t) {
    std::optional<EventRef> begin;
    for (uint32_t e = 0; e < events(t).size(); ++e) {
      const Event& operation = events(t)[e];
      if (is_block(operation.kind)) {
        block_operations_.push_back({t, e});
        block_addresses_.push_back(operation.address);
      }
      if (operation.kind == EventKind::wait_begin) {
        begin = EventRef{t, e};
      } else if (is_wait(operation.kind)) {
        if (begin) wait_begins_[{t, e}] = *begin;
        begin.reset();
      }
      // A wait does to its condition what is said by matching; to its mutex it is an unlock and a lock.
      if (!is_wait(operation.kind) && !has_object(operation.kind)) continue;
      const uint64_t object = is_wait(operation.kind) ? operation.second : operation.address;
      operations_[object].push_back({t, e});
      used_[object] |= used_fields(operation.kind);
    }
    if (begin) open_waits_[t] = *begin;
  }
  for (const FailurePredicate::Waiting& waiting : problem_.trace->failure.waiting) {
    const Event& operation = waiting.operation;
    used_[is_wait(operation.kind) ? operation.second : operation.address] |= used_fields(operation.kind);
  }
}

// The state that the last of the operations left before the point.
SmtObjectState SmtEncoding::state_at(uint64_t object, const Point& point) {
  SmtObjects objects(solver_);
  const std::vector<EventRef>& operations = operations_[object];
  const SmtObjectState state = objects.variable(object, used_[object]);
  std::vector<SmtTerm> before;
  for (const EventRef ref : operations) before.push_back(happened(moment(ref), ref, point));
  for (size_t i = 0; i < operations.size(); ++i) {
    if (operations[i] == point.event && point.kind == Point::Kind::before) continue;
    std::vector<SmtTerm> last = {before[i]};
    for (size_t k = 0; k < operations.size(); ++k)
      if (k != i)
        last.push_back(
            solver_.any({solver_.no(before[k]), is_before(moment(operations[k]), moment(operations[i]))}));
    solver_.require(solver_.implies(solver_.all(last), objects.same(state, after_.at(operations[i]))));
  }
  solver_.require(solver_.implies(solver_.no(solver_.any(before)), objects.same(state, objects.initial())));
  return state;
}

SmtBlockState SmtEncoding::blocks_at(const Point& point) {
  SmtBlockState state;
  const auto same = [&](const SmtBlockState* other) {
    std::vector<SmtTerm> equal;
    for (const uint64_t address : block_addresses_) {
      const SmtTerm none = solver_.number(0);
      equal.push_back(solver_.equal(state.used.at(address), other == nullptr ? none : other->used.at(address)));
      equal.push_back(
          solver_.equal(state.released.at(address), other == nullptr ? none : other->released.at(address)));
    }
    return solver_.all(equal);
  };
  for (const uint64_t address : block_addresses_) {
    state.used[address] = solver_.number_variable("used");
    state.released[address] = solver_.number_variable("released");
  }
  std::vector<SmtTerm> before;
  for (const EventRef ref : block_operations_) before.push_back(happened(moment(ref), ref, point));
  for (size_t i = 0; i < block_operations_.size(); ++i) {
    if (block_operations_[i] == point.event && point.kind == Point::Kind::before) continue;
    std::vector<SmtTerm> last = {before[i]};
    for (size_t k = 0; k < block_operations_.size(); ++k)
      if (k != i)
        last.push_back(solver_.any(
            {solver_.no(before[k]), is_before(moment(block_operations_[k]), moment(block_operations_[i]))}));
    solver_.require(solver_.implies(solver_.all(last), same(&blocks_after_.at(block_operations_[i]))));
  }
  solver_.require(solver_.implies(solver_.no(solver_.any(before)), same(nullptr)));
  return state;
}

// What the thread knows of its barrier when it has done so many events.
SmtBarrierSeen SmtEncoding::barrier_seen(uint32_t thread, uint32_t position) {
  for (uint32_t e = position; e-- > 0;) {
    const auto seen = seen_after_.find({thread, e});
    if (seen != seen_after_.end()) return seen->second;
  }
  return {.round = solver_.number(0), .last = solver_.truth(false)};
}

// Whether one who began to wait there can be woken.
SmtTerm SmtEncoding::is_woken(EventRef begin, uint64_t condition, const Point& point) {
  std::vector<SmtTerm> ways;
  for (uint32_t t = 0; t < threads(); ++t)
    for (uint32_t e = 0; e < events(t).size(); ++e) {
      const Event& operation = events(t)[e];
      if (operation.address != condition ||
          (operation.kind != EventKind::broadcast && operation.kind != EventKind::signal))
        continue;
      std::vector<SmtTerm> way = {happened(moment({t, e}), {t, e}, point),
                                  is_before(moment(begin), moment({t, e}))};
      if (operation.kind == EventKind::signal)
        for (const auto& [taken, takes] : takes_)
          if (taken.second == EventRef{t, e})
            way.push_back(solver_.no(solver_.all({takes, happened(moment(taken.first), taken.first, point)})));
      ways.push_back(solver_.all(way));
    }
  return solver_.any(ways);
}

void SmtEncoding::encode_waits() {
  std::map<uint64_t, std::vector<EventRef>> signals, broadcasts;
  for (uint32_t t = 0; t < threads(); ++t)
    for (uint32_t e = 0; e < events(t).size(); ++e) {
      if (events(t)[e].kind == EventKind::signal) signals[events(t)[e].address].push_back({t, e});
      if (events(t)[e].kind == EventKind::broadcast) broadcasts[events(t)[e].address].push_back({t, e});
    }
  for (const auto& [end, begin] : wait_begins_)
    if (event(end).kind == EventKind::wait_end)
      for (const EventRef signal : signals[event(end).address])
        takes_[{end, signal}] = solver_.truth_variable("takes");
  for (const auto& [end, begin] : wait_begins_) {
    if (event(end).kind != EventKind::wait_end) continue;
    const std::vector<EventRef>& candidates = signals[event(end).address];
    std::vector<SmtTerm> woken_by_all;
    for (const EventRef broadcast : broadcasts[event(end).address])
      woken_by_all.push_back(solver_.all({moment(broadcast).done, is_before(moment(begin), moment(broadcast)),
                                          is_before(moment(broadcast), moment(end))}));
    const SmtTerm needs_signal = solver_.all({moment(end).done, solver_.no(solver_.any(woken_by_all))});
    std::vector<SmtTerm> can_take;
    for (const EventRef signal : candidates) {
      std::vector<SmtTerm> free = {moment(signal).done, is_before(moment(begin), moment(signal)),
                                   is_before(moment(signal), moment(end))};
      for (const auto& [taken, takes] : takes_)
        if (taken.second == signal && taken.first != end)
          free.push_back(solver_.no(solver_.all({takes, is_before(moment(taken.first), moment(end))})));
      can_take.push_back(solver_.all(free));
    }
    for (size_t i = 0; i < candidates.size(); ++i) {
      std::vector<SmtTerm> oldest = {needs_signal, can_take[i]};
      for (size_t k = 0; k < candidates.size(); ++k)
        if (k != i)
          oldest.push_back(
              solver_.any({solver_.no(can_take[k]), is_before(moment(candidates[i]), moment(candidates[k]))}));
      solver_.require(solver_.equal(takes_.at({end, candidates[i]}), solver_.all(oldest)));
    }
  }
}

// Whether the operation could come at the point, where the thread has done `position` events.
SmtTerm SmtEncoding::is_enabled(uint32_t thread, const Event& operation, uint32_t position,
                                const Point& point) {
  SmtObjects objects(solver_);
  switch (operation.kind) {
    case EventKind::join: {
      const auto joined = static_cast<uint32_t>(operation.address);
      std::vector<SmtTerm> exits;
      for (uint32_t e = 0; e < events(joined).size(); ++e)
        if (events(joined)[e].kind == EventKind::exit)
          exits.push_back(happened(moment({joined, e}), {joined, e}, point));
      return solver_.any(exits);
    }
    case EventKind::allocate:
      return objects.is_free(blocks_at(point), operation.address, std::max<uint64_t>(operation.size, 1));
    case EventKind::release:
      return solver_.no(objects.is_released(blocks_at(point), operation.address));
    case EventKind::wait_begin: {
      if (!operation.recursive) return solver_.truth(true);
      const SmtTerm holder = state_at(operation.second, point).fields[SmtObjectState::holder];
      return solver_.equal(holder, solver_.number(thread + 1));
    }
    case EventKind::wait_end:
    case EventKind::wait_timeout: {
      const EventRef end{thread, position};
      const auto known = wait_begins_.find(end);
      const auto open = open_waits_.find(thread);
      if (known == wait_begins_.end() && (position < events(thread).size() || open == open_waits_.end()))
        return solver_.truth(false);
      const EventRef begin = known != wait_begins_.end() ? known->second : open->second;
      const SmtTerm free = objects.can_lock(state_at(operation.second, point), thread, operation.recursive);
      if (operation.kind == EventKind::wait_timeout) return free;
      return solver_.all({free, is_woken(begin, operation.address, point)});
    }
    default:
      if (!has_object(operation.kind)) return solver_.truth(true);
      return objects.is_enabled(state_at(operation.address, point), thread, operation,
                                barrier_seen(thread, position));
  }
}

bool SmtEncoding::encode_sync() {
  SmtObjects objects(solver_);
  // States behind operations are made of states before them, which are variables: those first.
  std::map<EventRef, SmtObjectState> before;
  for (const auto& [object, operations] : operations_)
    for (const EventRef ref : operations) before[ref] = objects.variable(object, used_[object]);
  for (uint32_t t = 0; t < threads(); ++t)
    for (uint32_t e = 0; e < events(t).size(); ++e) {
      const auto found = before.find({t, e});
      if (found == before.end()) continue;
      const Event& operation = events(t)[e];
      const SmtBarrierSeen seen = barrier_seen(t, e);
      if (operation.kind == EventKind::wait_begin)
        after_[{t, e}] = objects.unlocked(found->second, operation.recursive);
      else if (is_wait(operation.kind))
        after_[{t, e}] = objects.locked(found->second, t);
      else
        after_[{t, e}] = objects.after(found->second, t, operation, seen);
      if (operation.kind == EventKind::barrier_arrive || operation.kind == EventKind::barrier_leave)
        seen_after_[{t, e}] = objects.seen_after(found->second, operation, seen);
    }
  std::map<EventRef, SmtBlockState> blocks_before;
  for (const EventRef ref : block_operations_) {
    for (const uint64_t address : block_addresses_) {
      blocks_before[ref].used[address] = solver_.number_variable("used");
      blocks_before[ref].released[address] = solver_.number_variable("released");
    }
    blocks_after_[ref] = objects.after(blocks_before[ref], event(ref));
  }
  encode_waits();
  for (const auto& [ref, state] : before) {
    if (should_end_()) return false;
    const uint64_t object = is_wait(event(ref).kind) ? event(ref).second : event(ref).address;
    solver_.require(objects.same(state, state_at(object, {Point::Kind::before, ref})));
    if (event(ref).kind == EventKind::semaphore_value) encode_semaphore_value(ref, state);
  }
  for (const auto& [ref, state] : blocks_before) {
    const SmtBlockState found = blocks_at({Point::Kind::before, ref});
    for (const uint64_t address : block_addresses_) {
      solver_.require(solver_.equal(state.used.at(address), found.used.at(address)));
      solver_.require(solver_.equal(state.released.at(address), found.released.at(address)));
    }
  }
  for (uint32_t t = 0; t < threads(); ++t)
    for (uint32_t e = 0; e < events(t).size(); ++e) {
      if (should_end_()) return false;
      const Event& operation = events(t)[e];
      if (operation.kind == EventKind::create) {
        const auto created = static_cast<uint32_t>(operation.address);
        if (!events(created).empty())
          solver_.require(solver_.implies(
              moment({created, 0}).done,
              solver_.all({moment({t, e}).done, is_before(moment({t, e}), moment({created, 0}))})));
      }
      if (is_access(operation.kind) || operation.kind == EventKind::fence) continue;
      solver_.require(
          solver_.implies(moment({t, e}).done, is_enabled(t, operation, e, {Point::Kind::before, {t, e}})));
    }
  return true;
}

// The count, as the bits that are read: it is small, since each post adds one.
void SmtEncoding::encode_semaphore_value(EventRef ref, const SmtObjectState& state) {
  const Value& value = *reads_[ref.thread][ref.event];
  const unsigned width = event(ref).size * 8;
  uint64_t most = 0;
  for (const EventRef operation : operations_[event(ref).address]) {
    most += event(operation).kind == EventKind::semaphore_post;
    if (event(operation).kind == EventKind::init) most += event(operation).second;
  }
  std::vector<SmtTerm> cases;
  for (uint64_t count = 0; count <= most; ++count) {
    std::vector<uint64_t> words(words_of(width));
    words[0] = count & low_bits(width);
    cases.push_back(solver_.all(
        {solver_.equal(state.fields[SmtObjectState::semaphore], solver_.number(static_cast<int64_t>(count))),
         solver_.equal(value.bits, solver_.bits(words, width))}));
  }
  solver_.require(solver_.implies(moment(ref).done, solver_.any(cases)));
  solver_.require(value.certain);
}

}  // namespace heddle
