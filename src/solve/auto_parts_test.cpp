#include "solve/auto_parts.h"

#include <gtest/gtest.h>

#include "solve/log_shape.h"
#include "solve/order_measures.h"
#include "solve/order_needs.h"

namespace heddle {
namespace {

// Says what it is told to say, and notes what it was asked.
class FakeEngine : public Engine {
 public:
  explicit FakeEngine(SolveAnswer answer) : answer_(std::move(answer)) {}
  std::string_view name() const override { return "fake"; }
  SolveAnswer solve(const Problem& problem, const SolveLimits& limits) override {
    asked = problem;
    asked_limits = limits;
    return answer_;
  }

  Problem asked;
  SolveLimits asked_limits;

 private:
  SolveAnswer answer_;
};

class ImprovingEngine : public testing::Test {
 protected:
  // With a clock by which the threads ran as in the order.
  void SetUp() override {
    problem_.trace = &trace_;
    const std::vector<OrderItem> order = shape_.order_of_many_switches();
    uint64_t time = 0;
    for (const OrderItem& item : order) {
      Event& event = trace_.threads[item.thread].events[item.event];
      event.tsc_low = ++time;
      event.tsc_high = time + 1;
    }
    problem_.clocks = true;
    const OrderMeasures measures = measure(problem_, order);
    first_ = {.verdict = SolveVerdict::found,
              .order = order,
              .preemptions = measures.preemptions,
              .switches = measures.switches};
    auto fake = std::make_unique<FakeEngine>(first_);
    fake_ = fake.get();
    engine_ = make_improving_engine(std::move(fake));
  }

  const LogShape shape_{4, 20};
  Trace trace_ = shape_.trace();
  Problem problem_;
  SolveAnswer first_;
  FakeEngine* fake_ = nullptr;
  std::unique_ptr<Engine> engine_;
};

TEST_F(ImprovingEngine, NeedNotKeepToTheClocks) {
  const SolveAnswer answer = engine_->solve(problem_, {});
  EXPECT_TRUE(fake_->asked.clocks);
  EXPECT_GT(first_.preemptions, 5u);
  EXPECT_EQ(answer.preemptions, 1u);
  EXPECT_FALSE(respects_facts(problem_, answer.order));
}

TEST_F(ImprovingEngine, KeepsToThemAsSoonAsAnOrderWasRefuted) {
  problem_.refuted.emplace_back().push_back({.read = {0, 0}, .write = EventRef{0, 0}});
  const SolveAnswer answer = engine_->solve(problem_, {});
  EXPECT_TRUE(respects_facts(problem_, answer.order));
}

TEST_F(ImprovingEngine, IsBoundByWhatItFindsAtLast) {
  EXPECT_EQ(text_of(engine_->solve(problem_, {.most_preemptions = 1}).verdict), "found");
  EXPECT_FALSE(fake_->asked_limits.most_preemptions);
  const SolveAnswer none = engine_->solve(problem_, {.most_preemptions = 0});
  EXPECT_EQ(text_of(none.verdict), "undecided");
  EXPECT_FALSE(none.why.empty());
}

TEST_F(ImprovingEngine, TakesNoLongerThanItMay) {
  const SolveAnswer answer = engine_->solve(problem_, {.improve = std::chrono::milliseconds(0)});
  EXPECT_EQ(answer.order, first_.order);
}

TEST_F(ImprovingEngine, ClocklessEnginesAreAskedWithoutThem) {
  auto fake = std::make_unique<FakeEngine>(first_);
  FakeEngine& asked = *fake;
  const std::unique_ptr<Engine> engine = make_clockless_engine(std::move(fake));
  engine->solve(problem_, {});
  EXPECT_FALSE(asked.asked.clocks);
  problem_.refuted.emplace_back();
  engine->solve(problem_, {});
  EXPECT_TRUE(asked.asked.clocks);
}

}  // namespace
}  // namespace heddle
