#include "solve/ordering_sync.h"

#include <algorithm>

namespace heddle {

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
