#include "program/points_to.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

using namespace object_kind;
constexpr ClassId kNothing = PointsToGraph::kNothing;

TEST(PointsTo, JoinMergesKindsAndContents) {
  PointsToGraph graph;
  const ClassId a = graph.make(kStack);
  const ClassId b = graph.make(kHeap);
  const ClassId in_a = graph.contents(a);
  const ClassId in_b = graph.contents(b);
  graph.join(a, b);
  EXPECT_EQ(graph.find(a), graph.find(b));
  EXPECT_EQ(graph.find(in_a), graph.find(in_b));
  EXPECT_EQ(graph.kinds(a), kStack | kHeap);
  EXPECT_EQ(graph.merges(), 2u);
}

TEST(PointsTo, NothingStaysNothing) {
  PointsToGraph graph;
  const ClassId a = graph.make(kGlobal);
  graph.join(a, kNothing);
  graph.flow(a, kNothing);
  graph.flow(kNothing, a);
  graph.add_object(kNothing, kHeap);
  graph.mark_escaped(kNothing);
  graph.spread_escape();
  EXPECT_EQ(graph.contents(kNothing), kNothing);
  EXPECT_EQ(graph.kinds(kNothing), 0);
  EXPECT_FALSE(graph.escaped(kNothing));
}

TEST(PointsTo, FlowWaitsForAnObject) {
  PointsToGraph graph;
  const ClassId from = graph.make();
  const ClassId through = graph.make();
  const ClassId to = graph.make(kStack);
  graph.flow(from, through);
  graph.flow(through, to);
  EXPECT_NE(graph.find(from), graph.find(to));
  graph.add_object(from, kHeap);
  EXPECT_EQ(graph.find(from), graph.find(to));
  EXPECT_EQ(graph.kinds(through), kStack | kHeap);
}

TEST(PointsTo, WaitingFlowsSurviveAJoin) {
  PointsToGraph graph;
  const ClassId a = graph.make();
  const ClassId b = graph.make();
  const ClassId after_a = graph.make(kStack);
  const ClassId after_b = graph.make(kThreadLocal);
  graph.flow(a, after_a);
  graph.flow(b, after_b);
  graph.join(a, b);
  EXPECT_NE(graph.find(after_a), graph.find(after_b));
  graph.join(b, graph.make(kHeap));
  EXPECT_EQ(graph.find(after_a), graph.find(after_b));
}

TEST(PointsTo, NumbersFlowIntoPointersNotBack) {
  PointsToGraph graph;
  const ClassId object = graph.make(kHeap);
  const ClassId numbers = graph.contents(object, Held::as_number);
  const ClassId pointers = graph.contents(object, Held::as_pointer);
  graph.add_object(pointers, kStack);
  EXPECT_NE(graph.find(numbers), graph.find(pointers));
  graph.add_object(numbers, kHeap);
  EXPECT_EQ(graph.find(numbers), graph.find(pointers));
}

TEST(PointsTo, EscapeSpreadsAlongContents) {
  PointsToGraph graph;
  const ClassId global = graph.make(kGlobal);
  const ClassId kept = graph.make(kHeap);
  const ClassId deep = graph.contents(graph.contents(global, Held::as_number));
  const ClassId filled = graph.make(kHeap);
  const ClassId other = graph.make(kHeap);
  graph.escape_together(deep, filled);
  graph.escape_together(kept, other);
  graph.spread_escape();
  EXPECT_TRUE(graph.escaped(global));
  EXPECT_TRUE(graph.escaped(deep));
  EXPECT_TRUE(graph.escaped(filled));
  EXPECT_FALSE(graph.escaped(kept));
  EXPECT_FALSE(graph.escaped(other));
}

TEST(PointsTo, CyclesEnd) {
  PointsToGraph graph;
  const ClassId a = graph.make(kHeap);
  const ClassId b = graph.make(kHeap);
  graph.join(graph.contents(a), b);
  graph.join(graph.contents(b), a);
  graph.join(a, b);
  EXPECT_EQ(graph.contents(a), graph.find(a));
  graph.mark_escaped(b);
  graph.spread_escape();
  EXPECT_TRUE(graph.escaped(a));
}

}  // namespace
}  // namespace heddle
