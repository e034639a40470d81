#include "solve/deep_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "solve/order_measures.h"
#include "solve/reads_from.h"
#include "solve/search_state.h"
#include "solve/visited_states.h"

namespace heddle {
namespace {

constexpr uint64_t kFirstEffort = 1'000'000;  // moves, and some for each event
constexpr uint64_t kEffortPerEvent = 4;
constexpr uint64_t kEffortGrows = 4;

// The states of the last part of a search, twice as many at most as one half may have bytes for.
class RecentStates {
 public:
  explicit RecentStates(uint64_t most_bytes) : half_(most_bytes / 2) {}

  // Whether it was not there.
  bool insert(const Hash128& state) {
    if (old_ != nullptr && old_->contains(state)) return false;
    if (!young_->insert(state)) return false;
    if (young_->bytes() > half_) {
      old_ = std::move(young_);
      young_ = std::make_unique<VisitedStates>();
    }
    return true;
  }

 private:
  uint64_t half_;
  std::unique_ptr<VisitedStates> young_ = std::make_unique<VisitedStates>(), old_;
};

class DeepSearch {
 public:
  enum class Preference : uint8_t { running, first_recorded };
  enum class End : uint8_t { found, none, effort, limits };

  DeepSearch(const SearchPlan& plan, const SolveLimits& limits, Preference preference)
      : plan_(plan), limits_(limits), preference_(preference), state_(plan), visited_(limits.most_bytes / 3) {
    state_.begin();  // its outcome is the engine's matter
  }

  End run(uint64_t effort) {
    open();
    while (!choices_.empty()) {
      state_.back_to(choices_.back().mark);
      if (moves_.size() == choices_.back().moves) {
        choices_.pop_back();
        continue;
      }
      const OrderItem move = moves_.back();
      moves_.pop_back();
      if (++done_ % 256 == 0 && limits_.reached()) return End::limits;
      if (done_ > effort) return End::effort;
      if (move.flush) {
        state_.flush(move.thread, move.event);
      } else {
        const SearchState::Outcome outcome = state_.move(move.thread);
        if (outcome == SearchState::Outcome::refused) continue;
        if (outcome == SearchState::Outcome::failure) return End::found;
      }
      deepest_ = std::max(deepest_, state_.mark());
      if (visited_.insert(state_.hash())) open();
    }
    return End::none;
  }

  SearchedOrder order() const { return state_.order(); }
  uint64_t moves() const { return done_; }
  size_t deepest() const { return deepest_; }

 private:
  struct Choice {
    SearchState::Mark mark;
    size_t moves;  // those of it begin there, the last one is tried first
  };

  // A choice with all moves of the state.
  void open() {
    const size_t begin = moves_.size();
    for (const OrderItem& flush : state_.flushes()) moves_.push_back(flush);
    const size_t threads = moves_.size();
    for (uint32_t t = 0; t < plan_.values.size(); ++t)
      if (state_.may_move(t)) moves_.push_back({.thread = t});
    std::sort(moves_.begin() + static_cast<ptrdiff_t>(threads), moves_.end(),
              [&](const OrderItem& a, const OrderItem& b) { return rank(a.thread) > rank(b.thread); });
    if (moves_.size() > begin) choices_.push_back({.mark = state_.mark(), .moves = begin});
  }

  // Smaller ones first.
  std::tuple<bool, uint64_t, uint32_t> rank(uint32_t thread) const {
    const bool other = preference_ == Preference::running && state_.running() != thread;
    return {other, plan_.times[thread][state_.position(thread)], thread};
  }

  const SearchPlan& plan_;
  const SolveLimits& limits_;
  Preference preference_;
  SearchState state_;
  RecentStates visited_;
  std::vector<Choice> choices_;
  std::vector<OrderItem> moves_;
  uint64_t done_ = 0;
  size_t deepest_ = 0;
};

class DeepEngine : public Engine {
 public:
  std::string_view name() const override { return "deep"; }

  SolveAnswer solve(const Problem& problem, const SolveLimits& limits) override {
    const SearchPlan plan(problem);
    switch (SearchState(plan).begin()) {
      case SearchState::Outcome::refused:
        return {.verdict = SolveVerdict::impossible};
      case SearchState::Outcome::failure:
        return found(problem, {}, {});  // without any preemption
      case SearchState::Outcome::done:
        break;
    }
    uint64_t events = 0;
    for (const ThreadTrace& thread : problem.trace->threads) events += thread.events.size();
    std::map<std::string, uint64_t> statistics;
    for (uint64_t effort = kFirstEffort + kEffortPerEvent * events;; effort *= kEffortGrows)
      for (const auto preference : {DeepSearch::Preference::running, DeepSearch::Preference::first_recorded}) {
        DeepSearch search(plan, limits, preference);
        const DeepSearch::End end = search.run(effort);
        statistics["moves"] += search.moves();
        statistics["deepest"] = std::max<uint64_t>(statistics["deepest"], search.deepest());
        switch (end) {
          case DeepSearch::End::found:
            return within(limits, found(problem, search.order(), std::move(statistics)));
          case DeepSearch::End::none:
            return {.verdict = SolveVerdict::impossible, .statistics = std::move(statistics)};
          case DeepSearch::End::limits:
            return {.why = fmt::format("the time was over, or it was stopped: {} of {} events were in order",
                                       statistics["deepest"], events),
                    .statistics = std::move(statistics)};
          case DeepSearch::End::effort:
            if (limits.progress)
              limits.progress(fmt::format("{} of {} events are in order", search.deepest(), events));
        }
      }
  }

 private:
  static SolveAnswer within(const SolveLimits& limits, SolveAnswer answer) {
    if (!limits.most_preemptions || answer.preemptions <= *limits.most_preemptions) return answer;
    return {.why = fmt::format("the order that was found has {} preemptions", answer.preemptions),
            .statistics = std::move(answer.statistics)};
  }

  static SolveAnswer found(const Problem& problem, const SearchedOrder& searched,
                           std::map<std::string, uint64_t> statistics) {
    SolveAnswer answer{.verdict = SolveVerdict::found,
                       .order = order_with_all_flushes(problem, searched),
                       .statistics = std::move(statistics)};
    HEDDLE_CHECK(evaluate(*problem.trace, problem.model, answer.order).kind == Evaluation::Kind::holds);
    if (is_refuted(problem, answer.order)) return {.why = kRefuted, .statistics = std::move(answer.statistics)};
    const OrderMeasures measures = measure(problem, answer.order);
    answer.preemptions = measures.preemptions;
    answer.switches = measures.switches;
    return answer;
  }
};

}  // namespace

std::unique_ptr<Engine> make_deep_engine() {
  return std::make_unique<DeepEngine>();
}

}  // namespace heddle
