#include "solve/fewer_preemptions.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "solve/guided_run.h"
#include "solve/reads_from.h"

namespace heddle {
namespace {

// What is tried at random when no stop can be left out: moves in all, and times the length of the order.
constexpr uint64_t kMovesAtRandom = 50'000, kRunsAtRandom = 3;
constexpr uint32_t kFarthestShift = 3;  // events
constexpr uint32_t kMoreAtRandom = 2;   // preemptions, on the way to fewer

// An order that gets better. Its stops are the places where it leaves a thread that could go on.
class ImprovedOrder {
 public:
  ImprovedOrder(const SearchPlan& plan, const SolveLimits& limits) : limits_(limits), run_(plan, limits) {
    for (const std::vector<uint32_t>& steps : plan.step_end) events_.push_back(steps.size());
  }

  // Whether the run along it leads to the failure.
  bool begin(std::span<const OrderItem> order) {
    run_.lead(order);
    std::optional<OrderItem> last;
    for (const OrderItem& item : order) {
      if (item.flush) continue;
      if (last && last->thread != item.thread && last->event + 1 < events_[last->thread])
        stops_.push_back({.at = {last->thread, last->event + 1}});
      last = item;
    }
    for (const GuidedRun::Stop& stop : stops_) run_.set_stop(stop.at, true);
    if (!run_.run(kAnyMeasures)) return false;
    take_run();
    return true;
  }

  void improve() {
    leave_out_stops();
    const uint64_t most_moves = moves() + kMovesAtRandom + kRunsAtRandom * order_.size();
    while (measures_.preemptions > 0 && moves() < most_moves && !limits_.reached()) try_another();
  }

  const std::vector<OrderItem>& order() const { return order_; }
  uint64_t moves() const { return run_.moves(); }

 private:
  void leave_out_stops() {
    for (size_t size = stops_.size(); size > 0; size /= 2)
      while (leave_out_all(size) && size == 1);
  }

  // From another order that is not much worse: a thread comes as early or as late as it can, gives way once or
  // twice more, or a little earlier or later.
  void try_another() {
    const Known before{order_, measures_, stops_};
    const OrderMeasures most{.switches = UINT32_MAX, .preemptions = measures_.preemptions + kMoreAtRandom};
    switch (random_() % 3) {
      case 0:
        run_.lead(with_thread_moved());
        break;
      case 1:
        for (uint64_t more = 1 + random_() % kMoreAtRandom; more > 0; --more) {
          const OrderItem& item = order_[random_() % order_.size()];
          add_stop({item.thread, item.event});
        }
        break;
      default:
        if (!stops_.empty()) shift_stop(stops_[random_() % stops_.size()].at);
    }
    run_.go_back(0);
    const bool fails = run_.run(most);
    if (fails) {
      take_run();
      leave_out_stops();
    }
    if (!fails || is_better(before.measures, measures_)) take(before);
  }

  void add_stop(EventRef at) {
    stops_.push_back({.at = at});
    run_.set_stop(at, true);
  }

  void shift_stop(EventRef at) {
    const uint32_t by = 1 + static_cast<uint32_t>(random_() % kFarthestShift);
    const bool later = random_() % 2 == 0;
    if (later ? at.event + by >= events_[at.thread] : at.event < by) return;
    run_.set_stop(at, false);
    add_stop({at.thread, later ? at.event + by : at.event - by});
  }

  // What comes first or last is only a wish: program order and synchronisation stay.
  std::vector<OrderItem> with_thread_moved() {
    const uint32_t thread = order_[random_() % order_.size()].thread;
    const bool first = random_() % 2 == 0;
    const auto from = order_.begin() + static_cast<ptrdiff_t>(random_() % order_.size());
    std::vector<OrderItem> moved(order_.begin(), from);
    for (const bool wanted : {first, !first})
      std::copy_if(from, order_.end(), std::back_inserter(moved),
                   [&](const OrderItem& item) { return (item.thread == thread) == wanted; });
    return moved;
  }

  // Whether any of them could be left out, `size` at a time.
  bool leave_out_all(size_t size) {
    bool any = false;
    for (size_t end = stops_.size(); end > 0 && !limits_.reached();) {
      const size_t begin = end > size ? end - size : 0;
      any |= leave_out(begin, end);
      end = std::min(begin, stops_.size());
    }
    return any;
  }

  bool leave_out(size_t begin, size_t end) {
    const std::vector<GuidedRun::Stop> out(stops_.begin() + static_cast<ptrdiff_t>(begin),
                                           stops_.begin() + static_cast<ptrdiff_t>(end));
    for (const GuidedRun::Stop& stop : out) run_.set_stop(stop.at, false);
    common_ = std::min(common_, out.front().turns);
    run_.go_back(common_);
    const bool fails = run_.run(measures_);
    common_ = std::min(common_, run_.kept());
    const bool better = fails && (is_better(run_.measures(), measures_) || run_.used().size() < stops_.size());
    if (better)
      take_run();
    else
      for (const GuidedRun::Stop& stop : out) run_.set_stop(stop.at, true);
    return better;
  }

  struct Known {
    std::vector<OrderItem> order;
    OrderMeasures measures;
    std::vector<GuidedRun::Stop> stops;
  };

  void take(Known known) {
    for (const GuidedRun::Stop& stop : stops_) run_.set_stop(stop.at, false);
    order_ = std::move(known.order);
    measures_ = known.measures;
    stops_ = std::move(known.stops);
    common_ = 0;
    run_.lead(order_);
    for (const GuidedRun::Stop& stop : stops_) run_.set_stop(stop.at, true);
  }

  void take_run() {
    take({run_.order(), run_.measures(), run_.used()});
    common_ = run_.turns().size();
    if (limits_.progress)
      limits_.progress(fmt::format("an order with {} preemptions, looking for fewer", measures_.preemptions));
  }

  const SolveLimits& limits_;
  GuidedRun run_;
  std::vector<size_t> events_;  // by thread: how many there are
  std::vector<OrderItem> order_;
  OrderMeasures measures_;
  std::vector<GuidedRun::Stop> stops_;  // as they are come to
  size_t common_ = 0;                   // turns of the run that are as in the order
  std::mt19937_64 random_{1};
};

}  // namespace

SolveAnswer with_fewer_preemptions(const Problem& problem, SolveAnswer answer, const SolveLimits& limits) {
  HEDDLE_CHECK(answer.verdict == SolveVerdict::found);
  if (answer.fewest) return answer;
  const SearchPlan plan(problem);
  ImprovedOrder improved(plan, limits);
  const bool begun = improved.begin(answer.order);
  if (begun) improved.improve();
  answer.statistics["moves for fewer preemptions"] = improved.moves();
  if (!begun || is_refuted(problem, improved.order())) return answer;
  HEDDLE_CHECK(evaluate(*problem.trace, problem.model, improved.order()).kind == Evaluation::Kind::holds);
  const OrderMeasures measures = measure(problem, improved.order());
  if (!is_better(measures, {.switches = answer.switches, .preemptions = answer.preemptions})) return answer;
  answer.order = improved.order();
  answer.preemptions = measures.preemptions;
  answer.switches = measures.switches;
  answer.fewest = answer.preemptions == 0;
  return answer;
}

}  // namespace heddle
