#include "solve/windows_engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "solve/address_cases.h"
#include "solve/order_measures.h"
#include "solve/ordering.h"
#include "solve/ordering_search.h"
#include "solve/reads_from.h"
#include "solve/window_problem.h"

namespace heddle {
namespace {

// Propagations until a window is given up, and for each candidate; where it cannot begin earlier, more.
constexpr uint64_t kEffort = 2'000'000, kEffortPerCandidate = 1000, kMoreAtFirst = 20;
constexpr uint64_t kMostOpen = 8;  // a window has at most so many times the events that it should
constexpr uint64_t kNever = UINT64_MAX;

// When events had begun and ended at the latest and earliest, as the facts about time are understood
// (order_needs.h).
class Times {
 public:
  explicit Times(const Problem& problem) {
    const std::vector<ThreadTrace>& threads = problem.trace->threads;
    for (uint32_t t = 0; t < threads.size(); ++t) {
      const std::vector<Event>& events = threads[t].events;
      std::vector<uint64_t>& begun = begun_.emplace_back(events.size());
      std::vector<uint64_t>& ended = ended_.emplace_back(events.size(), kNever);
      uint64_t time = 0;
      for (size_t e = 0; e < events.size(); ++e) {
        if (!problem.is_doubted({.time = events[e].tsc_low, .thread = t}))
          time = std::max(time, events[e].tsc_low);
        begun[e] = time;
      }
      time = kNever;
      for (size_t e = events.size(); e-- > 0;) {
        const uint64_t high = events[e].tsc_high;
        if (high != 0 && !problem.is_doubted({.time = high, .thread = t}))
          time = std::min(time, high + problem.clock_slack);
        ended[e] = time;
      }
    }
  }

  uint32_t ended_by(uint32_t thread, uint64_t time) const { return count(ended_[thread], time + 1); }
  uint32_t begun_before(uint32_t thread, uint64_t time) const { return count(begun_[thread], time); }

  // Each `events` more have ended.
  std::vector<uint64_t> cuts(uint32_t events) const {
    std::vector<uint64_t> all, out;
    for (const std::vector<uint64_t>& ended : ended_)
      for (const uint64_t time : ended)
        if (time != kNever) all.push_back(time);
    std::ranges::sort(all);
    for (size_t i = events; i + events <= all.size(); i += events)
      if (out.empty() || all[i] > out.back()) out.push_back(all[i]);
    return out;
  }

 private:
  static uint32_t count(const std::vector<uint64_t>& times, uint64_t below) {
    return static_cast<uint32_t>(std::ranges::lower_bound(times, below) - times.begin());
  }

  std::vector<std::vector<uint64_t>> begun_, ended_;  // by thread and event, growing
};

class Windows {
 public:
  Windows(const Problem& problem, const SolveLimits& limits, uint32_t events)
      : problem_(problem),
        limits_(limits),
        events_(events),
        times_(problem),
        cuts_(times_.cuts(events)),
        facts_(problem.facts),
        creators_(problem.trace->threads.size()) {
    std::ranges::sort(facts_, {}, &OrderFact::after);
    const FailurePredicate& failure = problem.trace->failure;
    for (uint32_t t = 0; t < problem.trace->threads.size(); ++t) {
      const ThreadTrace& thread = problem.trace->threads[t];
      plans_.emplace_back(thread, t, failure.thread == t ? failure.condition : Expr{});
      for (uint32_t e = 0; e < thread.events.size(); ++e)
        if (thread.events[e].kind == EventKind::create) creators_[thread.events[e].address] = EventRef{t, e};
    }
  }

  // Not found: say why; nothing is proved.
  SolveAnswer solve() {
    if (cuts_.size() < 2) return {.why = "the facts about time leave too much open for windows"};
    go_to(0);
    size_t cut = 1;  // the window ends there, the one before it at the cut before
    while (cut <= cuts_.size()) {
      if (!solve_until(cut)) return {.why = why_, .statistics = statistics()};
      if (limits_.progress) limits_.progress(fmt::format("window {} of {} is solved", cut, cuts_.size()));
      ++cut;
    }
    SolveAnswer answer{.verdict = SolveVerdict::found, .statistics = statistics()};
    for (const EventRef& event : order_) answer.order.push_back({.thread = event.thread, .event = event.event});
    if (evaluate(*problem_.trace, problem_.model, answer.order).kind != Evaluation::Kind::holds)
      return {.why = "windows that were put together do not hold", .statistics = statistics()};
    if (is_refuted(problem_, answer.order)) return {.why = kRefuted, .statistics = statistics()};
    return answer;
  }

 private:
  // The state behind so many windows.
  void go_to(size_t windows) {
    marks_.resize(windows);
    order_.resize(windows == 0 ? 0 : marks_.back());
    state_.emplace(*problem_.trace, plans_);
    for (const EventRef& event : order_) state_->perform(event);
  }

  // From where it stands, or from earlier if it must: to the cut (behind the last: to the failure), and keeps
  // what belongs to the cut before.
  bool solve_until(size_t cut) {
    for (size_t back = 1;; back *= 2) {
      const std::optional<std::vector<EventRef>> found = solve_from_here(cut);
      if (limits_.reached()) why_ = "the time was over, or it was stopped";
      if (found) {
        keep(*found, cut);
        return true;
      }
      if (!why_.empty() || marks_.empty()) break;
      ++taken_back_;
      go_to(marks_.size() > back ? marks_.size() - back : 0);
    }
    if (why_.empty()) why_ = fmt::format("no order leads through window {} of {}", cut, cuts_.size());
    return false;
  }

  std::optional<std::vector<EventRef>> solve_from_here(size_t cut) {
    const bool last = cut == cuts_.size();
    const WindowProblem window(problem_, facts_, *state_, ends_of(cut), last);
    if (window.events() > kMostOpen * events_ * (cut - marks_.size() + 1)) {
      why_ = "the facts about time leave too much open for windows";
      return std::nullopt;
    }
    ++solved_;
    SolveAnswer answer;
    if (last) {
      answer = make_ordering_engine()->solve(window.problem(), limits_);
    } else {
      AddressCases addresses(window.trace());
      OrderingSearch search(window.problem(), window.problem(), addresses, {}, limits_);
      const uint64_t effort = kEffort + kEffortPerCandidate * search.candidates();
      answer = search.run({.propagations = marks_.empty() ? kMoreAtFirst * effort : effort});
    }
    if (answer.verdict != SolveVerdict::found) return std::nullopt;
    return window.events_of(answer.order);
  }

  // At most as much as is known to be possible without what is behind.
  WindowProblem::Ends ends_of(size_t cut) const {
    WindowProblem::Ends ends;
    for (uint32_t t = 0; t < creators_.size(); ++t) {
      const std::vector<Event>& events = problem_.trace->threads[t].events;
      const auto all = static_cast<uint32_t>(events.size());
      const bool last = cut == cuts_.size();
      const uint32_t begin = state_->position(t);
      uint32_t must = last ? all : times_.ended_by(t, cuts_[cut]);
      uint32_t may = last ? all : std::max({begin, must, times_.begun_before(t, cuts_[cut])});
      while (must > 0 && must < all && events[must].step == events[must - 1].step) --must;
      while (may < all && may > begin && events[may].step == events[may - 1].step) ++may;
      if (const auto& creator = creators_[t]; creator && creator->event >= ends.may[creator->thread])
        may = begin;
      ends.must.push_back(std::min(must, may));
      ends.may.push_back(may);
    }
    respect_facts(ends);
    return ends;
  }

  // What comes behind something that is not in the window is not in it either.
  void respect_facts(WindowProblem::Ends& ends) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t t = 0; t < ends.may.size(); ++t) {
        auto fact = std::ranges::lower_bound(facts_, EventRef{t, state_->position(t)}, {}, &OrderFact::after);
        for (; fact != facts_.end() && fact->after < EventRef{t, ends.may[t]}; ++fact) {
          if (fact->before.event < ends.may[fact->before.thread]) continue;
          const std::vector<Event>& events = problem_.trace->threads[t].events;
          uint32_t may = fact->after.event;
          while (may > state_->position(t) && events[may].step == events[may - 1].step) --may;
          ends.may[t] = may;
          ends.must[t] = std::min(ends.must[t], may);
          changed = true;
          break;
        }
      }
    }
  }

  // Up to each cut before the last one; all of it if there are no more.
  void keep(const std::vector<EventRef>& found, size_t cut) {
    std::vector<uint32_t> done;
    for (uint32_t t = 0; t < creators_.size(); ++t) done.push_back(state_->position(t));
    const auto ended = [&](size_t at) {
      for (uint32_t t = 0; t < done.size(); ++t)
        if (done[t] < times_.ended_by(t, cuts_[at])) return false;
      return true;
    };
    const auto inside_step = [&](const EventRef& event) {
      const std::vector<Event>& events = problem_.trace->threads[event.thread].events;
      return event.event + 1 < events.size() && events[event.event + 1].step == events[event.event].step;
    };
    for (const EventRef& event : found) {
      if (cut < cuts_.size() && marks_.size() >= cut) break;
      order_.push_back(event);
      state_->perform(event);
      done[event.thread] = event.event + 1;
      while (marks_.size() < cut && !inside_step(event) && ended(marks_.size()))
        marks_.push_back(order_.size());
    }
    // Where facts left something out there may be less than should have ended.
    while (marks_.size() < cut) marks_.push_back(order_.size());
  }

  std::map<std::string, uint64_t> statistics() const {
    return {{"windows", cuts_.size()}, {"windows solved", solved_}, {"windows taken back", taken_back_}};
  }

  const Problem& problem_;
  const SolveLimits& limits_;
  uint32_t events_;
  Times times_;
  std::vector<uint64_t> cuts_;
  std::vector<OrderFact> facts_;                   // by what comes after
  std::vector<std::optional<EventRef>> creators_;  // by thread
  std::vector<LivePlan> plans_;
  std::vector<EventRef> order_;  // so far
  std::vector<size_t> marks_;    // its length behind each window
  std::optional<CarriedState> state_;
  uint64_t solved_ = 0, taken_back_ = 0;
  std::string why_;
};

class WindowsEngine : public Engine {
 public:
  explicit WindowsEngine(uint32_t events) : events_(events) {}
  std::string_view name() const override { return "windows"; }

  SolveAnswer solve(const Problem& problem, const SolveLimits& limits) override {
    std::map<std::string, uint64_t> statistics;
    if (can_cut(problem)) {
      SolveAnswer answer = Windows(problem, limits, events_).solve();
      if (answer.verdict == SolveVerdict::found) answer = within(problem, limits, std::move(answer));
      if (answer.verdict == SolveVerdict::found || limits.reached()) return answer;
      statistics = std::move(answer.statistics);
    }
    SolveAnswer answer = make_ordering_engine()->solve(problem, limits);
    answer.statistics.merge(statistics);
    return answer;
  }

 private:
  bool can_cut(const Problem& problem) const {
    size_t events = 0;
    for (const ThreadTrace& thread : problem.trace->threads) {
      events += thread.events.size();
      for (const Event& event : thread.events)
        if (event.address_expression) return false;
    }
    return problem.clocks && problem.model == MemoryModel::sc && events >= 2 * events_;
  }

  static SolveAnswer within(const Problem& problem, const SolveLimits& limits, SolveAnswer answer) {
    const OrderMeasures measures = measure(problem, answer.order);
    answer.preemptions = measures.preemptions;
    answer.switches = measures.switches;
    answer.fewest = answer.preemptions == 0;
    if (!limits.most_preemptions || answer.preemptions <= *limits.most_preemptions) return answer;
    return {.why = fmt::format("the order that was found has {} preemptions", answer.preemptions),
            .statistics = std::move(answer.statistics)};
  }

  uint32_t events_;
};

}  // namespace

std::unique_ptr<Engine> make_windows_engine(uint32_t events) {
  return std::make_unique<WindowsEngine>(events);
}

}  // namespace heddle
