#include "report/flip.h"

#include <algorithm>

#include "replay/interrupt.h"

namespace heddle {

std::string_view text_of(FlipVerdict verdict) {
  switch (verdict) {
    case FlipVerdict::passes:
      return "passes";
    case FlipVerdict::fails:
      return "fails";
    case FlipVerdict::other:
      return "fails in another way";
    case FlipVerdict::impossible:
      return "impossible";
  }
  return "";
}

Flipper::Flipper(const RunOrder& order, Executor& executor, const RunRules& rules)
    : order_(order), executor_(executor), rules_(rules), identity_(order.run().failure->identity) {
  // A changed order may lead into a loop that waits for ever.
  if (rules_.max_events == 0) rules_.max_events = 20 * order.all_events() + 200'000;
}

bool Flipper::over() const {
  return interrupted() || std::chrono::steady_clock::now() >= deadline_;
}

Result<FlipVerdict> Flipper::run(const std::vector<Moment>& moments, Strategy strategy, uint64_t seed) {
  const Schedule schedule = schedule_of(moments, order_.run().schedule);
  ++runs_;
  last_ = HEDDLE_TRY(executor_.execute({.strategy = strategy,
                                        .seed = seed,
                                        .schedule = &schedule,
                                        .lenience = Lenience::leave_out,
                                        .rules = rules_,
                                        .keep_schedule = true,
                                        .keep_events = true,
                                        .deadline = deadline_}));
  if (last_.outcome == Outcome::passed) return FlipVerdict::passes;
  if (last_.outcome == Outcome::failed)
    return last_.failure->identity == identity_ ? FlipVerdict::fails : FlipVerdict::other;
  return FlipVerdict::impossible;
}

// `reached`: moments up to and including the second event of the pair.
std::vector<Moment> Flipper::flipped(const ConflictPair& pair, size_t& reached) const {
  const uint32_t held = order_.event(pair.first).thread, other = order_.event(pair.second).thread;
  const std::vector<Moment>& all = order_.moments();
  const size_t from = order_.moment_of(pair.from), to = std::min(order_.moment_of(pair.second), all.size());
  const auto at = [&](size_t position) { return all.begin() + static_cast<ptrdiff_t>(position); };
  std::vector<Moment> out(all.begin(), at(from)), caught_up;
  // A wait whose time is over belongs to what the thread does next.
  while (!out.empty() && out.back().thread == held && out.back().kind != StepKind::run) {
    caught_up.insert(caught_up.begin(), out.back());
    out.pop_back();
  }
  for (size_t i = from; i < to; ++i) {
    const bool waits = pair.alone ? all[i].thread != other : all[i].thread == held;
    (waits ? caught_up : out).push_back(all[i]);
  }
  // One that the failing run did not come to may be some events away.
  const auto& theirs = order_.events_of(other);
  const auto performed =
      static_cast<size_t>(std::ranges::lower_bound(theirs, order_.event_count()) - theirs.begin());
  const size_t ordinal = order_.ordinal(pair.second);
  const size_t more = order_.is_pending(pair.second) ? ordinal - std::min(ordinal, performed) + 1 : 1;
  out.insert(out.end(), more, {.kind = StepKind::run, .thread = other});
  reached = out.size();
  out.insert(out.end(), caught_up.begin(), caught_up.end());
  if (to < all.size()) out.insert(out.end(), at(to + 1), all.end());
  return out;
}

// By names: threads may have been created in another order.
bool Flipper::is_flipped(const ConflictPair& pair) const {
  const auto thread_in_last = [&](size_t event) {
    return last_.schedule.find(order_.run().schedule.threads[order_.event(event).thread].name);
  };
  const auto first = thread_in_last(pair.first), second = thread_in_last(pair.second);
  if (!second) return false;
  const size_t wanted_second = order_.ordinal(pair.second), wanted_first = order_.ordinal(pair.first);
  size_t done_first = 0, done_second = 0;
  for (const heddle_event& event : last_.kept_events) {
    if (first && event.thread == first->value && done_first++ == wanted_first) return false;
    if (event.thread == second->value) {
      if (done_second >= wanted_second && event.site == order_.event(pair.second).site) return true;
      ++done_second;
    }
  }
  return false;
}

Result<FlipVerdict> Flipper::flip(const ConflictPair& pair) {
  size_t reached = 0;
  const FlipVerdict verdict = HEDDLE_TRY(run(flipped(pair, reached), Strategy::nonpreemptive(), 1));
  return is_flipped(pair) ? verdict : FlipVerdict::impossible;
}

Result<FlipVerdict> Flipper::flip_and_run_on(const ConflictPair& pair, uint64_t seed) {
  size_t reached = 0;
  std::vector<Moment> moments = flipped(pair, reached);
  moments.resize(reached);
  const FlipVerdict verdict =
      HEDDLE_TRY(run(moments, seed == 0 ? Strategy::nonpreemptive() : Strategy::random(), seed));
  return is_flipped(pair) ? verdict : FlipVerdict::impossible;
}

Result<FlipVerdict> Flipper::keep_and_run_on(size_t event, uint64_t seed) {
  const std::vector<Moment>& all = order_.moments();
  const size_t end = std::min(order_.moment_of(event) + 1, all.size());
  return run({all.begin(), all.begin() + static_cast<ptrdiff_t>(end)}, Strategy::random(), seed);
}

Result<FlipVerdict> Flipper::run_others_on(uint32_t thread, size_t events) {
  std::vector<Moment> moments = order_.moments();
  while (!moments.empty() && moments.back().thread == thread) {
    const bool is_event = moments.back().kind == StepKind::run;
    moments.pop_back();
    if (is_event) break;
  }
  for (uint32_t other = 0; other < order_.run().schedule.threads.size(); ++other)
    if (other != thread) moments.insert(moments.end(), events, {.kind = StepKind::run, .thread = other});
  return run(moments, Strategy::nonpreemptive(), 1);
}

Result<FlipVerdict> Flipper::show_at_once(size_t store) {
  const std::vector<Moment>& all = order_.moments();
  const bool pso = order_.run().schedule.header.memory_model == MemoryModel::pso;
  const size_t performed = order_.moment_of(store), visible = order_.visible_at(store);
  const uint32_t thread = order_.event(store).thread;
  std::vector<Moment> out, early;
  // Behind it in the order: flushes of this thread up to its own (TSO), to the same location (PSO). One of a
  // store that was emptied without a step has none.
  std::vector<bool> moved(all.size());
  for (size_t i = performed + 1; i <= std::min(visible, all.size() - 1); ++i) {
    if (all[i].kind != StepKind::flush || all[i].thread != thread || all[i].event == kNoEvent) continue;
    if (all[i].event > store) continue;
    if (pso && order_.event(all[i].event).address != order_.event(store).address) continue;
    moved[i] = true;
    early.push_back(all[i]);
  }
  if (early.empty()) {
    // It was emptied without a step, or never: as many as are buffered then. Addresses are the same in all
    // runs.
    Moment flush{.kind = StepKind::flush, .thread = thread, .event = store};
    if (pso) flush.location = std::make_shared<const Location>(Location::address(order_.event(store).address));
    size_t buffered = 0;
    for (const size_t each : order_.events_of(thread))
      if (each <= store && !order_.is_pending(each) && order_.event(each).kind == HEDDLE_EVENT_write &&
          order_.visible_at(each) > performed &&
          (!pso || order_.event(each).address == order_.event(store).address))
        ++buffered;
    early.assign(buffered, flush);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (!moved[i]) out.push_back(all[i]);
    if (i == performed) out.insert(out.end(), early.begin(), early.end());
  }
  return run(out, Strategy::nonpreemptive(), 1);
}

Result<FlipVerdict> Flipper::without_buffers() {
  std::vector<Moment> out;
  for (const Moment& moment : order_.moments()) {
    if (moment.kind == StepKind::flush) continue;
    out.push_back(moment);
  }
  RunRules rules = rules_;
  rules.memory_model = MemoryModel::sc;
  std::swap(rules, rules_);
  Result<FlipVerdict> verdict = run(out, Strategy::nonpreemptive(), 1);
  std::swap(rules, rules_);
  return verdict;
}

}  // namespace heddle
