#include "solve/search_plan.h"

#include <algorithm>

namespace heddle {
namespace {

// The threads that the failure is about have to come to their ends; so do those they join, up to their exits,
// and those who create them, up to there.
std::vector<uint32_t> find_needed(const Trace& trace) {
  std::vector<uint32_t> needed(trace.threads.size());
  std::vector<uint32_t> open;
  const auto need = [&](uint32_t thread, uint32_t events) {
    if (needed[thread] >= events) return;
    needed[thread] = events;
    open.push_back(thread);
  };
  const auto whole = [&](uint32_t thread) {
    need(thread, static_cast<uint32_t>(trace.threads[thread].events.size()));
  };
  using Kind = FailurePredicate::Kind;
  const FailurePredicate& failure = trace.failure;
  if (failure.kind == Kind::deadlock)
    for (const FailurePredicate::Waiting& waiting : failure.waiting) whole(waiting.thread);
  else if (failure.kind != Kind::none)
    whole(failure.thread);
  while (!open.empty()) {
    const uint32_t thread = open.back();
    open.pop_back();
    for (uint32_t t = 0; t < trace.threads.size(); ++t)
      for (uint32_t e = 0; e < trace.threads[t].events.size(); ++e) {
        const Event& event = trace.threads[t].events[e];
        if (event.kind == EventKind::create && event.address == thread) need(t, e + 1);
      }
    for (uint32_t e = 0; e < needed[thread]; ++e) {
      const Event& event = trace.threads[thread].events[e];
      if (event.kind != EventKind::join) continue;
      const auto joined = static_cast<uint32_t>(event.address);
      const std::vector<Event>& events = trace.threads[joined].events;
      const auto exit = std::ranges::find(events, EventKind::exit, &Event::kind);
      if (exit != events.end()) need(joined, static_cast<uint32_t>(exit - events.begin()) + 1);
    }
  }
  return needed;
}

}  // namespace

SearchPlan::SearchPlan(const Problem& of)
    : problem(&of), needs(of), resources(of), needed(find_needed(*of.trace)) {
  const FailurePredicate& failure = of.trace->failure;
  for (uint32_t t = 0; t < of.trace->threads.size(); ++t) {
    const ThreadTrace& thread = of.trace->threads[t];
    values.emplace_back(thread, t, failure.thread == t ? failure.condition : Expr{});
    const std::vector<Event>& events = thread.events;
    std::vector<uint32_t>& ends = step_end.emplace_back(events.size());
    for (size_t e = events.size(); e-- > 0;)
      ends[e] = e + 1 < events.size() && events[e + 1].step == events[e].step ? ends[e + 1]
                                                                              : static_cast<uint32_t>(e + 1);
    uint64_t time = 0;
    std::vector<uint64_t>& about = times.emplace_back();
    for (const Event& event : events) about.push_back(time = std::max(time, event.tsc_low));
  }
}

}  // namespace heddle
