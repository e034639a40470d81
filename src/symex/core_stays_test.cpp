#include "symex/core_stays.h"

#include <gtest/gtest.h>

#include "recording/path_visitor.h"

namespace heddle {
namespace {

using Stays = std::vector<std::vector<CoreStay>>;

std::vector<OrderOnCore> orders(const Stays& stays, const std::vector<uint32_t>& events) {
  return core_orders(stays, events);
}

TEST(CoreStays, AChangeOfThreadsOrdersWhatIsCertain) {
  // Thread 0 does its first three events on core 7, leaves it, and is on core 8 then; thread 1 comes to core 7.
  const Stays stays = {
      {{.core = 7, .tsc = 10, .before = 0, .from = 0}, {.core = 8, .tsc = 50, .before = 3, .from = 4}},
      {{.core = 7, .tsc = 20, .before = 0, .from = 1}}};
  EXPECT_EQ(orders(stays, {6, 5}),
            (std::vector<OrderOnCore>{{.before_thread = 0, .before = 2, .after_thread = 1, .after = 1}}));
}

TEST(CoreStays, OtherCoresOrderNothing) {
  const Stays stays = {{{.core = 1, .tsc = 10}, {.core = 1, .tsc = 30, .before = 2, .from = 2}},
                       {{.core = 2, .tsc = 20}}};
  EXPECT_TRUE(orders(stays, {4, 4}).empty());
}

TEST(CoreStays, WhatCodeOutsideDidIsNotTakenForDone) {
  // The thread leaves the program with one event done; what comes then, it may have done on any core.
  const Stays stays = {{{.core = 1, .tsc = 10},
                        {.core = PathVisitor::kAnyCore, .tsc = 10, .before = 1, .from = 1},
                        {.core = 1, .tsc = 40, .before = 2, .from = 2}},
                       {{.core = 1, .tsc = 20, .before = 0, .from = 0}}};
  // Thread 1 stays to the end: how far it came before thread 0 was there again is not known.
  EXPECT_EQ(orders(stays, {3, 2}),
            (std::vector<OrderOnCore>{{.before_thread = 0, .before = 0, .after_thread = 1, .after = 0}}));
}

TEST(CoreStays, EventsThatDoNotExistAreLeftOut) {
  const Stays stays = {{{.core = 1, .tsc = 10}, {.core = 2, .tsc = 30, .before = 2, .from = 2}},
                       {{.core = 1, .tsc = 20, .before = 5, .from = 5}}};
  EXPECT_TRUE(orders(stays, {4, 5}).empty());
}

}  // namespace
}  // namespace heddle
