#include "solve/probe_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <random>

#include "solve/guided_run.h"
#include "solve/reads_from.h"

namespace heddle {
namespace {

// Work of a pass with one guide: runs as long as the whole trace, for one stop and for two.
constexpr uint64_t kRunsOfPass = 30;
constexpr uint64_t kMovesOfPass = 20'000;  // at least, for short traces
constexpr unsigned kPasses = 50;

// How likely it is that leaving a thread before its event matters; the smallest number first.
enum class PlaceKind : uint8_t { unprotected, before_lock, other };
constexpr size_t kPlaceKinds = 3;

std::vector<PlaceKind> kinds_of(const ThreadTrace& thread) {
  std::vector<PlaceKind> kinds;
  uint64_t held = 0;
  for (const Event& event : thread.events) {
    PlaceKind kind = PlaceKind::other;
    switch (event.kind) {
      case EventKind::lock:
      case EventKind::read_lock:
      case EventKind::write_lock:
        kind = PlaceKind::before_lock;
        ++held;
        break;
      case EventKind::unlock:
      case EventKind::read_unlock:
      case EventKind::write_unlock:
        if (held > 0) --held;
        break;
      default:
        if (is_access(event.kind) && held == 0) kind = PlaceKind::unprotected;
    }
    kinds.push_back(kind);
  }
  return kinds;
}

class Probe {
 public:
  Probe(const SearchPlan& plan, const SolveLimits& limits)
      : plan_(plan), limits_(limits), run_(plan, limits), most_(kAnyMeasures) {
    if (limits.most_preemptions) most_.preemptions = *limits.most_preemptions;
    for (const ThreadTrace& thread : plan.problem->trace->threads) {
      kinds_.push_back(kinds_of(thread));
      events_ += thread.events.size();
    }
  }

  SolveAnswer solve() {
    for (unsigned pass = 0; pass < kPasses && !limits_.reached(); ++pass) {
      if (limits_.progress) limits_.progress(fmt::format("guide {}", pass + 1));
      if (try_guide(pass)) return found(pass);
    }
    return {.why = limits_.reached() ? "the time was over, or it was stopped"
                                     : "no order with few preemptions was found",
            .statistics = {{"moves", run_.moves()}}};
  }

 private:
  struct Place {
    size_t turns;
    EventRef at;
  };

  bool try_guide(unsigned pass) {
    using Flushes = GuidedRun::Flushes;
    run_.go_back(0);
    run_.lead(guide(pass), pass % 2 == 0 ? Flushes::at_once : Flushes::when_needed);
    if (leads_to_failure()) return true;
    find_places();
    const uint64_t moves = std::max(kMovesOfPass, kRunsOfPass * events_);
    return try_one_stop(run_.moves() + moves) || try_two_stops(run_.moves() + moves);
  }

  // The first guide is the time of the recording, as far as it is known; then threads one after the other, in
  // any order.
  std::vector<std::vector<uint32_t>> guide(unsigned pass) {
    std::vector<std::vector<uint32_t>> ranks;
    for (const std::vector<uint64_t>& times : plan_.times) ranks.emplace_back(times.size());
    if (pass < 2) {
      std::vector<std::pair<uint64_t, EventRef>> by_time;
      for (uint32_t t = 0; t < ranks.size(); ++t)
        for (uint32_t e = 0; e < ranks[t].size(); ++e) by_time.push_back({plan_.times[t][e], {t, e}});
      std::ranges::sort(by_time);
      for (uint32_t i = 0; i < by_time.size(); ++i)
        ranks[by_time[i].second.thread][by_time[i].second.event] = i;
    } else {
      std::vector<uint32_t> order(ranks.size());
      for (uint32_t t = 0; t < order.size(); ++t) order[t] = t;
      std::ranges::shuffle(order, random_);
      for (uint32_t t = 0; t < ranks.size(); ++t) std::ranges::fill(ranks[t], order[t]);
    }
    return ranks;
  }

  bool leads_to_failure() {
    return run_.run(most_) && (plan_.problem->refuted.empty() || !is_refuted(*plan_.problem, run_.order()));
  }

  // Where the run could have left a thread and did not, the last first.
  void find_places() {
    for (std::vector<Place>& places : places_) places.clear();
    const std::vector<GuidedRun::Turn>& turns = run_.turns();
    for (size_t i = turns.size(); i-- > 0;) {
      const EventRef at = turns[i].from;
      if (turns[i].running == at.thread)
        places_[static_cast<size_t>(kinds_[at.thread][at.event])].push_back({i, at});
    }
    shared_ = run_.turns().size();
  }

  bool try_stops(std::span<const Place> places) {
    for (const Place& place : places) {
      run_.set_stop(place.at, true);
      shared_ = std::min(shared_, place.turns);
    }
    run_.go_back(shared_);
    const bool fails = leads_to_failure();
    shared_ = std::min(shared_, run_.kept());
    for (const Place& place : places) run_.set_stop(place.at, false);
    return fails;
  }

  bool try_one_stop(uint64_t most_moves) {
    for (const std::vector<Place>& places : places_)
      for (size_t distance = std::bit_floor(places.size()); distance > 0; distance /= 2)
        for (size_t i = distance - 1; i < places.size(); i += 2 * distance) {
          if (run_.moves() > most_moves || limits_.reached()) return false;
          if (try_stops({&places[i], 1})) return true;
        }
    return false;
  }

  bool try_two_stops(uint64_t most_moves) {
    const auto any = [&]() -> const Place& {
      for (const std::vector<Place>& places : places_)
        if (!places.empty() && (random_() % 4 != 0 || &places == &places_.back()))
          return places[random_() % places.size()];
      return *std::ranges::find_if(places_, [](const auto& places) { return !places.empty(); })->begin();
    };
    size_t all = 0;
    for (const std::vector<Place>& places : places_) all += places.size();
    for (size_t tries = 2 * all * all; tries > 0; --tries) {
      if (run_.moves() > most_moves || limits_.reached()) return false;
      const std::array places = {any(), any()};
      if (try_stops(places)) return true;
    }
    return false;
  }

  SolveAnswer found(unsigned pass) {
    const Problem& problem = *plan_.problem;
    SolveAnswer answer{.verdict = SolveVerdict::found,
                       .order = run_.order(),
                       .statistics = {{"guides", pass + 1}, {"moves", run_.moves()}}};
    HEDDLE_CHECK(evaluate(*problem.trace, problem.model, answer.order).kind == Evaluation::Kind::holds);
    const OrderMeasures measures = measure(problem, answer.order);
    answer.preemptions = measures.preemptions;
    answer.switches = measures.switches;
    answer.fewest = answer.preemptions == 0;
    return answer;
  }

  const SearchPlan& plan_;
  const SolveLimits& limits_;
  GuidedRun run_;
  OrderMeasures most_;
  uint64_t events_ = 0;
  std::vector<std::vector<PlaceKind>> kinds_;  // by thread and event
  std::array<std::vector<Place>, kPlaceKinds> places_;
  size_t shared_ = 0;  // turns of the run that are as with no stop
  std::mt19937_64 random_{1};
};

class ProbeEngine : public Engine {
 public:
  std::string_view name() const override { return "probe"; }
  SolveAnswer solve(const Problem& problem, const SolveLimits& limits) override {
    const SearchPlan plan(problem);
    return Probe(plan, limits).solve();
  }
};

}  // namespace

std::unique_ptr<Engine> make_probe_engine() {
  return std::make_unique<ProbeEngine>();
}

}  // namespace heddle
