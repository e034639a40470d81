#include "solve/chain_order.h"

#include <gtest/gtest.h>

#include <random>

namespace heddle {
namespace {

// The same by all pairs.
class SlowOrder {
 public:
  explicit SlowOrder(const ChainOrder& order) : size_(order.moments()), before_(size_ * size_) {
    for (Moment a = 0; a < size_; ++a)
      for (Moment b = a + 1; b < size_ && order.chain_of(b) == order.chain_of(a); ++b)
        before_[a * size_ + b] = true;
  }
  bool is_before(Moment a, Moment b) const { return before_[a * size_ + b]; }
  void insert(Moment from, Moment to) {
    for (Moment a = 0; a < size_; ++a)
      for (Moment b = 0; b < size_; ++b)
        if ((a == from || is_before(a, from)) && (b == to || is_before(to, b))) before_[a * size_ + b] = true;
  }

 private:
  size_t size_;
  std::vector<bool> before_;
};

void expect_same(const ChainOrder& order, const SlowOrder& expected) {
  for (Moment a = 0; a < order.moments(); ++a)
    for (Moment b = 0; b < order.moments(); ++b) {
      ASSERT_EQ(order.is_before(a, b), a != b && expected.is_before(a, b)) << a << ' ' << b;
      ASSERT_EQ(order.place_of(b) < order.count_before(a, order.chain_of(b)),
                a != b && expected.is_before(b, a));
    }
}

TEST(ChainOrder, IsTheTransitiveClosureAndGoesBack) {
  std::mt19937_64 random(1);
  for (unsigned round = 0; round < 60; ++round) {
    ChainOrder order;
    for (uint64_t chains = 2 + random() % 4; chains > 0; --chains) order.add_chain(1 + random() % 6);
    const auto any = [&] { return static_cast<Moment>(random() % order.moments()); };
    std::vector<ChainOrder::MomentPair> base;
    for (uint64_t edges = random() % 4; edges > 0; --edges) {
      const Moment a = any(), b = any();
      if (order.chain_of(a) < order.chain_of(b)) base.push_back({a, b});
    }
    ASSERT_TRUE(order.start(base).empty());
    std::vector<SlowOrder> expected = {SlowOrder(order)};
    for (const auto& [a, b] : base) expected[0].insert(a, b);
    std::vector<uint32_t> edges = {order.edges()};
    std::vector<ChainOrder::MomentPair> inserted;
    for (unsigned step = 0; step < 40; ++step) {
      if (random() % 4 == 0 && edges.size() > 1) {
        const size_t keep = 1 + random() % (edges.size() - 1);
        edges.resize(keep);
        expected.erase(expected.begin() + static_cast<ptrdiff_t>(keep), expected.end());
        inserted.resize(keep - 1);
        order.undo(edges.back());
      } else {
        const Moment a = any(), b = any();
        if (a == b || order.is_before(b, a)) continue;
        std::vector<ChainOrder::Change> changes;
        const uint32_t number = static_cast<uint32_t>(inserted.size() + 1);
        order.insert(a, b, Literal::of(number), changes);
        EXPECT_EQ(changes.empty(), expected.back().is_before(a, b));
        for (const ChainOrder::Change& change : changes)
          for (uint32_t place = change.now; place < change.old; ++place)
            EXPECT_FALSE(expected.back().is_before(change.from, order.at(change.to, place)));
        expected.push_back(expected.back());
        expected.back().insert(a, b);
        edges.push_back(order.edges());
        inserted.push_back({a, b});
      }
      expect_same(order, expected.back());
    }
    // An explanation is enough by itself.
    for (Moment a = 0; a < order.moments(); ++a)
      for (Moment b = 0; b < order.moments(); ++b) {
        if (!order.is_before(a, b)) continue;
        std::vector<Literal> literals;
        order.explain(a, b, order.edges(), literals);
        SlowOrder only(order);
        for (const auto& [from, to] : base) only.insert(from, to);
        for (const Literal literal : literals)
          if (literal.variable() > 0)
            only.insert(inserted[literal.variable() - 1].first, inserted[literal.variable() - 1].second);
        EXPECT_TRUE(only.is_before(a, b));
      }
  }
}

TEST(ChainOrder, ExplainsByWhatThereWasAtTheTime) {
  ChainOrder order;
  for (unsigned i = 0; i < 3; ++i) order.add_chain(3);
  ASSERT_TRUE(order.start({}).empty());
  std::vector<ChainOrder::Change> changes;
  order.insert(order.at(0, 0), order.at(1, 1), Literal::of(1), changes);
  order.insert(order.at(1, 1), order.at(2, 1), Literal::of(2), changes);
  const uint32_t then = order.edges();
  order.insert(order.at(0, 0), order.at(2, 0), Literal::of(3), changes);
  std::vector<Literal> literals;
  order.explain(order.at(0, 0), order.at(2, 2), then, literals);
  EXPECT_EQ(literals.size(), 2U);
  literals.clear();
  order.explain(order.at(0, 0), order.at(2, 2), order.edges(), literals);
  EXPECT_EQ(literals, std::vector{Literal::of(3)});
}

TEST(ChainOrder, SaysWhatNeverComes) {
  ChainOrder order;
  order.add_chain(3);
  order.add_chain(3);
  order.add_chain(2);
  const std::vector<Moment> never = order.start(
      {{order.at(0, 1), order.at(1, 1)}, {order.at(1, 2), order.at(0, 1)}, {order.at(1, 1), order.at(2, 1)}});
  EXPECT_EQ(never, (std::vector<Moment>{order.at(0, 1), order.at(0, 2), order.at(1, 1), order.at(1, 2),
                                        order.at(2, 1)}));
}

}  // namespace
}  // namespace heddle
