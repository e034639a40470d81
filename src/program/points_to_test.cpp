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
  EXPECT_EQ(graph.changes(), 2u);
}

TEST(PointsTo, NothingStaysNothing) {
  PointsToGraph graph;
  const ClassId a = graph.make(kGlobal);
  graph.join(a, kNothing);
  graph.flow(a, kNothing);
  graph.flow(kNothing, a);
  graph.add_object(kNothing, kHeap);
  graph.mark_escaped(kNothing);
  graph.finish();
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
  graph.lend(deep, filled);
  graph.lend(kept, other);
  graph.finish();
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
  EXPECT_EQ(graph.find(graph.contents(a)), graph.find(a));
  graph.mark_escaped(b);
  graph.finish();
  EXPECT_TRUE(graph.escaped(a));
}

void perform_all_copies(PointsToGraph& graph) {
  for (size_t before = graph.changes() + 1; before != graph.changes();) {
    before = graph.changes();
    graph.perform_copies();
  }
}

TEST(PointsTo, MembersAreApart) {
  PointsToGraph graph;
  const ClassId object = graph.make(kStack), other = graph.make(kHeap);
  graph.join(graph.contents(object), other);
  const ClassId second = graph.displaced(object, 8);
  EXPECT_EQ(graph.find(second), graph.find(object));
  EXPECT_EQ(graph.kinds(graph.contents(second)), 0);
  EXPECT_EQ(graph.find(graph.contents(graph.displaced(second, -8))), graph.find(other));
  graph.mark_escaped(second);
  graph.finish();
  EXPECT_TRUE(graph.escaped(other));
}

TEST(PointsTo, JoinedAtADistance) {
  PointsToGraph graph;
  const ClassId a = graph.make(kStack), b = graph.make(kHeap), in_b = graph.make(kGlobal);
  graph.join(graph.contents(graph.displaced(b, 8)), in_b);
  graph.join(graph.displaced(a, 16), b);
  EXPECT_EQ(graph.find(graph.contents(graph.displaced(a, 24))), graph.find(in_b));
  EXPECT_NE(graph.find(graph.contents(graph.displaced(a, 8))), graph.find(in_b));
  EXPECT_FALSE(graph.is_folded(b));
}

TEST(PointsTo, MeetingItselfFoldsFromThere) {
  PointsToGraph graph;
  const ClassId object = graph.make(kHeap), array = graph.displaced(object, 16);
  const ClassId first = graph.contents(array), third = graph.contents(graph.displaced(array, 16));
  const ClassId head = graph.contents(object);
  graph.join(array, graph.displaced(array, 8));
  EXPECT_EQ(graph.find(first), graph.find(third));
  EXPECT_NE(graph.find(first), graph.find(head));
  EXPECT_TRUE(graph.is_folded(graph.displaced(object, 40)));
  EXPECT_FALSE(graph.is_folded(object));
  graph.fold_whole(array);
  EXPECT_EQ(graph.find(first), graph.find(head));
}

TEST(PointsTo, OverlappingMembersAreOne) {
  PointsToGraph graph;
  const ClassId object = graph.make(kHeap);
  const ClassId at_8 = graph.contents(graph.displaced(object, 8)),
                at_12 = graph.contents(graph.displaced(object, 12));
  EXPECT_EQ(graph.find(at_8), graph.find(at_12));
  EXPECT_NE(graph.find(graph.contents(object)), graph.find(at_8));
}

TEST(PointsTo, ManyMembersAreOne) {
  PointsToGraph graph;
  const ClassId object = graph.make(kHeap), first = graph.contents(object);
  for (int64_t i = 1; i < 100; ++i) graph.contents(graph.displaced(object, 8 * i));
  EXPECT_EQ(graph.find(graph.contents(graph.displaced(object, 400))), graph.find(first));
}

TEST(PointsTo, CopiesTakeWhatComesLater) {
  PointsToGraph graph;
  const ClassId from = graph.make(kStack), to = graph.make(kHeap), one = graph.make(kHeap),
                two = graph.make(kHeap);
  graph.copy(to, from, 16);
  perform_all_copies(graph);
  graph.join(graph.contents(graph.displaced(from, 8)), one);
  graph.join(graph.contents(graph.displaced(from, 16)), two);
  perform_all_copies(graph);
  EXPECT_EQ(graph.find(graph.contents(graph.displaced(to, 8))), graph.find(one));
  EXPECT_NE(graph.find(graph.contents(graph.displaced(to, 16))), graph.find(two));
  EXPECT_NE(graph.find(graph.contents(to)), graph.find(one));
  graph.fold(graph.displaced(from, 8));  // now the last ones are copied, too
  perform_all_copies(graph);
  EXPECT_EQ(graph.find(graph.contents(graph.displaced(to, 8))), graph.find(two));
}

TEST(PointsTo, CopiesInsideAnObjectEnd) {
  PointsToGraph graph;
  const ClassId object = graph.make(kHeap);
  graph.join(graph.contents(object), graph.make(kStack));
  graph.copy(graph.displaced(object, 8), object);
  perform_all_copies(graph);
  EXPECT_EQ(graph.kinds(graph.contents(graph.displaced(object, 32))), kStack);
}

TEST(PointsTo, WhatIsLentStaysAClassOfItsOwn) {
  PointsToGraph graph;
  const ClassId shared = graph.make(kGlobal), own = graph.make(kStack), looked_at = graph.make();
  const ClassId alone = graph.make(kStack);
  graph.lend(shared, looked_at);
  graph.lend(own, looked_at);
  graph.finish();
  EXPECT_TRUE(graph.escaped(looked_at));
  EXPECT_FALSE(graph.escaped(own));
  EXPECT_EQ(graph.kinds(looked_at), kGlobal | kStack);
  EXPECT_EQ(graph.region(own), graph.region(shared));
  EXPECT_TRUE(graph.region_escaped(own));
  EXPECT_FALSE(graph.region_escaped(alone));
}

}  // namespace
}  // namespace heddle
