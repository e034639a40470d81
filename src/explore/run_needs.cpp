#include "explore/run_needs.h"

#include <algorithm>

#include "abi/event_part.h"
#include "abi/sync_kind.h"

namespace heddle {
namespace {

constexpr uint64_t kSystem = 1;  // the "object" of what nothing is known of

bool covers(const RunNeeds::Write& write, uint64_t address, uint64_t size) {
  return write.address <= address && address + size <= write.address + write.size;
}

bool overlaps(const RunNeeds::Write& write, uint64_t address, uint64_t size) {
  return write.address < address + size && address < write.address + write.size;
}

}  // namespace

RunNeeds::RunNeeds(const Execution& run, MemoryModel model) : run_(run), model_(model) {
  const size_t threads = run.schedule.threads.size();
  last_of_thread_.assign(threads, kNone);
  ends_.assign(threads, kNone);
  creations_.resize(threads);
  buffers_.resize(threads);
  waits_.resize(threads);
  fenced_.resize(threads);
  shown_.resize(threads);
  alone_.assign(threads, kNone);
  read_actions();
}

void RunNeeds::read_actions() {
  // By event: is everything that its thread has buffered visible before the thread's next one?
  std::vector<bool> drains_behind(run_.kept_events.size());
  std::vector<uint8_t> drained(run_.schedule.threads.size());
  for (size_t i = run_.kept_events.size(); i-- > 0;) {
    drains_behind[i] = drained[run_.kept_events[i].thread] != 0;
    drained[run_.kept_events[i].thread] = run_.kept_events[i].drained;
  }
  size_t event = 0, data = 0;
  for (size_t i = 0; i < run_.schedule.steps.size(); ++i) {
    const Step& step = run_.schedule.steps[i];
    const auto thread = static_cast<uint32_t>(step.thread.index());
    for (uint64_t k = 0; k < step.count; ++k) {
      if (step.kind == StepKind::run && event == run_.kept_events.size()) return;
      const auto action = static_cast<uint32_t>(actions_.size());
      actions_.push_back({.kind = step.kind, .thread = thread});
      needs_.emplace_back();
      always_needs_.emplace_back();
      sources_.emplace_back();
      section_of_.emplace_back(kNone, 0);
      before_.push_back(step.kind == StepKind::flush ? kNone : last_of_thread_[thread]);
      if (step.kind == StepKind::flush) {
        actions_.back().address = run_.step_addresses[i];
        flush(action);
        continue;
      }
      need(action, before_.back(), true);
      last_of_thread_[thread] = action;
      if (step.kind != StepKind::run) continue;
      actions_.back().event = static_cast<uint32_t>(event);
      action_of_event_.push_back(action);
      add_event(action, data);
      if (drains_behind[event]) drain(thread, action);
      ++event;
    }
  }
}

void RunNeeds::need(uint32_t action, uint32_t other, bool always) {
  if (other == kNone || other == action) return;
  needs_[action].push_back(other);
  if (always) always_needs_[action].push_back(other);
}

// ---- memory

void RunNeeds::need_writers(uint32_t action, uint64_t address, uint64_t size) {
  const std::vector<Buffered>& own = buffers_[actions_[action].thread];
  // Its own stores that became visible before: otherwise it would find them in its buffer.
  for (const uint32_t each : shown_[actions_[action].thread])
    if (actions_[each].address < address + size && address < actions_[each].address + 8) need(action, each);
  for (uint64_t byte = address; byte < address + size; ++byte) {
    const auto word = words_.find(byte / 8);
    if (word == words_.end()) continue;
    const uint32_t writer = word->second.last[byte % 8];
    const bool is_own =
        std::ranges::any_of(own, [&](const Buffered& each) { return overlaps(each.write, byte, 1); });
    if (!is_own && writer != kNone && writer != action &&
        (sources_[action].empty() || sources_[action].back() != writer))
      sources_[action].push_back(writer);
  }
}

void RunNeeds::show(const Write& write) {
  for (uint64_t byte = write.address; byte < write.address + write.size; ++byte)
    words_[byte / 8].last[byte % 8] = write.visible;
  words_[write.address / 8].writes.push_back(write);
}

void RunNeeds::drain(uint32_t thread, uint32_t action) {
  for (Buffered& each : buffers_[thread]) {
    each.write.visible = action;
    show(each.write);
  }
  buffers_[thread].clear();
  // Otherwise they would become visible here, perhaps over what somebody else wrote meanwhile.
  for (const uint32_t each : std::exchange(shown_[thread], {})) need(action, each);
}

void RunNeeds::flush(uint32_t action) {
  const uint32_t thread = actions_[action].thread;
  std::vector<Buffered>& buffer = buffers_[thread];
  const auto found = std::ranges::find_if(
      buffer, [&](const Buffered& each) { return each.write.address == actions_[action].address; });
  if (found == buffer.end()) {  // of memory that is not followed
    need(action, last_of_thread_[thread]);
    return;
  }
  const uint32_t store = found->write.store;
  need(action, store, true);
  // TSO: in their order. PSO: so for one address, and for all stores before a release.
  for (const uint32_t each : shown_[thread])
    if (model_ == MemoryModel::tso || found->release ||
        actions_[each].address / 8 == actions_[action].address / 8)
      need(action, each);
  for (Buffered& each : buffer) {
    if (each.write.store != store) continue;
    each.write.visible = action;
    show(each.write);
  }
  std::erase_if(buffer, [&](const Buffered& each) { return each.write.store == store; });
  shown_[thread].push_back(action);
}

void RunNeeds::write(uint32_t action, const heddle_event& event, uint64_t value) {
  const uint32_t thread = actions_[action].thread;
  const bool is_buffered = model_ != MemoryModel::sc &&
                           run_.kept_events[actions_[action].event].kind == HEDDLE_EVENT_write &&
                           run_.kept_events[actions_[action].event].order != HEDDLE_ORDER_seq_cst;
  const Write write{
      .store = action, .visible = action, .address = event.address, .size = event.size, .value = value};
  if (!is_buffered) return show(write);
  buffers_[thread].push_back(
      {.write = write, .release = fenced_[thread] || event.order == HEDDLE_ORDER_release});
}

const std::vector<RunNeeds::Write>& RunNeeds::writes_to_word(uint64_t address) const {
  static const std::vector<Write> kNobody;
  const auto found = words_.find(address / 8);
  return found == words_.end() ? kNobody : found->second.writes;
}

std::optional<RunNeeds::Found> RunNeeds::found_behind(const Part& part, uint64_t address, uint64_t size) const {
  const std::vector<Write>& writes = writes_to_word(address);
  for (size_t i = writes.size(); i-- > 0;) {
    const Write& write = writes[i];
    if (!part[write.visible] || !part[write.store] || !overlaps(write, address, size)) continue;
    if (!covers(write, address, size)) return std::nullopt;
    const uint64_t mask = size >= 8 ? UINT64_MAX : (uint64_t{1} << 8 * size) - 1;
    return Found{.value = write.value >> 8 * (address - write.address) & mask};
  }
  return Found{.none = true};
}

// ---- events

void RunNeeds::add_event(uint32_t action, size_t& data) {
  const uint32_t index = actions_[action].event;
  const heddle_event& event = run_.kept_events[index];
  const uint32_t thread = actions_[action].thread;
  const size_t first = data;
  while (data < run_.event_data.size() && run_.event_data[data].after == index) ++data;
  const auto moved = std::span(run_.event_data).subspan(first, data - first);
  const bool is_write = event.kind == HEDDLE_EVENT_write;
  if (event.kind >= HEDDLE_EVENT_sync || event.kind == HEDDLE_EVENT_update ||
      (event.kind == HEDDLE_EVENT_fence && event.order == HEDDLE_ORDER_seq_cst) ||
      (is_write && event.order == HEDDLE_ORDER_seq_cst) ||
      (event.kind == HEDDLE_EVENT_call && event.order != HEDDLE_CALL_reads))
    drain(thread, action);
  if (event.kind >= HEDDLE_EVENT_sync) return add_sync(action, event);
  if (event.kind == HEDDLE_EVENT_fence) {
    if (event.order == HEDDLE_ORDER_release || event.order == HEDDLE_ORDER_acq_rel) fenced_[thread] = true;
    return;
  }
  // What a library keeps in an object of its own: the calls on it, in their order.
  if (event.kind == HEDDLE_EVENT_call && event.order == HEDDLE_CALL_object) chain(action, event.address);
  if (event.kind == HEDDLE_EVENT_call || !moved.empty()) {
    for (const heddle_event& each : moved)
      if (each.order == 0) need_writers(action, each.address, each.size);
    for (const heddle_event& each : moved)
      if (each.order != 0) write(action, each, each.value);
    return;
  }
  if (!is_write) {
    need_writers(action, event.address, event.size);
    const auto word = words_.find(event.address / 8);
    const bool is_first =
        word == words_.end() || std::ranges::none_of(word->second.writes, [&](const Write& each) {
          return overlaps(each, event.address, event.size);
        });
    const bool is_own = std::ranges::any_of(buffers_[thread], [&](const Buffered& each) {
      return overlaps(each.write, event.address, event.size);
    });
    if (is_first && !is_own) first_values_.try_emplace(event.address, event.size, event.value);
  }
  if (is_write) write(action, event, event.value);
  if (event.kind == HEDDLE_EVENT_update) write(action, event, event.after);
}

void RunNeeds::chain(uint32_t action, uint64_t object) {
  const auto [last, is_new] = last_on_object_.try_emplace(object, action);
  if (!is_new) need(action, std::exchange(last->second, action));
}

void RunNeeds::acquire(uint32_t action, uint64_t lock, bool reads) {
  if (depth_[lock << 16 ^ actions_[action].thread]++ > 0) return;  // again
  const uint32_t number = lock_numbers_.try_emplace(lock, static_cast<uint32_t>(locks_.size())).first->second;
  if (number == locks_.size()) locks_.emplace_back();
  section_of_[action] = {number, static_cast<uint32_t>(locks_[number].size())};
  locks_[number].push_back({.acquire = action, .reads = reads});
}

void RunNeeds::release(uint32_t action, uint64_t lock) {
  uint32_t& depth = depth_[lock << 16 ^ actions_[action].thread];
  if (depth == 0 || --depth > 0) return;
  std::vector<Section>& sections = locks_[lock_numbers_.at(lock)];
  for (size_t i = sections.size(); i-- > 0;) {
    if (actions_[sections[i].acquire].thread != actions_[action].thread) continue;
    sections[i].release = action;
    return;
  }
}

void RunNeeds::add_sync(uint32_t action, const heddle_event& event) {
  const uint32_t thread = actions_[action].thread;
  const auto refused = [&] {  // somebody had it: the last who took it before
    const auto number = lock_numbers_.find(event.address);
    if (number != lock_numbers_.end()) need(action, locks_[number->second].back().acquire);
  };
  switch (event.kind - HEDDLE_EVENT_sync) {
    case HEDDLE_SYNC_thread_create:
      creations_[thread].push_back(action);
      return;
    case HEDDLE_SYNC_thread_begin: {
      const ThreadName& name = run_.schedule.threads[thread].name;
      for (uint32_t t = 0; t < creations_.size() && !name.is_main(); ++t)
        if (run_.schedule.threads[t].name == name.parent() && name.index_in_parent() < creations_[t].size())
          need(action, creations_[t][name.index_in_parent()], true);
      return;
    }
    case HEDDLE_SYNC_thread_end:
      ends_[thread] = action;
      return;
    case HEDDLE_SYNC_thread_join:
    case HEDDLE_SYNC_thread_tryjoin:
    case HEDDLE_SYNC_thread_timedjoin:
      if (event.after == 0 && event.second < ends_.size()) need(action, ends_[event.second], true);
      return;
    case HEDDLE_SYNC_mutex_lock:
    case HEDDLE_SYNC_mutex_trylock:
    case HEDDLE_SYNC_mutex_timedlock:
    case HEDDLE_SYNC_spin_lock:
    case HEDDLE_SYNC_spin_trylock:
    case HEDDLE_SYNC_rwlock_wrlock:
    case HEDDLE_SYNC_rwlock_trywrlock:
    case HEDDLE_SYNC_rwlock_timedwrlock:
      return event.after == 0 ? acquire(action, event.address, false) : refused();
    case HEDDLE_SYNC_rwlock_rdlock:
    case HEDDLE_SYNC_rwlock_tryrdlock:
    case HEDDLE_SYNC_rwlock_timedrdlock:
      return event.after == 0 ? acquire(action, event.address, true) : refused();
    case HEDDLE_SYNC_mutex_unlock:
    case HEDDLE_SYNC_spin_unlock:
    case HEDDLE_SYNC_rwlock_unlock:
      return release(action, event.address);
    case HEDDLE_SYNC_cond_wait:
    case HEDDLE_SYNC_cond_timedwait:  // two events: the mutex is given up, and taken again
      chain(action, event.address);
      waits_[thread] = !waits_[thread];
      return waits_[thread] ? release(action, event.second) : acquire(action, event.second, false);
    case HEDDLE_SYNC_futex:
      if (event.size == HEDDLE_PART_compare || event.size == HEDDLE_PART_timed_compare)
        need_writers(action, event.address, 4);
      return chain(action, event.address);
    case HEDDLE_SYNC_attribute:
      // Nobody else goes on until its end, so the begin needs it.
      if (event.size == HEDDLE_PART_atomic_begin && alone_[thread] == kNone) alone_[thread] = action;
      if (event.size == HEDDLE_PART_atomic_end && alone_[thread] != kNone)
        need(std::exchange(alone_[thread], kNone), action);
      return;
    case HEDDLE_SYNC_yield:
    case HEDDLE_SYNC_sleep:
    case HEDDLE_SYNC_thread_self:
    case HEDDLE_SYNC_thread_equal:
    case HEDDLE_SYNC_thread_detach:
    case HEDDLE_SYNC_thread_testcancel:
    case HEDDLE_SYNC_thread_setcancel:
    case HEDDLE_SYNC_key_get:
    case HEDDLE_SYNC_key_set:
      return;
    case HEDDLE_SYNC_key_create:
    case HEDDLE_SYNC_key_delete:
    case HEDDLE_SYNC_thread_cancel:
    case HEDDLE_SYNC_thread_kill:
    case HEDDLE_SYNC_signal_delivery:
      return chain(action, kSystem);
    default:
      return chain(action, event.address == 0 ? kSystem : event.address);
  }
}

// ---- parts

std::optional<RunNeeds::Part> RunNeeds::smallest(std::span<const uint32_t> wanted,
                                                 std::span<const uint32_t> never, Reads reads) const {
  Part part(actions_.size()), forbidden(actions_.size());
  for (const uint32_t each : never)
    if (each != kNone) forbidden[each] = true;
  std::vector<uint32_t> open;
  bool possible = true;
  const auto add = [&](uint32_t action) {
    if (part[action]) return;
    part[action] = true;
    possible &= !forbidden[action];
    open.push_back(action);
  };
  for (const uint32_t each : wanted)
    if (each != kNone) add(each);
  std::vector<uint32_t> locks;  // that were taken since they were looked at
  while (possible && (!open.empty() || !locks.empty())) {
    if (!open.empty()) {
      const uint32_t action = open.back();
      open.pop_back();
      for (const uint32_t each : needs_[action]) add(each);
      if (reads == Reads::same)
        for (const uint32_t each : sources_[action]) add(each);
      if (section_of_[action].first != kNone) locks.push_back(section_of_[action].first);
      continue;
    }
    const std::vector<Section>& sections = locks_[locks.back()];
    std::erase(locks, uint32_t{locks.back()});
    bool taken = false, written = false;  // later in the run
    for (size_t i = sections.size(); i-- > 0;) {
      const Section& section = sections[i];
      if (!part[section.acquire]) continue;
      if (section.reads ? written : taken) {
        if (section.release == kNone) return std::nullopt;
        add(section.release);
      }
      taken = true;
      written |= !section.reads;
    }
  }
  if (!possible) return std::nullopt;
  return part;
}

bool RunNeeds::may_be(std::span<const uint32_t> wanted, std::span<const uint32_t> never) const {
  // Reads of a value that only one write has.
  Part part(actions_.size());
  std::vector<uint32_t> open;
  const auto add = [&](uint32_t action) {
    if (action == kNone || part[action]) return;
    part[action] = true;
    open.push_back(action);
  };
  for (const uint32_t each : wanted) add(each);
  while (!open.empty()) {
    const uint32_t action = open.back();
    open.pop_back();
    if (std::ranges::find(never, action) != never.end()) return false;
    for (const uint32_t each : always_needs_[action]) add(each);
    if (actions_[action].kind != StepKind::run) continue;
    const heddle_event& event = run_.kept_events[actions_[action].event];
    const bool reads = event.kind == HEDDLE_EVENT_read || event.kind == HEDDLE_EVENT_update;
    if (!reads || event.address % 8 + event.size > 8) continue;
    const Write* source = nullptr;
    bool found = true;
    const std::optional<uint64_t> first = first_value(event.address, event.size);
    for (const Write& each : writes_to_word(event.address)) {
      if (!overlaps(each, event.address, event.size) || each.store == action) continue;
      if (each.address != event.address || each.size != event.size) found = false;
      if (each.value != event.value) continue;
      found &= source == nullptr;
      source = &each;
    }
    if (found && source != nullptr && first && *first != event.value) add(source->store);
  }
  return true;
}

// What the memory held before anybody wrote, as far as somebody read it then, or wrote over it by an update.
std::optional<uint64_t> RunNeeds::first_value(uint64_t address, uint64_t size) const {
  const auto found = first_values_.find(address);
  if (found == first_values_.end() || found->second.first != size) return std::nullopt;
  return found->second.second;
}

uint32_t RunNeeds::outermost_lock(uint32_t action) const {
  uint32_t outermost = kNone;
  for (const std::vector<Section>& sections : locks_)
    for (const Section& each : sections)
      if (actions_[each.acquire].thread == actions_[action].thread && each.acquire < action &&
          (each.release == kNone || each.release > action))
        outermost = std::min(outermost, each.acquire);
  return outermost;
}

std::vector<uint32_t> RunNeeds::releases_behind(uint32_t action) const {
  std::vector<uint32_t> out;
  for (const std::vector<Section>& sections : locks_)
    for (const Section& each : sections)
      if (actions_[each.acquire].thread == actions_[action].thread && each.acquire < action &&
          each.release != kNone && each.release > action)
        out.push_back(each.release);
  return out;
}

RunNeeds::Part RunNeeds::largest(std::span<const uint32_t> never, uint32_t end) const {
  Part part(actions_.size()), forbidden(actions_.size());
  for (const uint32_t each : never)
    if (each != kNone) forbidden[each] = true;
  const auto is_held = [&](uint32_t action) {
    const auto& [lock, number] = section_of_[action];
    if (lock == kNone) return false;
    for (uint32_t i = number; i-- > 0;) {
      const Section& before = locks_[lock][i];
      if (!part[before.acquire] || (before.reads && locks_[lock][number].reads)) continue;
      if (before.release == kNone || !part[before.release]) return true;
      if (!before.reads) return false;  // nobody before had it any more
    }
    return false;
  };
  for (uint32_t action = 0; action < end; ++action) {
    if (forbidden[action] || is_held(action)) continue;
    const auto is_there = [&](uint32_t each) {
      return each < action ? part[each] : each < end && !forbidden[each];
    };
    part[action] =
        std::ranges::all_of(needs_[action], is_there) && std::ranges::all_of(sources_[action], is_there);
  }
  return part;
}

Schedule RunNeeds::schedule_of(const Part& part, std::span<const uint32_t> then) const {
  Schedule schedule{.header = run_.schedule.header};
  schedule.header.prefix = true;
  schedule.header.failure.clear();
  schedule.header.events.reset();
  schedule.header.values.clear();
  schedule.threads = run_.schedule.threads;
  const auto add = [&](const Step& step) {
    if (step.kind != StepKind::timeout && !schedule.steps.empty() && same_target(schedule.steps.back(), step))
      ++schedule.steps.back().count;
    else
      schedule.steps.push_back(step);
  };
  for (uint32_t i = 0; i < actions_.size(); ++i) {
    if (!part[i]) continue;
    const ThreadIndex thread(actions_[i].thread);
    switch (actions_[i].kind) {
      case StepKind::run:
        add(Step::run(thread, 1));
        break;
      case StepKind::flush:
        add(Step::flush(thread, Location::address(actions_[i].address), 1));
        break;
      case StepKind::timeout:
        add(Step::timeout(thread));
        break;
      case StepKind::wake:
        break;
    }
  }
  for (const uint32_t thread : then) add(Step::run(ThreadIndex(thread), 1));
  return schedule;
}

}  // namespace heddle
