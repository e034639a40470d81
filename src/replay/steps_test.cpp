// Schedules to steps and back, names of memory, and answers that a wild program has damaged.
#include "replay/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "replay/fake_names.h"
#include "schedule/schedule_check.h"

namespace heddle {
namespace {

using testing::HasSubstr;

MemoryNames names() {
  return MemoryNames(
      {{"x", 0x100, 8}, {"y", 0x108, 4}, {"twice", 0x200, 4}, {"twice", 0x300, 4}, {"mark", 0x400, 0}},
      {{"counter", 0x10, 8}}, 0x40);
}

const std::vector<ThreadName> kThreads = thread_names(four_threads().threads);

heddle_place place(heddle_place_kind kind, uint64_t offset, uint32_t thread = 0, uint64_t index = 0) {
  return {static_cast<uint32_t>(kind), thread, index, offset};
}

TEST(MemoryNames, VariablesAreFoundInside) {
  EXPECT_EQ(names().variable_at(0x107)->name, "x");
  EXPECT_EQ(names().variable_at(0x107)->offset, 7u);
  EXPECT_EQ(names().variable_at(0x108)->name, "y");
  EXPECT_FALSE(names().variable_at(0x10c));
  EXPECT_FALSE(names().variable_at(0x50));
  EXPECT_EQ(names().variable_at(0x400)->name, "mark");
  EXPECT_FALSE(names().variable_at(0x401));
}

TEST(MemoryNames, PlacesAndLocationsAreInverse) {
  const uint64_t base = 0x555555554000;
  const std::vector<std::pair<heddle_place, std::string>> pairs = {
      {place(HEDDLE_PLACE_program, 0x104), "global:x+4"},
      {place(HEDDLE_PLACE_heap, 16, 2, 5), "heap:0:1/5+16"},
      {place(HEDDLE_PLACE_map, 4096, 1, 0), "map:0:0/0+4096"},
      {place(HEDDLE_PLACE_tls, static_cast<uint64_t>(-0x2c), 3), "tls:0:0:0/counter+4"},
      {place(HEDDLE_PLACE_tls, 0x10, 3), "tls:0:0:0/tp+16"},
      {place(HEDDLE_PLACE_address, 0x7fffffff0000), "address:0x7fffffff0000"},
  };
  for (const auto& [raw, text] : pairs) {
    const Location location = names().location_of(raw, kThreads, base);
    EXPECT_EQ(location.text(), text);
    const auto back = names().place_of(location, kThreads);
    ASSERT_TRUE(back) << text;
    EXPECT_EQ(back->kind, raw.kind);
    EXPECT_EQ(back->thread, raw.thread);
    EXPECT_EQ(back->index, raw.index);
    EXPECT_EQ(back->offset, raw.offset) << text;
  }
}

TEST(MemoryNames, WhatHasNoUniqueNameHasAnAddress) {
  EXPECT_EQ(names().location_of(place(HEDDLE_PLACE_program, 0x201), kThreads, 0x1000).text(), "address:0x1201");
  EXPECT_EQ(names().location_of(place(HEDDLE_PLACE_program, 0x900), kThreads, 0x1000).text(), "address:0x1900");
}

TEST(MemoryNames, WrongLocationsAreErrors) {
  EXPECT_THAT(names().place_of(Location::global("nobody", 0), kThreads).error().what, HasSubstr("'nobody'"));
  EXPECT_FALSE(names().place_of(Location::global("twice", 0), kThreads));
  EXPECT_FALSE(names().place_of(Location::heap(ThreadName().child(7), 0, 0), kThreads));
  EXPECT_THAT(names().place_of(Location::stack(ThreadName(), 0, 0, 0), kThreads).error().next,
              HasSubstr("address:"));
}

heddle_step step(heddle_step_kind kind, uint16_t thread, uint64_t count,
                 heddle_step_end end = HEDDLE_END_preempted, uint32_t site = HEDDLE_NO_SITE) {
  heddle_step out{};
  out.kind = static_cast<uint8_t>(kind);
  out.end = static_cast<uint8_t>(end);
  out.thread = thread;
  out.count = count;
  out.site = site;
  return out;
}

Answer small_run() {
  Answer answer = four_threads();
  answer.threads[1].start = 0x3000;
  answer.threads[1].site = 12;
  answer.steps = {step(HEDDLE_STEP_run, 0, 8, HEDDLE_END_blocked, 3),
                  step(HEDDLE_STEP_run, 1, 5, HEDDLE_END_preempted, 5), step(HEDDLE_STEP_flush, 1, 2),
                  step(HEDDLE_STEP_timeout, 0, 1), step(HEDDLE_STEP_run, 0, 2)};
  answer.steps[2].place = place(HEDDLE_PLACE_program, 0x100);
  return answer;
}

TEST(Steps, RunsBecomeSchedulesAndBack) {
  const Answer answer = small_run();
  Schedule schedule = performed_schedule(answer, kThreads, MemoryModel::pso, names(), FakeNames());
  schedule.header = {.program = "a",
                     .identity = std::string(32, '0'),
                     .memory_model = MemoryModel::pso,
                     .folder = "/",
                     .command = {"a"}};
  ASSERT_TRUE(check_schedule(schedule));
  EXPECT_EQ(schedule.threads[0].start, "main");
  EXPECT_EQ(schedule.threads[1].start, "start3");
  EXPECT_EQ(schedule.threads[1].created->line, 12u);
  EXPECT_EQ(schedule.steps[0].place->line, 3u);
  EXPECT_EQ(schedule.steps[0].end, SegmentEnd::blocked);
  EXPECT_EQ(schedule.steps[2].location->text(), "global:x+0");
  EXPECT_EQ(schedule.steps[3].kind, StepKind::timeout);

  const auto given = given_steps(schedule, names());
  ASSERT_TRUE(given);
  ASSERT_EQ(given->steps.size(), answer.steps.size());
  for (size_t i = 0; i < answer.steps.size(); ++i) {
    EXPECT_EQ(given->steps[i].kind, answer.steps[i].kind);
    EXPECT_EQ(given->steps[i].thread, answer.steps[i].thread);
    EXPECT_EQ(given->steps[i].count, answer.steps[i].count);
    EXPECT_EQ(given->steps[i].place.offset, answer.steps[i].place.offset);
  }
  EXPECT_EQ(given->threads[3].creator, 1u);
  EXPECT_EQ(given->threads[2].child, 1u);
}

TEST(Steps, FlushesOfTsoHaveNoLocation) {
  Answer answer = small_run();
  const Schedule schedule = performed_schedule(answer, kThreads, MemoryModel::tso, names(), FakeNames());
  EXPECT_EQ(schedule.steps[2].location, nullptr);
}

TEST(Steps, UnknownLocationsNameTheStep) {
  Schedule schedule = performed_schedule(small_run(), kThreads, MemoryModel::pso, names(), FakeNames());
  schedule.steps[2].location = std::make_shared<const Location>(Location::global("nobody", 0));
  EXPECT_THAT(given_steps(schedule, names()).error().where, HasSubstr("step 3: flush 0:0 global:nobody+0 2"));
}

TEST(AnswerCheck, AcceptsWhatFits) {
  EXPECT_TRUE(check_answer(small_run()));
}

TEST(AnswerCheck, RefusesIndexesOutOfRange) {
  const auto refused = [](auto change) {
    Answer answer = small_run();
    answer.waits.resize(1);
    answer.waits[0].holder = HEDDLE_NO_SITE;
    answer.events.resize(1);
    change(answer);
    return !check_answer(answer);
  };
  EXPECT_FALSE(refused([](Answer&) {}));
  EXPECT_TRUE(refused([](Answer& a) { a.threads[2].creator = 2; }));
  EXPECT_TRUE(refused([](Answer& a) { a.threads[1].creator = 9; }));
  EXPECT_TRUE(refused([](Answer& a) { a.steps[1].thread = 4; }));
  EXPECT_TRUE(refused([](Answer& a) { a.steps[1].kind = 9; }));
  EXPECT_TRUE(refused([](Answer& a) { a.steps[1].end = 9; }));
  EXPECT_TRUE(refused([](Answer& a) { a.steps[2].place = place(HEDDLE_PLACE_heap, 0, 8); }));
  EXPECT_TRUE(refused([](Answer& a) { a.steps[2].place.kind = 77; }));
  EXPECT_TRUE(refused([](Answer& a) { a.waits[0].thread = 4; }));
  EXPECT_TRUE(refused([](Answer& a) { a.waits[0].holder = 4; }));
  EXPECT_TRUE(refused([](Answer& a) { a.events[0].thread = 4; }));
  EXPECT_TRUE(refused([](Answer& a) { a.result.thread = 4; }));
  EXPECT_TRUE(refused([](Answer& a) { a.threads.clear(); }));
}

}  // namespace
}  // namespace heddle
