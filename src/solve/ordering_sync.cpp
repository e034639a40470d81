#include "solve/ordering_sync.h"

#include <algorithm>

namespace heddle {
namespace {

bool is_barrier(EventKind kind) {
  return kind == EventKind::barrier_arrive || kind == EventKind::barrier_leave;
}

// Of an object whose state decides what is possible, or that changes it.
bool has_state(EventKind kind) {
  switch (kind) {
    case EventKind::fence:
    case EventKind::create:
    case EventKind::start:
    case EventKind::exit:
    case EventKind::join:
    case EventKind::detach:
    case EventKind::futex_wait:
    case EventKind::futex_wake:
    case EventKind::sync:
      return false;
    default:
      return !is_access(kind);
  }
}

}  // namespace

OrderingSync::OrderingSync(const OrderingModel& model, SatSolver& solver, OrderingTheory& theory,
                           OrderingValues& values)
    : model_(model), solver_(solver), theory_(theory), values_(values) {
  make_groups();
  find_sections();
}

// ---- groups of objects

uint32_t OrderingSync::find_group(uint32_t group) const {
  while (parents_[group] != group) group = parents_[group];
  return group;
}

void OrderingSync::join_groups(uint32_t a, uint32_t b) {
  parents_[find_group(a)] = find_group(b);
}

uint32_t OrderingSync::group(uint64_t address, bool block) {
  const auto [found, is_new] =
      (block ? group_of_block_ : group_of_address_).emplace(address, static_cast<uint32_t>(parents_.size()));
  if (is_new) parents_.push_back(found->second);
  return found->second;
}

uint32_t OrderingSync::group_of(const Event& event) const {
  if (!has_state(event.kind)) return kNone;
  return find_group((is_block(event.kind) ? group_of_block_ : group_of_address_).at(event.address));
}

void OrderingSync::make_groups() {
  const Trace& trace = *model_.problem().trace;
  const auto add = [&](const Event& event) {
    if (!has_state(event.kind)) return;
    const uint32_t own = group(event.address, is_block(event.kind));
    if (is_wait(event.kind)) join_groups(own, group(event.second, false));
  };
  for (const ThreadTrace& thread : trace.threads) {
    const Event* wait = nullptr;
    const Event* barrier = nullptr;
    for (const Event& event : thread.events) {
      add(event);
      // A thread remembers where it began to wait.
      const Event*& last = is_wait(event.kind) ? wait : barrier;
      if (!is_wait(event.kind) && !is_barrier(event.kind)) continue;
      if (last != nullptr) join_groups(group(last->address, false), group(event.address, false));
      last = &event;
    }
  }
  for (const FailurePredicate::Waiting& waiting : trace.failure.waiting) {
    add(waiting.operation);
    for (const Event& event : trace.threads[waiting.thread].events)
      if ((is_wait(event.kind) && is_wait(waiting.operation.kind)) ||
          (is_barrier(event.kind) && is_barrier(waiting.operation.kind)))
        join_groups(group(event.address, false), group(waiting.operation.address, false));
  }
  group_blocks();
  groups_.resize(trace.threads.size());
  for (uint32_t t = 0; t < trace.threads.size(); ++t)
    for (const Event& event : trace.threads[t].events) groups_[t].push_back(group_of(event));
}

// Blocks that overlap.
void OrderingSync::group_blocks() {
  const Trace& trace = *model_.problem().trace;
  std::map<uint64_t, uint64_t> ends;
  const auto add = [&](uint64_t address, uint64_t size) {
    group(address, true);
    uint64_t& end = ends[address];
    end = std::max(end, address + std::max<uint64_t>(size, 1));
  };
  for (const ThreadTrace& thread : trace.threads)
    for (const Event& event : thread.events)
      if (is_block(event.kind)) add(event.address, event.size);
  for (const FailurePredicate::Waiting& waiting : trace.failure.waiting)
    if (is_block(waiting.operation.kind)) add(waiting.operation.address, waiting.operation.size);
  if (trace.failure.kind == FailurePredicate::Kind::freed) add(trace.failure.address, 1);
  uint64_t reach = 0, first = 0;
  for (const auto& [address, end] : ends) {
    if (address < reach)
      join_groups(group(first, true), group(address, true));
    else
      first = address;
    reach = std::max(reach, end);
  }
}

// ---- sections of mutexes

void OrderingSync::note_mutex_event(uint32_t thread, uint32_t number,
                                    std::map<uint64_t, std::pair<uint32_t, uint64_t>>& held) {
  const Event& event = model_.event(thread, number);
  const uint64_t address = is_wait(event.kind) ? event.second : event.address;
  const bool begins = event.kind == EventKind::lock || event.kind == EventKind::wait_end ||
                      event.kind == EventKind::wait_timeout;
  if (!begins && event.kind != EventKind::unlock && event.kind != EventKind::wait_begin) return;
  Mutex& mutex = mutexes_[address];
  auto& [section, depth] = held[address];
  if (begins) {
    if (++depth > 1) {
      mutex.regular &= event.recursive;
      return;
    }
    section = static_cast<uint32_t>(mutex.sections.size());
    mutex.sections.push_back({.thread = thread, .begin = number, .end = kNone});
  } else if (depth == 0) {
    mutex.regular = false;
  } else if (--depth == 0) {
    mutex.sections[section].end = number;
  } else {
    mutex.regular &= event.recursive;
  }
}

void OrderingSync::find_sections() {
  const std::vector<ThreadTrace>& threads = model_.problem().trace->threads;
  for (uint32_t t = 0; t < threads.size(); ++t) {
    std::map<uint64_t, std::pair<uint32_t, uint64_t>> held;  // by mutex: section, depth
    for (uint32_t e = 0; e < threads[t].events.size(); ++e) note_mutex_event(t, e, held);
  }
  // Who makes a mutex anew while it is used frees it.
  for (uint32_t t = 0; t < threads.size(); ++t)
    for (uint32_t e = 0; e < threads[t].events.size(); ++e) {
      const Event& event = threads[t].events[e];
      if (event.kind != EventKind::init && event.kind != EventKind::destroy) continue;
      const auto mutex = mutexes_.find(event.address);
      if (mutex == mutexes_.end()) continue;
      const Moment here = model_.moment(t, e);
      mutex->second.regular &= std::ranges::all_of(mutex->second.sections, [&](const Section& section) {
        const bool after = model_.order.is_before(here, model_.moment(section.thread, section.begin));
        return after || (section.end != kNone &&
                         model_.order.is_before(model_.moment(section.thread, section.end), here));
      });
    }
}

Literal OrderingSync::before(Moment a, Moment b) {
  const Literal literal = theory_.before(a, b);
  theory_.imply_known(literal);
  return literal;
}

void OrderingSync::add_exclusion(const Section& a, const Section& b) {
  const Moment a_begin = model_.moment(a.thread, a.begin), b_begin = model_.moment(b.thread, b.begin);
  std::vector<Literal> clause = {~before(a_begin, model_.end), ~before(b_begin, model_.end)};
  if (a.end != kNone) clause.push_back(before(model_.moment(a.thread, a.end), b_begin));
  if (b.end != kNone) clause.push_back(before(model_.moment(b.thread, b.end), a_begin));
  solver_.add_lemma(std::move(clause));
}

void OrderingSync::add_clauses() {
  for (const auto& [address, mutex] : mutexes_) {
    if (!mutex.regular) continue;
    std::vector<std::vector<OrderingTheory::Section>> sections(model_.problem().trace->threads.size());
    for (const Section& section : mutex.sections)
      sections[section.thread].push_back(
          {.begin = model_.moment(section.thread, section.begin),
           .end = section.end == kNone ? model_.end : model_.moment(section.thread, section.end)});
    theory_.add_exclusive(sections);
  }
  if (model_.last_moment)
    for (Moment moment_before = 0; moment_before < model_.end; ++moment_before) {
      if (moment_before == *model_.last_moment) continue;
      const Literal clause[] = {~before(moment_before, model_.end), before(moment_before, *model_.last_moment)};
      solver_.add_clause(clause);
    }
  // A thread that is still to be joined has not come to its end.
  const Trace& trace = *model_.problem().trace;
  for (const FailurePredicate::Waiting& waiting : trace.failure.waiting) {
    if (waiting.operation.kind != EventKind::join) continue;
    const std::vector<Event>& events = trace.threads[waiting.operation.address].events;
    const auto exit = std::ranges::find(events, EventKind::exit, &Event::kind);
    if (exit == events.end()) continue;
    const auto number = static_cast<uint32_t>(exit - events.begin());
    const Literal clause =
        ~before(model_.moment(static_cast<uint32_t>(waiting.operation.address), number), model_.end);
    solver_.add_clause({&clause, 1});
  }
}

}  // namespace heddle
