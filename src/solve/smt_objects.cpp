#include "solve/smt_objects.h"

#include <algorithm>

#include "base/result.h"

namespace heddle {

using Object = SmtObjectState;

uint32_t used_fields(EventKind kind) {
  const auto bits = [](std::initializer_list<unsigned> fields) {
    uint32_t out = 0;
    for (const unsigned field : fields) out |= 1u << field;
    return out;
  };
  switch (kind) {
    case EventKind::lock:
    case EventKind::unlock:
    case EventKind::lock_failed:
    case EventKind::wait_begin:
    case EventKind::wait_end:
    case EventKind::wait_timeout:
      return bits({Object::holder, Object::levels});
    case EventKind::read_lock:
    case EventKind::read_unlock:
    case EventKind::read_lock_failed:
    case EventKind::write_lock:
    case EventKind::write_unlock:
    case EventKind::write_lock_failed:
      return bits({Object::readers, Object::writer});
    case EventKind::barrier_arrive:
    case EventKind::barrier_leave:
      return bits({Object::count, Object::arrived, Object::inside, Object::round});
    case EventKind::semaphore_wait:
    case EventKind::semaphore_failed:
    case EventKind::semaphore_post:
    case EventKind::semaphore_value:
      return bits({Object::semaphore});
    case EventKind::once_begin:
    case EventKind::once_done:
    case EventKind::once_passed:
      return bits({Object::runner, Object::done});
    default:
      return 0;
  }
}

SmtObjectState SmtObjects::initial() {
  Object out;
  for (SmtTerm& field : out.fields) field = solver_.number(0);
  return out;
}

SmtObjectState SmtObjects::variable(uint64_t address, uint32_t used) {
  Object out = initial();
  out.used = used;
  for (unsigned i = 0; i < Object::kFields; ++i)
    if ((used >> i & 1) != 0) out.fields[i] = solver_.number_variable("object" + std::to_string(address));
  return out;
}

SmtTerm SmtObjects::same(const Object& a, const Object& b) {
  std::vector<SmtTerm> equal;
  for (unsigned i = 0; i < Object::kFields; ++i)
    if ((a.used >> i & 1) != 0) equal.push_back(solver_.equal(a.fields[i], b.fields[i]));
  return solver_.all(equal);
}

SmtTerm SmtObjects::can_lock(const Object& mutex, uint32_t thread, bool recursive) {
  const SmtTerm holder = mutex.fields[Object::holder];
  return recursive ? solver_.any({is(holder, 0), is(holder, thread + 1)}) : is(holder, 0);
}

SmtTerm SmtObjects::is_enabled(const Object& object, uint32_t thread, const Event& event,
                               const SmtBarrierSeen& seen) {
  const auto& field = object.fields;
  const SmtTerm read_locked = is_positive(field[Object::readers]),
                write_locked = is_positive(field[Object::writer]);
  switch (event.kind) {
    case EventKind::lock:
      return can_lock(object, thread, event.recursive);
    case EventKind::lock_failed:
      return solver_.no(can_lock(object, thread, event.recursive));
    case EventKind::unlock:
      return event.recursive ? is(field[Object::holder], thread + 1) : solver_.truth(true);
    case EventKind::read_lock:
      return solver_.no(write_locked);
    case EventKind::read_lock_failed:
      return write_locked;
    case EventKind::read_unlock:
      return read_locked;
    case EventKind::write_lock:
      return solver_.no(solver_.any({read_locked, write_locked}));
    case EventKind::write_lock_failed:
      return solver_.any({read_locked, write_locked});
    case EventKind::write_unlock:
      return is(field[Object::writer], thread + 1);
    case EventKind::barrier_arrive: {
      const SmtTerm last = solver_.equal(solver_.plus(field[Object::arrived], 1), field[Object::count]);
      return solver_.any({is(field[Object::count], 0), event.second != 0 ? last : solver_.no(last)});
    }
    case EventKind::barrier_leave:
      return solver_.any({is(field[Object::count], 0), seen.last,
                          solver_.no(solver_.equal(field[Object::round], seen.round))});
    case EventKind::semaphore_wait:
      return is_positive(field[Object::semaphore]);
    case EventKind::semaphore_failed:
      return is(field[Object::semaphore], 0);
    case EventKind::once_begin:
      return solver_.all({is(field[Object::done], 0), is(field[Object::runner], 0)});
    case EventKind::once_done:
      return is(field[Object::runner], thread + 1);
    case EventKind::once_passed:
      return is(field[Object::done], 1);
    case EventKind::destroy:
      return solver_.all({is(field[Object::arrived], 0), is(field[Object::inside], 0)});
    default:
      return solver_.truth(true);
  }
}

SmtObjectState SmtObjects::locked(Object mutex, uint32_t thread) {
  mutex.fields[Object::holder] = solver_.number(thread + 1);
  mutex.fields[Object::levels] = solver_.plus(mutex.fields[Object::levels], 1);
  return mutex;
}

SmtObjectState SmtObjects::unlocked(const Object& mutex, bool recursive) {
  Object out = mutex;
  const SmtTerm left = solver_.plus(mutex.fields[Object::levels], -1);
  const SmtTerm keeps = recursive ? is_positive(left) : solver_.truth(false);
  out.fields[Object::levels] = solver_.choose(keeps, left, solver_.number(0));
  out.fields[Object::holder] = solver_.choose(keeps, mutex.fields[Object::holder], solver_.number(0));
  return out;
}

SmtObjectState SmtObjects::after(const Object& object, uint32_t thread, const Event& event,
                                 const SmtBarrierSeen& seen) {
  Object out = object;
  auto& field = out.fields;
  switch (event.kind) {
    case EventKind::lock:
      return locked(object, thread);
    case EventKind::unlock:
      return unlocked(object, event.recursive);
    case EventKind::read_lock:
      field[Object::readers] = solver_.plus(field[Object::readers], 1);
      break;
    case EventKind::read_unlock:
      field[Object::readers] = solver_.plus(field[Object::readers], -1);
      break;
    case EventKind::write_lock:
      field[Object::writer] = solver_.number(thread + 1);
      break;
    case EventKind::write_unlock:
      field[Object::writer] = solver_.number(0);
      break;
    case EventKind::barrier_arrive: {
      const SmtTerm unknown = is(object.fields[Object::count], 0);
      const SmtTerm arrived = solver_.plus(object.fields[Object::arrived], 1);
      const SmtTerm last = solver_.equal(arrived, object.fields[Object::count]);
      const auto unless_unknown = [&](Object::Field which, SmtTerm if_last, SmtTerm otherwise) {
        field[which] = solver_.choose(unknown, object.fields[which], solver_.choose(last, if_last, otherwise));
      };
      unless_unknown(Object::arrived, solver_.number(0), arrived);
      unless_unknown(Object::inside, object.fields[Object::inside],
                     solver_.plus(object.fields[Object::inside], 1));
      unless_unknown(Object::round, solver_.plus(object.fields[Object::round], 1),
                     object.fields[Object::round]);
      break;
    }
    case EventKind::barrier_leave: {
      const SmtTerm inside = object.fields[Object::inside];
      const SmtTerm leaves = solver_.all(
          {solver_.no(is(object.fields[Object::count], 0)), solver_.no(seen.last), is_positive(inside)});
      field[Object::inside] = solver_.choose(leaves, solver_.plus(inside, -1), inside);
      break;
    }
    case EventKind::semaphore_wait:
      field[Object::semaphore] = solver_.plus(field[Object::semaphore], -1);
      break;
    case EventKind::semaphore_post:
      field[Object::semaphore] = solver_.plus(field[Object::semaphore], 1);
      break;
    case EventKind::once_begin:
      field[Object::runner] = solver_.number(thread + 1);
      break;
    case EventKind::once_done:
      field[Object::runner] = solver_.number(0);
      field[Object::done] = solver_.number(event.second == 0 ? 1 : 0);
      break;
    case EventKind::init:
    case EventKind::destroy: {
      const int64_t count = event.kind == EventKind::init ? static_cast<int64_t>(event.second) : 0;
      for (const auto which :
           {Object::holder, Object::levels, Object::readers, Object::writer, Object::runner, Object::done})
        field[which] = solver_.number(0);
      field[Object::semaphore] = field[Object::count] = solver_.number(count);
      break;
    }
    default:
      break;
  }
  return out;
}

SmtBarrierSeen SmtObjects::seen_after(const Object& object, const Event& event, const SmtBarrierSeen& seen) {
  const SmtTerm unknown = is(object.fields[Object::count], 0);
  const bool arrives = event.kind == EventKind::barrier_arrive;
  const SmtTerm round = arrives ? object.fields[Object::round] : solver_.number(0);
  const SmtTerm last =
      arrives ? solver_.equal(solver_.plus(object.fields[Object::arrived], 1), object.fields[Object::count])
              : solver_.truth(false);
  return {.round = solver_.choose(unknown, seen.round, round),
          .last = solver_.choose(unknown, seen.last, last)};
}

// ---- blocks

// Whether the last block that begins at the address or before reaches it.
SmtTerm SmtObjects::covers(const std::map<uint64_t, SmtTerm>& blocks, uint64_t address) {
  SmtTerm out = solver_.truth(false);
  for (const auto& [begin, size] : blocks) {
    if (begin > address) break;
    const SmtTerm reaches = solver_.less(solver_.number(static_cast<int64_t>(address - begin)), size);
    out = solver_.choose(is_positive(size), reaches, out);
  }
  return out;
}

SmtTerm SmtObjects::is_free(const SmtBlockState& blocks, uint64_t address, uint64_t size) {
  std::vector<SmtTerm> used = {covers(blocks.used, address)};
  for (const auto& [begin, length] : blocks.used)
    if (begin > address && begin - address < size) used.push_back(is_positive(length));
  return solver_.no(solver_.any(used));
}

SmtTerm SmtObjects::is_released(const SmtBlockState& blocks, uint64_t address) {
  return covers(blocks.released, address);
}

SmtBlockState SmtObjects::after(const SmtBlockState& blocks, const Event& event) {
  SmtBlockState out = blocks;
  const uint64_t at = event.address, size = std::max<uint64_t>(event.size, 1);
  const SmtTerm none = solver_.number(0), length = solver_.number(static_cast<int64_t>(size));
  if (event.kind == EventKind::release) {
    out.released[at] = solver_.choose(is_positive(blocks.used.at(at)), blocks.used.at(at), length);
    out.used[at] = none;
    return out;
  }
  // What was released there is in use again: the last that begins before, if it reaches it, and those within.
  SmtTerm later = solver_.truth(false);  // there is one between
  for (auto block = blocks.released.rbegin(); block != blocks.released.rend(); ++block) {
    const auto& [begin, old] = *block;
    SmtTerm& now = out.released.at(begin);
    if (begin > at) {
      if (begin - at < size) now = none;
      continue;
    }
    const SmtTerm reaches = solver_.less(solver_.number(static_cast<int64_t>(at - begin)), old);
    now = solver_.choose(solver_.all({solver_.no(later), reaches}), none, old);
    later = solver_.any({later, is_positive(old)});
  }
  out.used[at] = length;
  return out;
}

}  // namespace heddle
