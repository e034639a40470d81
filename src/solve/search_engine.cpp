#include "solve/search_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "solve/order_measures.h"
#include "solve/reads_from.h"
#include "solve/search_order.h"
#include "solve/searcher.h"

namespace heddle {
namespace {

class SearchEngine : public Engine {
 public:
  std::string_view name() const override { return "search"; }

  SolveAnswer solve(const Problem& problem, const SolveLimits& limits) override {
    const SearchPlan plan(problem);
    SearchCommon common{.plan = plan, .limits = limits};
    switch (SearchState(plan).begin()) {
      case SearchState::Outcome::refused:
        return {.verdict = SolveVerdict::impossible};
      case SearchState::Outcome::failure:
        common.found.emplace();
        return found(problem, common, 0);
      case SearchState::Outcome::done:
        break;
    }
    std::vector<std::unique_ptr<Searcher>> searchers;
    for (unsigned i = 0; i < std::max(1u, limits.jobs); ++i)
      searchers.push_back(std::make_unique<Searcher>(common));
    searchers[0]->search_all();
    for (uint32_t level = 0;; ++level) {
      if (common.found) {
        SolveAnswer answer = found(problem, common, level);
        if (is_refuted(problem, answer.order)) return undecided(common, kRefuted, level);
        return answer;
      }
      if (common.end) return undecided(common, common.why, level);
      std::vector<const SearchWay*> ways;
      for (const auto& searcher : searchers) {
        const std::vector<const SearchWay*> more = searcher->take_next();
        ways.insert(ways.end(), more.begin(), more.end());
      }
      if (ways.empty()) return {.verdict = SolveVerdict::impossible, .statistics = statistics(common, level)};
      if (limits.most_preemptions && level == *limits.most_preemptions)
        return undecided(common, fmt::format("there is no order with {} preemptions or fewer", level), level);
      if (limits.progress)
        limits.progress(fmt::format("search: {} preemptions, {} ways to go on from", level + 1, ways.size()));
      search_level(searchers, ways, common);
    }
  }

 private:
  // Neighbouring ways have much in common: each searcher takes some of them at a time.
  static void search_level(const std::vector<std::unique_ptr<Searcher>>& searchers,
                           const std::vector<const SearchWay*>& ways, const SearchCommon& common) {
    constexpr size_t kAtATime = 16;
    std::atomic<size_t> next = 0;
    const auto work = [&](Searcher& searcher) {
      for (size_t begin; !common.end && (begin = next.fetch_add(kAtATime)) < ways.size();)
        for (size_t i = begin; i < std::min(begin + kAtATime, ways.size()) && !common.end; ++i)
          searcher.search_from(*ways[i]);
    };
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < searchers.size() && i * kAtATime < ways.size(); ++i)
      threads.emplace_back([&work, &searcher = *searchers[i]] { work(searcher); });
    work(*searchers[0]);
  }

  static std::map<std::string, uint64_t> statistics(const SearchCommon& common, uint32_t level) {
    return {
        {"levels", level + 1}, {"moves", common.moves}, {"bytes", common.visited.bytes() + common.ways_bytes}};
  }

  static SolveAnswer found(const Problem& problem, const SearchCommon& common, uint32_t level) {
    SolveAnswer answer{.verdict = SolveVerdict::found,
                       .order = order_with_all_flushes(problem, *common.found),
                       .fewest = true,
                       .statistics = statistics(common, level)};
    HEDDLE_CHECK(evaluate(*problem.trace, problem.model, answer.order).kind == Evaluation::Kind::holds);
    const OrderMeasures measures = measure(problem, answer.order);
    HEDDLE_CHECK(measures.preemptions == level);
    answer.preemptions = measures.preemptions;
    answer.switches = measures.switches;
    return answer;
  }

  static SolveAnswer undecided(const SearchCommon& common, std::string why, uint32_t level) {
    return {.why = std::move(why), .statistics = statistics(common, level)};
  }
};

}  // namespace

std::unique_ptr<Engine> make_search_engine() {
  return std::make_unique<SearchEngine>();
}

}  // namespace heddle
