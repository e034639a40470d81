// Segments on hand-written functions, all checked with the oracles of segments_oracle.h.
#include "program/segments.h"

#include <gtest/gtest.h>
#include <llvm/IR/Module.h>

#include <ctime>
#include <string>

#include "program/segments_fixture.h"

namespace heddle {
namespace {

using namespace segments_oracle;
using Edge = Segments::Edge;
using Kind = Segments::Step::Kind;

const Edge& edge(const Numbered& n, Piece from, Piece to) {
  static const Edge missing{};
  const Edge* found = n.segments.find_edge(from, to);
  EXPECT_NE(found, nullptr) << from << " -> " << to;
  return found != nullptr ? *found : missing;
}

std::string diamonds(int count) {
  std::string text = "entry: br label %d0\n";
  for (int i = 0; i < count; ++i) {
    std::string k = std::to_string(i);
    text += "d" + k + ": br i1 %c, label %l" + k + ", label %r" + k + "\n";
    for (const char* side : {"l", "r"}) text += side + k + ": br label %d" + std::to_string(i + 1) + "\n";
  }
  return text + "d" + std::to_string(count) + ": ret void\n";
}

TEST_F(SegmentsTest, OneWayNeedsNoBits) {
  Numbered n = number("entry: br label %e\n e: ret void\n");
  EXPECT_EQ(n.segments.count(0), 1u);
  EXPECT_EQ(n.segments.bits(0), 0u);
  EXPECT_FALSE(n.segments.clears_path(0));
  EXPECT_TRUE(n.segments.silent());
  EXPECT_TRUE(n.segments.ends_function(1));
  EXPECT_EQ(n.segments.step(1, 0)->kind, Kind::ends);
  EXPECT_EQ(n.segments.step(1, 1), std::nullopt);
}

TEST_F(SegmentsTest, DeclarationIsEmpty) {
  parse("entry: ret void\n");
  Numbered n(*get("cut"));
  EXPECT_EQ(n.segments.piece_count(), 0u);
  EXPECT_TRUE(n.segments.silent());
}

// Both edges of the branch decide everything, so both write, and the register is not used at all.
TEST_F(SegmentsTest, DiamondWritesOnBothSides) {
  Numbered n = number(diamonds(1));
  EXPECT_EQ(n.segments.count(0), 2u);
  EXPECT_EQ(n.segments.bits(0), 1u);
  EXPECT_FALSE(n.segments.clears_path(0));
  EXPECT_FALSE(n.segments.silent());
  for (Piece side : {2u, 3u}) {
    EXPECT_EQ(edge(n, 1, side).bits, 1u);
    EXPECT_TRUE(edge(n, 1, side).fresh);
    EXPECT_EQ(edge(n, side, 4).bits, 0u);
  }
  EXPECT_EQ(edge(n, 1, 2).value, 0u);
  EXPECT_EQ(edge(n, 1, 3).value, 1u);
  EXPECT_EQ(n.segments.step(1, 2), std::nullopt);
  EXPECT_EQ(n.segments.find_edge(0, 2), nullptr);
}

TEST_F(SegmentsTest, NumberIsKeptUntilItIsDecided) {
  Numbered n = number(diamonds(2));
  EXPECT_EQ(n.segments.count(0), 4u);
  EXPECT_TRUE(n.segments.clears_path(0));  // on the way with value 0 nothing sets it
  EXPECT_EQ(edge(n, 1, 2).value, 0u);
  EXPECT_EQ(edge(n, 1, 3).value, 2u);
  EXPECT_TRUE(edge(n, 1, 3).fresh);
  EXPECT_EQ(edge(n, 1, 3).bits, 0u);
  EXPECT_EQ(edge(n, 4, 6).value, 1u);
  EXPECT_EQ(edge(n, 4, 6).bits, 2u);
  EXPECT_FALSE(edge(n, 4, 6).fresh);
}

// The loop is entered and repeated: two starts whose ways join. The first has more ways, so both write two
// bits.
TEST_F(SegmentsTest, StartsThatShareAWriteFormAGroup) {
  Numbered n = number(R"(
    entry: br i1 %c, label %a, label %loop
    a:     call void @plain()
           br label %loop
    loop:  br i1 %c, label %latch, label %e
    latch: call void @cut()
           br label %loop
    e:     ret void
  )");
  ASSERT_EQ(n.segments.count(0), 4u);
  ASSERT_EQ(n.segments.count(2), 2u);
  EXPECT_EQ(n.segments.bits(0), 2u);
  EXPECT_EQ(n.segments.bits(2), 2u);
  EXPECT_EQ(n.segments.bits(4), 0u);  // behind the call: to the back edge
  EXPECT_EQ(edge(n, 2, 3).bits, 2u);
  EXPECT_TRUE(n.segments.clears_path(0) && n.segments.clears_path(2));
}

TEST_F(SegmentsTest, GroupsAreApartIfTheirWritesAre) {
  Numbered n = number(R"(
    entry: switch i32 %x, label %a [ i32 0, label %b
                                     i32 1, label %join ]
    a:     br label %join
    b:     br label %join
    join:  call void @cut()
           br i1 %c, label %d, label %e
    d:     ret void
    e:     ret void
  )");
  EXPECT_EQ(n.segments.bits(0), 2u);
  EXPECT_EQ(n.segments.bits(4), 1u);
}

TEST_F(SegmentsTest, KnownBranchesCountAsTheirLargestSuccessor) {
  Numbered n = number(R"(
    k0: br i1 %c, label %a, label %b
    a:  br i1 %c, label %d, label %e
    b:  br label %d
    d:  ret void
    e:  ret void
  )");
  EXPECT_TRUE(n.segments.known(0));
  EXPECT_FALSE(n.segments.known(1));
  EXPECT_EQ(n.segments.count(0), 2u);
  EXPECT_EQ(edge(n, 0, 1).value, 0u);
  EXPECT_EQ(edge(n, 0, 1).bits, 0u);
  EXPECT_EQ(edge(n, 0, 2).value, 0u);
  EXPECT_EQ(edge(n, 0, 2).bits, 1u);  // here the count falls to 1
  EXPECT_EQ(n.segments.step(0, 1)->kind, Kind::ask);
  EXPECT_EQ(n.segments.step_to(0, 1, 1)->to, 1u);
  EXPECT_EQ(n.segments.step_to(0, 1, 1)->rest, 1u);
  EXPECT_EQ(n.segments.step_to(0, 2, 1), std::nullopt);  // only number 0 leads there
  EXPECT_EQ(n.segments.step_to(0, 2, 0)->kind, Kind::ordinary);
  EXPECT_EQ(n.segments.step_to(0, 4, 0), std::nullopt);
  EXPECT_EQ(n.segments.step_to(0, 99, 0), std::nullopt);
}

TEST_F(SegmentsTest, OnlyKnownBranchesMakeItSilent) {
  std::string body = R"(
    entry: br label %k0
    k0: br i1 %c, label %k0, label %k1
    k1: switch i32 %x, label %k2 [ i32 0, label %k3 ]
    k2: ret void
    k3: br label %k2
  )";
  EXPECT_TRUE(number(body).segments.silent());
  EXPECT_TRUE(number(body).segments.counted_loops().empty());
  EXPECT_FALSE(number(body, {.plain = true}).segments.silent());
  EXPECT_FALSE(Numbered(*get("test"), {.plain = true}).segments.known(1));
  EXPECT_EQ(edge(number(body), 1, 1).bits, 0u);
  EXPECT_TRUE(edge(number(body), 1, 1).cut);
}

// The number tells which back edge was taken.
TEST_F(SegmentsTest, CutEdgesOfOnePieceHaveNumbersOfTheirOwn) {
  Numbered n = number(R"(
    entry: br label %outer
    outer: br label %inner
    inner: switch i32 %x, label %out [ i32 0, label %inner
                                       i32 1, label %outer ]
    out:   br i1 %c, label %f, label %g
    f:     ret void
    g:     ret void
  )",
                      {.counted_loops = false});
  EXPECT_EQ(n.segments.count(0), 4u);
  std::set<uint64_t> values;
  for (Piece to : {1u, 2u, 3u}) {
    values.insert(edge(n, 2, to).value);
    EXPECT_EQ(edge(n, 2, to).cut, to != 3);
  }
  EXPECT_EQ(edge(n, 2, 3).value, 0u);  // the only one that does not write
  EXPECT_EQ(values, (std::set<uint64_t>{0, 2, 3}));
}

TEST_F(SegmentsTest, CallsSplitBlocks) {
  Numbered n = number(R"(
    entry: call void @plain()
           call void @cut()
           call void @llvm.donothing()
           call void @cut()
           br label %next
    next:  ret void
  )");
  ASSERT_EQ(n.segments.piece_count(), 4u);
  EXPECT_TRUE(calls(*n.segments.cutting_call(0), "cut"));
  EXPECT_NE(n.segments.cutting_call(0), n.segments.cutting_call(1));
  EXPECT_EQ(n.segments.cutting_call(2), nullptr);
  EXPECT_EQ(n.segments.block_of(2), 0u);
  EXPECT_EQ(n.segments.first_piece(1), 3u);
  EXPECT_TRUE(edge(n, 0, 1).cut && edge(n, 1, 2).cut);
  EXPECT_FALSE(edge(n, 2, 3).cut);
  EXPECT_EQ(n.segments.step(0, 0)->kind, Kind::cut);
  EXPECT_EQ(n.segments.step(0, 1), std::nullopt);
  EXPECT_TRUE(n.segments.silent());
}

TEST_F(SegmentsTest, OnlyWhatReturnsTwiceCutsWithoutAPredicate) {
  ControlFlow flow(parse(R"(
    entry: call void @cut()
           %r = call i32 @twice(ptr %p)
           %s = call i32 @llvm.eh.sjlj.setjmp(ptr %p)
           ret void
  )"));
  Segments segments(flow, {});
  ASSERT_EQ(segments.piece_count(), 3u);
  EXPECT_TRUE(calls(*segments.cutting_call(0), "twice"));
}

TEST_F(SegmentsTest, MustTailCallBelongsToTheEnd) {
  Numbered n(parse("entry: musttail call void @test(i1 %c, i32 %x, ptr %p)\n ret void\n"));
  ASSERT_EQ(n.segments.piece_count(), 1u);
  EXPECT_TRUE(n.segments.ends_function(0));
}

TEST_F(SegmentsTest, EveryInvokeCuts) {
  for (const char* callee : {"plain", "cut"}) {
    Numbered n = number(std::string("kentry: invoke void @") + callee + R"(() to label %ok unwind label %pad
      ok:  ret void
      pad: %l = landingpad { ptr, i32 } cleanup
           resume { ptr, i32 } %l
    )");
    EXPECT_TRUE(edge(n, 0, 1).cut && edge(n, 0, 2).cut);
    EXPECT_NE(n.segments.cutting_terminator(0), nullptr);
    EXPECT_EQ(n.segments.cutting_call(0), nullptr);
    EXPECT_FALSE(n.segments.known(0));
    EXPECT_EQ(n.segments.count(0), 1u);
    EXPECT_EQ(n.segments.step(0, 0)->kind, Kind::ask);
    EXPECT_EQ(n.segments.step_to(0, 2, 0)->kind, Kind::cut);
    EXPECT_EQ(n.segments.step_to(0, 2, 1), std::nullopt);
    EXPECT_TRUE(n.segments.silent());
    EXPECT_TRUE(n.segments.ends_function(2));
  }
}

// All ways into a block behind an indirectbr or callbr are cut, also ordinary branches, and the block says its
// name.
TEST_F(SegmentsTest, IndirectBranchAndAsmGoto) {
  for (const char* jump : {"indirectbr ptr %p, [label %a, label %b]",
                           "callbr void asm sideeffect \"\", \"!i\"() to label %a [label %b]"}) {
    Numbered n = number(std::string("entry: br i1 %c, label %jump, label %a\n jump: ") + jump + R"(
      a: br label %b
      b: ret void
    )");
    EXPECT_FALSE(edge(n, 0, 1).cut);
    EXPECT_TRUE(edge(n, 0, 2).cut && edge(n, 1, 2).cut && edge(n, 1, 3).cut && edge(n, 2, 3).cut);
    EXPECT_EQ(n.segments.count(0), 2u);
    EXPECT_EQ(n.segments.step(1, 0)->kind, Kind::ask);
    EXPECT_EQ(n.segments.announces(1), std::nullopt);
    EXPECT_EQ(n.segments.announces(3), 1u);
    EXPECT_EQ(n.segments.announced(1), 3u);
    EXPECT_EQ(n.segments.announced(2), std::nullopt);
    EXPECT_EQ(n.segments.announce_bits(), 1u);
  }
}

TEST_F(SegmentsTest, OneTargetIsAnnouncedWithOneBit) {
  Numbered n = number("entry: indirectbr ptr %p, [label %a]\n a: ret void\n");
  EXPECT_EQ(n.segments.announce_bits(), 1u);
  EXPECT_EQ(n.segments.announces(1), 0u);
  EXPECT_FALSE(n.segments.silent());
}

TEST_F(SegmentsTest, UnreachableBlocksTakeNoPart) {
  Numbered n = number(R"(
    entry: br label %exit
    exit:  ret void
    dead:  call void @cut()
           br i1 %c, label %exit, label %dead2
    dead2: indirectbr ptr %p, [label %exit]
    dead3: ret void
  )");
  EXPECT_EQ(n.segments.piece_count(), 5u);
  EXPECT_EQ(n.segments.edges().size(), 1u);
  EXPECT_TRUE(n.segments.silent());
  EXPECT_EQ(n.segments.find_edge(2, 1), nullptr);
  EXPECT_FALSE(n.segments.ends_function(4));
  EXPECT_EQ(n.segments.step(4, 0), std::nullopt);
}

// ---- counted loops ----

TEST_F(SegmentsTest, CountedLoop) {
  std::string body = R"(
    entry: br label %head
    head:  br i1 %c, label %body, label %e
    body:  br label %head
    e:     ret void
  )";
  Numbered n = number(body);
  ASSERT_EQ(n.segments.counted_loops().size(), 1u);
  const Segments::CountedLoop& loop = n.segments.counted_loops()[0];
  EXPECT_EQ(loop.header, 1u);
  EXPECT_EQ(loop.pieces, (std::vector<Piece>{1, 2}));
  EXPECT_EQ(n.segments.counted_loop_of(1), &loop);
  EXPECT_EQ(n.segments.counted_loop_of(2), &loop);
  EXPECT_EQ(n.segments.counted_loop_of(3), nullptr);
  EXPECT_TRUE(edge(n, 0, 1).cut && edge(n, 1, 3).cut);
  EXPECT_FALSE(edge(n, 1, 2).cut || edge(n, 2, 1).cut);
  EXPECT_TRUE(edge(n, 0, 1).enters_loop && edge(n, 2, 1).next_round && edge(n, 1, 3).leaves_loop);
  EXPECT_FALSE(edge(n, 0, 1).next_round || edge(n, 1, 2).next_round || edge(n, 2, 1).enters_loop);
  EXPECT_FALSE(edge(n, 0, 1).leaves_loop || edge(n, 1, 3).enters_loop);
  EXPECT_EQ(edge(n, 1, 3).exit_bits, 0u);
  EXPECT_EQ(n.segments.inside(loop, 1), 2u);
  EXPECT_EQ(n.segments.loop_exit(loop, 0)->from, 1u);
  EXPECT_EQ(n.segments.loop_exit(loop, 0)->to, 3u);
  EXPECT_FALSE(n.segments.loop_exit(loop, 1).has_value());
  EXPECT_EQ(n.segments.step(1, 0), std::nullopt);
  EXPECT_FALSE(n.segments.silent());
  for (const Edge& e : n.segments.edges()) EXPECT_EQ(e.bits, 0u);

  EXPECT_TRUE(number(body, {.counted_loops = false}).segments.counted_loops().empty());
  EXPECT_TRUE(number(body, {.plain = true}).segments.counted_loops().empty());
}

TEST_F(SegmentsTest, CountedLoopWithSeveralExitsAndBackEdges) {
  Numbered n = number(R"(
    entry: br label %head
    head:  br i1 %c, label %k0, label %e
    k0:    switch i32 %x, label %a [ i32 0, label %b
                                     i32 1, label %e
                                     i32 2, label %head ]
    a:     br i1 %c, label %head, label %f
    b:     br label %a
    e:     ret void
    f:     br label %e
  )");
  ASSERT_EQ(n.segments.counted_loops().size(), 1u);
  const Segments::CountedLoop& loop = n.segments.counted_loops()[0];
  EXPECT_EQ(loop.pieces, (std::vector<Piece>{1, 2, 3, 4}));
  EXPECT_TRUE(edge(n, 2, 1).next_round && edge(n, 3, 1).next_round);
  EXPECT_EQ(n.segments.exit_bits(loop), 2u);
  EXPECT_EQ(n.segments.inside(loop, 2), std::nullopt);
  EXPECT_EQ(n.segments.step_to(2, 4, 0)->kind, Kind::ordinary);
  EXPECT_EQ(n.segments.step_to(2, 5, 0)->kind, Kind::cut);
  std::set<uint32_t> exits;
  for (auto [from, to] : {std::pair<Piece, Piece>{1, 5}, {2, 5}, {3, 6}}) {
    EXPECT_TRUE(edge(n, from, to).leaves_loop);
    EXPECT_EQ(edge(n, from, to).exit_bits, 2u);
    exits.insert(edge(n, from, to).exit);
  }
  EXPECT_EQ(exits, (std::set<uint32_t>{0, 1, 2}));
}

// From one counted loop straight into another, and back into the first from a loop around both.
TEST_F(SegmentsTest, CountedLoopsSideBySideInALoop) {
  Numbered n = number(R"(
    entry: br label %a
    a:     br i1 %c, label %a, label %b
    b:     br i1 %c, label %b, label %latch
    latch: br i1 %c, label %a2, label %e
    a2:    br label %outer
    outer: br label %a
    e:     ret void
  )");
  // %a has two back edges, one of them around %b, so only %b is innermost.
  ASSERT_EQ(n.segments.counted_loops().size(), 1u);
  EXPECT_EQ(n.segments.counted_loops()[0].header, 2u);
  Numbered apart = number(R"(
    entry: br label %outer
    outer: br label %a
    a:     br i1 %c, label %a, label %b
    b:     br i1 %c, label %b, label %latch
    latch: br i1 %c, label %outer, label %e
    e:     ret void
  )");
  EXPECT_EQ(apart.segments.counted_loops().size(), 2u);
  EXPECT_TRUE(edge(apart, 2, 3).cut && edge(apart, 2, 3).leaves_loop && edge(apart, 2, 3).enters_loop);
}

// Around the call, and back into the middle behind it.
TEST_F(SegmentsTest, CallsAreUnlikely) {
  Numbered n = number(R"(
    entry: br label %head
    head:  br i1 %c, label %body, label %e
    body:  br i1 %c, label %cold, label %latch
    cold:  call void @cut()
           br label %latch
    latch: br label %head
    e:     ret void
  )");
  ASSERT_EQ(n.segments.counted_loops().size(), 1u);
  const Segments::CountedLoop& loop = n.segments.counted_loops()[0];
  EXPECT_EQ(loop.pieces, (std::vector<Piece>{1, 2, 5}));
  EXPECT_EQ(n.segments.inside(loop, 2), 5u);
  EXPECT_TRUE(edge(n, 2, 3).leaves_loop && edge(n, 4, 5).enters_loop && edge(n, 5, 1).next_round);
  EXPECT_FALSE(edge(n, 2, 3).enters_loop || edge(n, 4, 5).next_round || edge(n, 2, 5).cut);
  EXPECT_EQ(n.segments.exit_bits(loop), 1u);
  for (const Edge& e : n.segments.edges()) EXPECT_EQ(e.bits, 0u);
}

// From one piece of the way to another that does not come next: out and in again, also to the header.
TEST_F(SegmentsTest, ShortcutsLeaveCountedLoops) {
  Numbered n = number(R"(
    entry: br label %head
    head:  br i1 %c, label %latch, label %a, !prof !0
    a:     switch i32 %x, label %latch [ i32 0, label %k0
                                         i32 1, label %head
                                         i32 2, label %a2
                                         i32 3, label %e ], !prof !3
    a2:    br label %latch
    k0:    br i1 %c, label %latch, label %b
    b:     br label %latch
    latch: br label %head
    e:     ret void
  )");
  ASSERT_EQ(n.segments.counted_loops().size(), 1u);
  const Segments::CountedLoop& loop = n.segments.counted_loops()[0];
  EXPECT_EQ(loop.pieces, (std::vector<Piece>{1, 2, 4, 5, 6}));
  for (auto [from, to] : {std::pair<Piece, Piece>{1, 6}, {2, 6}, {2, 1}}) {
    EXPECT_TRUE(edge(n, from, to).cut && edge(n, from, to).leaves_loop && edge(n, from, to).enters_loop);
    EXPECT_FALSE(edge(n, from, to).next_round);
  }
  EXPECT_TRUE(edge(n, 3, 6).enters_loop && !edge(n, 3, 6).leaves_loop);
  EXPECT_FALSE(edge(n, 4, 6).cut || edge(n, 4, 5).cut);  // known
  EXPECT_EQ(n.segments.exit_bits(loop), 3u);
}

// A known choice of which one way is not allowed.
TEST_F(SegmentsTest, KnownBranchesCanLeaveCountedLoops) {
  Numbered n = number(R"(
    entry: br label %head
    head:  br i1 %c, label %k0, label %e
    k0:    br i1 %c, label %cold, label %latch
    cold:  call void @cut()
           br label %latch
    latch: br label %head
    e:     ret void
  )");
  ASSERT_EQ(n.segments.counted_loops().size(), 1u);
  EXPECT_EQ(n.segments.counted_loops()[0].pieces, (std::vector<Piece>{1, 2, 5}));
  EXPECT_TRUE(edge(n, 2, 3).leaves_loop);
  EXPECT_EQ(n.segments.inside(n.segments.counted_loops()[0], 2), std::nullopt);
}

TEST_F(SegmentsTest, LikelyWaysAreWorthCounting) {
  // Pieces of the counted loop of a loop with two arms, 2 and 3.
  auto way = [this](const std::string& condition, const std::string& branch, const std::string& arm = "") {
    Numbered n = number("entry: br label %head\n head: " + condition + " br i1 " + branch + "\n a: " + arm +
                        " br label %latch\n b: br label %latch\n" +
                        "latch: br i1 %c, label %head, label %e\n e: ret void\n");
    auto& loops = n.segments.counted_loops();
    return loops.empty() ? std::vector<Piece>{} : loops[0].pieces;
  };
  using Pieces = std::vector<Piece>;
  EXPECT_EQ(way("", "%c, label %a, label %b"), Pieces());
  EXPECT_EQ(way("", "%c, label %a, label %b, !prof !0"), (Pieces{1, 3, 4}));
  EXPECT_EQ(way("", "%c, label %a, label %b, !prof !1"), (Pieces{1, 2, 4}));  // 75 : 25
  EXPECT_EQ(way("", "%c, label %a, label %b, !prof !2"), Pieces());           // 74 : 25
  EXPECT_EQ(way("%q = icmp eq i32 %x, 7", "%q, label %a, label %b"), (Pieces{1, 3, 4}));
  EXPECT_EQ(way("%q = icmp ne i32 %x, 7", "%q, label %a, label %b"), (Pieces{1, 2, 4}));
  EXPECT_EQ(way("%q = icmp eq i32 %x, 0", "%q, label %a, label %b"), Pieces());
  EXPECT_EQ(way("%q = icmp eq ptr %p, @test", "%q, label %a, label %b"), Pieces());
  EXPECT_EQ(way("%q = icmp slt i32 %x, 7", "%q, label %a, label %b"), Pieces());
  EXPECT_EQ(way("%m = and i32 %x, 1\n %q = icmp eq i32 %m, 0", "%q, label %a, label %b"), Pieces());
  EXPECT_EQ(way("", "%c, label %a, label %b, !prof !0", "call void @plain()"), (Pieces{1, 3, 4}));
  // What is measured is stronger, also if the likely way cannot come round: then it is not worth it.
  EXPECT_EQ(way("%q = icmp ne i32 %x, 7", "%q, label %a, label %b, !prof !0"), (Pieces{1, 3, 4}));
  EXPECT_EQ(way("", "%c, label %b, label %a, !prof !0", "call void @cut()"), Pieces());
}

TEST_F(SegmentsTest, LoopsThatAreNotCounted) {
  auto loops = [this](const std::string& body) { return number(body).segments.counted_loops().size(); };
  std::string head = "entry: br label %head\n", end = "e: ret void\n";
  // Something else is undecided inside.
  EXPECT_EQ(loops(head + R"(head: br i1 %c, label %a, label %b
                            a:    br label %l
                            b:    br label %l
                            l:    br i1 %c, label %head, label %e
                            )" +
                  end),
            0u);
  EXPECT_EQ(loops(head + R"(head: br i1 %c, label %a, label %e
                            a:    call void @cut()
                            br label %head
                            )" +
                  end),
            0u);
  // Nothing is undecided.
  EXPECT_EQ(loops(head + "head: br label %k0\n k0: br i1 %c, label %head, label %e\n" + end), 0u);
  EXPECT_EQ(loops(head + "head: br label %head\n"), 0u);
  // Two ways in.
  EXPECT_EQ(
      loops("entry: br i1 %c, label %a, label %b\n a: br label %b\n b: br i1 %c, label %a, label %e\n" + end),
      0u);
  // An inner loop, also on an unlikely way.
  EXPECT_EQ(loops(head + R"(head: br i1 %c, label %k0, label %l, !prof !0
                            k0:   br i1 %c, label %k0, label %l
                            l:    br i1 %c, label %head, label %e
                            )" +
                  end),
            0u);
  // Announced blocks, invokes.
  EXPECT_EQ(loops("entry: indirectbr ptr %p, [label %head]\n head: br i1 %c, label %head, label %e\n" + end),
            0u);
  EXPECT_EQ(loops(head + R"(head: invoke void @plain() to label %l unwind label %pad
                            l:    br i1 %c, label %head, label %e
                            pad:  %x1 = landingpad { ptr, i32 } cleanup
                                  ret void
                            )" +
                  end),
            0u);
}

// ---- plain numbering ----

TEST_F(SegmentsTest, PlainNumbersAreWrittenAtTheEndInBytes) {
  Numbered n = number(diamonds(9), {.plain = true});
  Piece last = n.segments.first_piece(28);
  ASSERT_TRUE(n.segments.ends_function(last));
  EXPECT_EQ(n.segments.count(0), 512u);
  EXPECT_EQ(n.segments.bits(0), 16u);
  EXPECT_EQ(n.segments.end_bits(last), 16u);
  EXPECT_TRUE(n.segments.clears_path(0));
  for (const Edge& e : n.segments.edges()) EXPECT_EQ(e.bits, 0u);
  Numbered one = number("entry: ret void\n", {.plain = true});
  EXPECT_EQ(one.segments.bits(0), 8u);
  EXPECT_EQ(one.segments.end_bits(0), 8u);
  EXPECT_FALSE(one.segments.silent());
  EXPECT_EQ(Numbered(*get("test")).segments.end_bits(0), 0u);
}

// ---- size ----

size_t cut_edges(const Segments& segments) {
  size_t count = 0;
  for (const Edge& e : segments.edges()) count += e.cut ? 1 : 0;
  return count;
}

TEST_F(SegmentsTest, ManyWaysAreCut) {
  Numbered n = number(diamonds(70));
  EXPECT_LE(n.segments.count(0), uint64_t{1} << 24);
  EXPECT_EQ(cut_edges(n.segments), 2u * 2);  // 70 bits are three numbers, with two cuts between them
  const llvm::Function& function = *get("test");
  for (uint64_t max : {UINT64_MAX, uint64_t{1} << 32, uint64_t{256}}) check_all(function, {.max_ways = max});
  EXPECT_EQ(cut_edges(Numbered(parse(diamonds(24))).segments), 0u);  // exactly the limit
  EXPECT_EQ(cut_edges(Numbered(parse(diamonds(25))).segments), 2u);
}

// A header is a start anyhow, so it is the best place: one more edge is cut, the one that enters the loop.
TEST_F(SegmentsTest, ManyWaysAreCutAtStarts) {
  std::string body = R"(
    entry: br i1 %c, label %a, label %b
    a:     br label %c0
    b:     br label %c0
    c0:    br i1 %c, label %d, label %e
    d:     br label %pre
    e:     br label %pre
    pre:   br label %head
    head:  br i1 %c, label %f, label %g
    f:     br label %h
    g:     br label %h
    h:     br i1 %c, label %i, label %j
    i:     br label %latch
    j:     br label %latch
    latch: br i1 %c, label %head, label %end
    end:   ret void
  )";
  EXPECT_EQ(number(body).segments.count(0), 32u);
  Numbered n = number(body, {.max_ways = 8});
  EXPECT_EQ(n.segments.count(0), 4u);
  EXPECT_EQ(n.segments.count(7), 8u);
  EXPECT_TRUE(edge(n, 6, 7).cut);
  EXPECT_EQ(cut_edges(n.segments), 2u);
}

// Unlike the time on the wall it does not depend on what else the machine does.
double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

TEST_F(SegmentsTest, BigFunctionsAreFast) {
  double begin = processor_seconds();
  constexpr uint32_t cases = 10'000;
  llvm::Function& f = parse(diamonds(35'000));
  auto* dispatch = llvm::cast<llvm::BranchInst>(f.getEntryBlock().getTerminator());
  auto* branch =
      llvm::SwitchInst::Create(f.getArg(1), dispatch->getSuccessor(0), cases, dispatch->getIterator());
  dispatch->eraseFromParent();
  uint32_t i = 0;
  for (llvm::BasicBlock& block : f) {
    if (&block == &f.getEntryBlock() || i == cases) continue;
    branch->addCase(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context_), i++), &block);
  }
  for (bool plain : {false, true}) {
    Numbered n(f, {.plain = plain});
    for (const Edge& e : n.segments.edges()) {
      ASSERT_EQ(n.segments.find_edge(e.from, e.to), &e);
      ASSERT_LE(e.bits, 24u);
    }
  }
  EXPECT_LT(processor_seconds() - begin, 10);
}

// Loops 20,000 deep that all leave from the end of a long body: looking through it anew for each loop would
// take minutes.
TEST_F(SegmentsTest, DeepLoopsAreFast) {
  double begin = processor_seconds();
  constexpr int depth = 20'000;
  std::string headers = "entry: br label %h0\n", body, latches, cases;
  for (int i = 0; i < depth; ++i) {
    std::string k = std::to_string(i), next = std::to_string(i + 1);
    headers += "h" + k + ": br label %" + (i + 1 < depth ? "h" + next : "b0") + "\n";
    body += "b" + k + ": br label %b" + next + "\n";
    latches += "t" + k + ": br label %h" + k + "\n";
    cases += " i32 " + k + ", label %t" + k + "\n";
  }
  std::string last = "b" + std::to_string(depth) + ": switch i32 %x, label %e [" + cases + "]\n";
  Numbered n(parse(headers + body + last + latches + "e: ret void\n"));
  ASSERT_EQ(n.segments.counted_loops().size(), 1u);
  EXPECT_EQ(n.segments.counted_loops()[0].pieces.size(), depth + 3u);
  EXPECT_EQ(n.segments.exit_bits(n.segments.counted_loops()[0]), 15u);
  EXPECT_LT(processor_seconds() - begin, 10);
}

}  // namespace
}  // namespace heddle
