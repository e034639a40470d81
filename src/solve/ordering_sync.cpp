#include "solve/ordering_sync.h"

#include <algorithm>

namespace heddle {
namespace {

bool is_wait(EventKind kind) {
  return kind == EventKind::wait_begin || kind == EventKind::wait_end || kind == EventKind::wait_timeout;
}
bool is_block(EventKind kind) {
  return kind == EventKind::allocate || kind == EventKind::release;
}
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
  for (const ThreadTrace& thread : trace.threads)
    for (const Event& event : thread.events)
      if (is_block(event.kind)) {
        uint64_t& end = ends[event.address];
        end = std::max(end, event.address + std::max<uint64_t>(event.size, 1));
      }
  if (trace.failure.kind == FailurePredicate::Kind::freed) {
    group(trace.failure.address, true);
    uint64_t& end = ends[trace.failure.address];
    end = std::max(end, trace.failure.address + 1);
  }
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

// ---- lemmas

// Who holds the regular mutex, by the sequence.
bool OrderingSync::exclude_holder(const OrderingSequence& sequence, EventRef refused) {
  const Event& event = model_.event(refused.thread, refused.event);
  if (event.kind != EventKind::lock) return false;
  const Mutex& mutex = mutexes_.at(event.address);
  if (!mutex.regular) return false;
  const auto own = std::ranges::find_if(mutex.sections, [&](const Section& section) {
    return section.thread == refused.thread && section.begin == refused.event;
  });
  if (own == mutex.sections.end()) return false;
  std::vector<bool> done(model_.order.moments());
  for (const Moment moment : sequence.moments()) done[moment] = true;
  for (const Section& other : mutex.sections) {
    if (other.thread == refused.thread || !done[model_.moment(other.thread, other.begin)]) continue;
    if (other.end != kNone && done[model_.moment(other.thread, other.end)]) continue;
    add_exclusion(*own, other);
    return true;
  }
  return false;
}

std::vector<Literal> OrderingSync::order_of(const OrderingSequence& sequence, uint32_t of,
                                            std::optional<EventRef> stop, std::vector<EventRef>& last,
                                            std::vector<EventRef>& next) {
  const std::vector<ThreadTrace>& threads = model_.problem().trace->threads;
  std::vector<uint32_t> done(threads.size());
  std::vector<Literal> order;
  std::optional<EventRef> before_it;
  std::vector<std::optional<EventRef>> last_of(threads.size());
  bool is_stopped = false;
  for (size_t i = 0; i < sequence.moments().size() && !is_stopped; ++i) {
    const MomentContent& content = model_.contents[sequence.moments()[i]];
    if (content.flushed != kInitial) continue;
    for (uint32_t e = content.first_event; e < content.behind; ++e) {
      const EventRef here{content.thread, e};
      is_stopped = here == stop;
      if (is_stopped) break;
      done[content.thread] = e + 1;
      if (groups_[content.thread][e] != of) continue;
      if (before_it && before_it->thread != here.thread)
        order.push_back(before(moment(*before_it), moment(here)));
      before_it = last_of[content.thread] = here;
    }
  }
  for (uint32_t t = 0; t < threads.size(); ++t) {
    if (last_of[t]) last.push_back(*last_of[t]);
    const auto rest = std::find(groups_[t].begin() + done[t], groups_[t].end(), of);
    if (rest != groups_[t].end()) next.push_back({t, static_cast<uint32_t>(rest - groups_[t].begin())});
  }
  // The last one of all comes last.
  if (before_it) std::ranges::partition(last, [&](const EventRef& ref) { return ref == *before_it; });
  return order;
}

std::vector<Literal> OrderingSync::order_until(const OrderingSequence& sequence, EventRef at) {
  std::vector<EventRef> last, next;
  std::vector<Literal> order;
  if (const uint32_t of = groups_[at.thread][at.event]; of != kNone)
    order = order_of(sequence, of, at, last, next);
  if (!last.empty() && last[0].thread != at.thread) order.push_back(before(moment(last[0]), moment(at)));
  for (const EventRef& other : next)
    if (other.thread != at.thread) order.push_back(before(moment(at), moment(other)));
  return order;
}

void OrderingSync::add_refusal(const OrderingSequence& sequence, EventRef refused) {
  if (exclude_holder(sequence, refused)) return;
  std::vector<Literal> lemma = {~before(moment(refused), model_.end)};
  for (const Literal literal : order_until(sequence, refused)) lemma.push_back(~literal);
  solver_.add_lemma(std::move(lemma));
}

// What is read of semaphores follows from the order.
bool OrderingSync::add_counts(const OrderingSequence& sequence) {
  bool any = false;
  for (const OrderingSequence::Count& count : sequence.counts()) {
    const Literal value =
        values_.count_literal(model_.read_event(count.event.thread, count.event.event), count.count);
    if (solver_.is_true(value)) continue;
    std::vector<Literal> lemma = {value};
    for (const Literal literal : order_until(sequence, count.event)) lemma.push_back(~literal);
    solver_.add_lemma(std::move(lemma));
    any = true;
  }
  return any;
}

void OrderingSync::add_goal(const OrderingSequence& sequence, uint32_t of) {
  std::vector<EventRef> last, next;
  std::vector<Literal> lemma;
  if (of != kNone)
    for (const Literal literal : order_of(sequence, of, std::nullopt, last, next)) lemma.push_back(~literal);
  for (const EventRef& ref : last) lemma.push_back(~before(moment(ref), model_.end));
  for (const EventRef& ref : next) lemma.push_back(before(moment(ref), model_.end));
  solver_.add_lemma(std::move(lemma));
}

bool OrderingSync::add_lemmas(const OrderingSequence& sequence) {
  for (const EventRef& refused : sequence.refused()) add_refusal(sequence, refused);
  if (!sequence.refused().empty() || add_counts(sequence)) return true;
  const FailurePredicate& failure = model_.problem().trace->failure;
  bool any = false;
  if (failure.kind == FailurePredicate::Kind::freed && !sequence.sync().is_released(failure.address)) {
    add_goal(sequence, find_group(group_of_block_.at(failure.address)));
    any = true;
  }
  if (failure.kind == FailurePredicate::Kind::deadlock)
    for (const FailurePredicate::Waiting& waiting : failure.waiting)
      if (sequence.sync().is_enabled(waiting.thread, waiting.operation)) {
        add_goal(sequence, group_of(waiting.operation));
        any = true;
      }
  return any;
}

// Only behind something that changes the state of an object, and only where the state matters at the end.
std::vector<EventRef> OrderingSync::cuts() const {
  const FailurePredicate::Kind failure = model_.problem().trace->failure.kind;
  std::vector<EventRef> cuts;
  if (failure != FailurePredicate::Kind::freed && failure != FailurePredicate::Kind::deadlock) return cuts;
  for (const MomentContent& content : model_.contents)
    for (uint32_t e = content.first_event; e + 1 < content.behind; ++e)
      if (!is_access(model_.event(content.thread, e).kind)) cuts.push_back({content.thread, e + 1});
  return cuts;
}

}  // namespace heddle
