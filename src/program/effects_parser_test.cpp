#include <fmt/format.h>
#include <gtest/gtest.h>

#include "program/effects.h"

namespace heddle {
namespace {

// The effects that "f : ITEMS" gives; a failed expectation and empty effects when the items are wrong.
Effects parsed(const std::string& items) {
  EffectsTable table;
  const Result<void> added = table.add("f : " + items, "test");
  EXPECT_TRUE(added) << added.error().text();
  const Effects* found = table.find("f");
  return found != nullptr ? *found : Effects{};
}

Extent extent_of(const std::string& text) {
  const Effects effects = parsed(fmt::format("reads(0, {})", text));
  return effects.memory.empty() ? Extent{} : effects.memory[0].extent;
}

Error error_of(std::string_view text) {
  EffectsTable table;
  const Result<void> added = table.add(text, "my.table");
  EXPECT_FALSE(added) << "accepted: " << text;
  return added ? Error{} : added.error();
}

TEST(EffectsParser, SynchronisationNamesItsObjects) {
  const Effects wait = parsed("sync cond_wait(0, 1)");
  EXPECT_EQ(wait.sync, HEDDLE_SYNC_cond_wait);
  EXPECT_EQ(wait.sync_objects, (std::vector{0, 1}));
  EXPECT_EQ(wait.arguments, 2);
  EXPECT_EQ(wait.describe(), "cond_wait(arg0, arg1)");
  EXPECT_EQ(parsed("sync thread_create(0,2,3)").sync_objects, (std::vector{0, 2, 3}));
  EXPECT_EQ(parsed("sync yield").sync, HEDDLE_SYNC_yield);
  EXPECT_EQ(parsed("sync yield()").describe(), "yield()");
}

TEST(EffectsParser, EverySyncKindParses) {
  for (int kind = 1; kind < HEDDLE_SYNC_count; ++kind) {
    const auto name = std::string(sync_kind_name(static_cast<SyncKind>(kind)));
    bool accepted = false;
    for (const char* objects : {"", "(0)", "(0,1)", "(0,1,2)"}) {
      EffectsTable table;
      if (!table.add("f : sync " + name + objects, "test")) continue;
      EXPECT_EQ(table.find("f")->sync, kind);
      EXPECT_FALSE(accepted) << name << " takes two numbers of objects";
      accepted = true;
    }
    EXPECT_TRUE(accepted) << name;
  }
}

TEST(EffectsParser, Allocation) {
  const Effects malloc = parsed("alloc(arg0)");
  EXPECT_EQ(malloc.allocation, AllocationKind::allocate);
  EXPECT_EQ(malloc.allocation_size, (Extent{.kind = Extent::Kind::argument, .first = 0}));
  EXPECT_EQ(malloc.describe(), "allocates (arg0 bytes)");

  const Effects reallocarray = parsed("realloc(0, arg1*arg2)");
  EXPECT_EQ(reallocarray.allocation, AllocationKind::reallocate);
  EXPECT_EQ(reallocarray.allocation_pointer, 0);
  EXPECT_EQ(reallocarray.describe(), "reallocates arg0 (arg1*arg2 bytes)");
  EXPECT_EQ(reallocarray.arguments, 3);

  const Effects free = parsed("free(2)");
  EXPECT_EQ(free.allocation, AllocationKind::release);
  EXPECT_EQ(free.allocation_pointer, 2);
  EXPECT_EQ(free.describe(), "frees arg2");
}

TEST(EffectsParser, MemoryEffects) {
  const Effects effects =
      parsed("reads(1, arg2) writes(0, arg2) updates(3, object) writes(varargs, 8) returns(0)");
  ASSERT_EQ(effects.memory.size(), 4u);
  EXPECT_TRUE(effects.effect_on(1)->reads);
  EXPECT_FALSE(effects.effect_on(1)->writes);
  EXPECT_FALSE(effects.effect_on(0)->reads);
  EXPECT_TRUE(effects.effect_on(0)->writes);
  EXPECT_TRUE(effects.effect_on(3)->reads && effects.effect_on(3)->writes);
  EXPECT_EQ(effects.effect_on(Place::kVariadic)->extent, (Extent{.kind = Extent::Kind::bytes, .amount = 8}));
  EXPECT_EQ(effects.effect_on(2), nullptr);
  EXPECT_EQ(
      effects.describe(),
      "reads arg1 (arg2 bytes), writes arg0 (arg2 bytes), updates arg3 (object), writes varargs (8 bytes), "
      "returns arg0");
}

TEST(EffectsParser, Extents) {
  using Kind = Extent::Kind;
  EXPECT_EQ(extent_of("144"), (Extent{.kind = Kind::bytes, .amount = 144}));
  EXPECT_EQ(extent_of("18446744073709551615"), (Extent{.kind = Kind::bytes, .amount = UINT64_MAX}));
  EXPECT_EQ(extent_of("arg7"), (Extent{.kind = Kind::argument, .first = 7}));
  EXPECT_EQ(extent_of("arg1*4"), (Extent{.kind = Kind::argument, .amount = 4, .first = 1}));
  EXPECT_EQ(extent_of("arg1 * arg2"), (Extent{.kind = Kind::product, .first = 1, .second = 2}));
  EXPECT_EQ(extent_of("*arg2"), (Extent{.kind = Kind::pointee, .first = 2}));
  EXPECT_EQ(extent_of("ret"), (Extent{.kind = Kind::returned}));
  EXPECT_EQ(extent_of("ret*12"), (Extent{.kind = Kind::returned, .amount = 12}));
  EXPECT_EQ(extent_of("string"), (Extent{.kind = Kind::string}));
  EXPECT_EQ(extent_of("string(arg2)"), (Extent{.kind = Kind::bounded_string, .first = 2}));
  EXPECT_EQ(extent_of("wstring"), (Extent{.kind = Kind::wide_string}));
  EXPECT_EQ(extent_of("iovec(arg2)"), (Extent{.kind = Kind::iovec, .first = 2}));
  EXPECT_EQ(extent_of("format(arg1)"), (Extent{.kind = Kind::format, .first = 1}));
  EXPECT_EQ(extent_of("object"), (Extent{.kind = Kind::object}));
  EXPECT_EQ(extent_of("reachable"), (Extent{.kind = Kind::reachable}));
  EXPECT_EQ(parsed("writes(0, *arg2) reads(1, string(arg3)) writes(4, ret*8) reads(5, arg6*4)").describe(),
            "writes arg0 (*arg2 bytes), reads arg1 (string up to arg3 bytes), writes arg4 (ret*8 bytes), "
            "reads arg5 (arg6*4 bytes)");
}

TEST(EffectsParser, PointersThatStayAndPointersThatCome) {
  const Effects effects =
      parsed("keeps(1) keeps(varargs) yields(2, fresh) yields(3, library) yields(4, 0) calls(5)");
  EXPECT_TRUE(effects.keeps_argument(1, false));
  EXPECT_FALSE(effects.keeps_argument(2, false));
  EXPECT_TRUE(effects.keeps_argument(9, true));
  ASSERT_EQ(effects.yields.size(), 3u);
  EXPECT_EQ(effects.yields[0].kind, YieldedPointer::Kind::fresh);
  EXPECT_EQ(effects.yields[1].kind, YieldedPointer::Kind::library);
  EXPECT_EQ(effects.yields[2].kind, YieldedPointer::Kind::argument);
  EXPECT_EQ(effects.yields[2].place, Place{4});
  EXPECT_EQ(effects.calls, (std::vector{5}));
  EXPECT_EQ(effects.describe(),
            "stores fresh memory in arg2, stores library memory in arg3, stores a pointer into arg0 in arg4, "
            "keeps arg1, keeps varargs, calls arg5");
}

TEST(EffectsParser, ReturnsAndFlags) {
  EXPECT_EQ(parsed("returns(2)").returned_argument, 2);
  EXPECT_EQ(parsed("returns(library)").describe(), "returns library memory");
  EXPECT_EQ(parsed("errno noreturn blocks input").describe(),
            "may set errno, does not return, may block, brings data from outside");
  EXPECT_TRUE(parsed("pure").pure);
  EXPECT_EQ(parsed("none").describe(), "no effect");
  EXPECT_EQ(parsed("none").arguments, 0);
}

TEST(EffectsParser, NamesCommentsAndSpace) {
  EffectsTable table;
  ASSERT_TRUE(
      table.add("# nothing\n\n  a  b\tc: pure # x : y\r\nsyscall:202 : sync futex(1)\nd : none", "test"));
  EXPECT_EQ(table.names(), (std::vector<std::string_view>{"a", "b", "c", "d", "syscall:202"}));
  EXPECT_EQ(table.find("b")->name, "b");
  EXPECT_TRUE(table.find("c")->pure);
  EXPECT_EQ(table.find("syscall"), nullptr);
}

struct BadTable {
  std::string text;
  std::string where;
  std::string what;
};

TEST(EffectsParser, ErrorsSayWhereAndWhat) {
  const std::vector<BadTable> cases = {
      {"f", "1:2", "expected a name or ':', found the end of the line"},
      {": pure", "1:1", "expected the name of a function, found ':'"},
      {"f :", "1:4", "expected an item ('none' for a function without effects), found the end of the line"},
      {"# one\n\nf(x) : pure", "3:2", "expected the name of a function, found '('"},
      {"f : bogus", "1:5", "expected an item, found 'bogus'"},
      {"f : pure\ng : sync mutex_look(0)", "2:10", "expected a kind of synchronisation, found 'mutex_look'"},
      {"f : sync none", "1:10", "expected a kind of synchronisation, found 'none'"},
      {"f : sync", "1:9", "expected a kind of synchronisation, found the end of the line"},
      {"f : sync mutex_lock", "1:10", "mutex_lock takes 1 argument number, found 0"},
      {"f : sync cond_wait(0)", "1:10", "cond_wait takes 2 argument numbers, found 1"},
      {"f : sync mutex_lock(x)", "1:21", "expected an argument number, found 'x'"},
      {"f : sync cond_wait(0 1)", "1:22", "expected ')', found '1'"},
      {"f : sync yield sync yield", "1:16", "a function has one 'sync' item"},
      {"f : alloc", "1:10", "expected '(', found the end of the line"},
      {"f : alloc(1) free(0)", "1:14", "a function has one of 'alloc', 'realloc' and 'free'"},
      {"f : realloc(0 arg1)", "1:15", "expected ',', found 'arg1'"},
      {"f : reads(x, 8)", "1:11", "expected an argument number or 'varargs', found 'x'"},
      {"f : reads(64, 8)", "1:11", "expected an argument number up to 63, found '64'"},
      {"f : reads(99999999999999999999, 8)", "1:11",
       "expected an argument number up to 63, found '99999999999999999999'"},
      {"f : reads(0)", "1:12", "expected ',', found ')'"},
      {"f : reads(0, many)", "1:14", "expected an extent, found 'many'"},
      {"f : reads(0, 8", "1:15", "expected ')', found the end of the line"},
      {"f : reads(0, 18446744073709551616)", "1:14",
       "expected a number below 2^64, found '18446744073709551616'"},
      {"f : reads(0, argx)", "1:14", "expected an argument as 'arg0', 'arg1', ..., found 'argx'"},
      {"f : reads(0, arg64)", "1:17", "expected an argument number up to 63, found '64'"},
      {"f : reads(0, arg1*ret)", "1:19", "expected an argument as 'arg0', 'arg1', ..., found 'ret'"},
      {"f : reads(0, ret*arg1)", "1:18", "expected a number, found 'arg1'"},
      {"f : reads(0, iovec)", "1:19", "expected '(', found ')'"},
      {"f : reads(0, iovec(2))", "1:20", "expected an argument as 'arg0', 'arg1', ..., found '2'"},
      {"f : reads(0, 4) writes(0, 8)", "1:24", "'0' has an effect already"},
      {"f : calls(varargs)", "1:11", "expected an argument number, found 'varargs'"},
      {"f : yields(0, new)", "1:15", "expected 'fresh', 'library' or an argument number, found 'new'"},
      {"f : returns(fresh)", "1:13", "expected 'library' or an argument number, found 'fresh'"},
      {"f : returns(0) returns(1)", "1:16", "a function has one 'returns' item"},
      {"f : errno pure errno", "1:16", "'errno' is given twice"},
      {"f : input pure", "1:11", "'pure' and 'input' exclude each other"},
      {"f : errno none", "1:11", "'none' stands alone: other items contradict it"},
      {"* : pure", "1:1", "misplaced '*'"},
      {"f*g : pure", "1:2", "misplaced '*'"},
      {"f : \x01", "1:5", "expected an item, found '\\x01'"},
  };
  for (const BadTable& bad : cases) {
    const Error error = error_of(bad.text);
    EXPECT_EQ(error.where, "my.table:" + bad.where) << bad.text;
    EXPECT_EQ(error.what, "effects table: " + bad.what) << bad.text;
  }
}

TEST(EffectsParser, ErrorsListWhatIsAllowed) {
  EXPECT_EQ(
      error_of("f : bogus").why,
      "items are: sync, alloc, realloc, free, reads, writes, updates, keeps, calls, yields, returns, errno, "
      "noreturn, blocks, input, pure, none");
  const std::string kinds = error_of("f : sync x").why;
  EXPECT_TRUE(kinds.starts_with("kinds are: mutex_init, mutex_destroy")) << kinds;
  EXPECT_TRUE(kinds.ends_with(", signal_delivery")) << kinds;
  EXPECT_NE(error_of("f : reads(0, x)").why.find("argN*argM"), std::string::npos);
}

}  // namespace
}  // namespace heddle
