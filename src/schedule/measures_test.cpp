#include "schedule/measures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/schedule_check.h"
#include "schedule/schedule_fixture.h"

namespace heddle {
namespace {

using testing::HasSubstr;

const ThreadIndex kMain(0), kFirst(1), kSecond(2);

// A schedule written out, one record for each event, flushed store, wake-up and timeout.
struct Single {
  StepKind kind;
  std::string thread;
  std::string location;
  SegmentEnd end;  // of an event that ends its run
  friend bool operator==(const Single&, const Single&) = default;
};

std::vector<Single> written_out(const Schedule& schedule, bool with_ends) {
  std::vector<Single> out;
  for (const Step& step : schedule.steps) {
    const std::string location = step.location ? step.location->text() : "";
    for (uint64_t i = 0; i < step.count; ++i) {
      const bool ends = with_ends && i + 1 == step.count;
      out.push_back(
          {step.kind, schedule.name_of(step.thread).text(), location, ends ? step.end : SegmentEnd::preempted});
    }
  }
  return out;
}

// Counts from the records, looking at each event and the one after it.
ScheduleMeasures naive_measures(const Schedule& schedule) {
  ScheduleMeasures result;
  std::vector<Single> events;
  for (const Single& single : written_out(schedule, true)) {
    if (single.kind == StepKind::run) events.push_back(single);
    if (single.kind == StepKind::flush) ++result.flushed_stores;
    if (single.kind == StepKind::wake) ++result.wakes;
    if (single.kind == StepKind::timeout) ++result.timeouts;
  }
  result.events = events.size();
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    if (events[i].thread == events[i + 1].thread) continue;
    ++result.switches;
    if (events[i].end == SegmentEnd::preempted) ++result.preemptions;
  }
  result.segments = events.empty() ? 0 : result.switches + 1;
  return result;
}

TEST(Measures, OnlySwitchesAwayFromAThreadThatCouldGoOnArePreemptions) {
  Schedule schedule = small_schedule();
  schedule.steps = {Step::run(kMain, 4, SegmentEnd::blocked),
                    Step::run(kFirst, 3),
                    Step::flush(kFirst, 2),
                    Step::run(kFirst, 1),
                    Step::run(kSecond, 5, SegmentEnd::exited),
                    Step::run(kFirst, 1, SegmentEnd::yielded),
                    Step::timeout(kMain),
                    Step::run(kMain, 1)};
  const ScheduleMeasures expected{
      .events = 15, .segments = 5, .switches = 4, .preemptions = 1, .flushed_stores = 2, .timeouts = 1};
  EXPECT_EQ(measure(schedule), expected);
  EXPECT_EQ(measure(small_schedule()), ScheduleMeasures{});
}

TEST(Measures, AgreeWithACountOfSingleEvents) {
  RandomSchedules random(11);
  for (int i = 0; i < 2000; ++i) {
    const Schedule schedule = random.next();
    EXPECT_EQ(measure(schedule), naive_measures(schedule));
  }
}

TEST(Normalised, MergesWhatMeansTheSame) {
  Schedule schedule = small_schedule();
  schedule.steps = {Step::run(kMain, 4),
                    Step::run(kMain, 2, SegmentEnd::blocked),
                    Step::flush(kMain, 1),
                    Step::flush(kMain, 2),
                    Step::wake(kMain),
                    Step::wake(kMain),
                    Step::run(kFirst, UINT64_MAX),
                    Step::run(kFirst, 1)};
  const std::vector<Step> expected = {Step::run(kMain, 6, SegmentEnd::blocked),
                                      Step::flush(kMain, 3),
                                      Step::wake(kMain),
                                      Step::wake(kMain),
                                      Step::run(kFirst, UINT64_MAX),
                                      Step::run(kFirst, 1)};
  EXPECT_EQ(normalised(schedule).steps, expected);
}

TEST(Normalised, ChangesNothingButTheCuts) {
  RandomSchedules random(12);
  for (int i = 0; i < 2000; ++i) {
    const Schedule schedule = random.next();
    const Schedule merged = normalised(schedule);
    EXPECT_EQ(written_out(merged, false), written_out(schedule, false));
    EXPECT_EQ(measure(merged), measure(schedule));
    EXPECT_EQ(normalised(merged), merged);
    EXPECT_TRUE(check_schedule(merged));
    EXPECT_FALSE(difference(schedule, merged));
    for (size_t k = 1; k < merged.steps.size(); ++k) {
      if (merged.steps[k].kind == StepKind::run)
        EXPECT_FALSE(same_target(merged.steps[k - 1], merged.steps[k]));
    }
  }
}

TEST(Prefix, EndsWithItsLastEvent) {
  Schedule schedule = small_schedule();
  schedule.header.failure = "assert";
  schedule.header.events = 9;
  schedule.header.values = "ab";
  schedule.steps = {Step::run(kMain, 4, SegmentEnd::blocked), Step::flush(kMain, 1), Step::run(kFirst, 5)};
  EXPECT_EQ(prefix_of(schedule, 3).steps, std::vector{Step::run(kMain, 3)});
  EXPECT_EQ(prefix_of(schedule, 4).steps, std::vector{Step::run(kMain, 4, SegmentEnd::blocked)});
  EXPECT_EQ(prefix_of(schedule, 9).steps, schedule.steps);
  EXPECT_EQ(prefix_of(schedule, 1000).steps, schedule.steps);
  EXPECT_TRUE(prefix_of(schedule, 0).steps.empty());
  EXPECT_TRUE(prefix_of(schedule, 3).header.prefix);
  EXPECT_TRUE(prefix_of(schedule, 3).header.failure.empty());
  EXPECT_FALSE(prefix_of(schedule, 3).header.events);
}

TEST(Prefix, HoldsTheFirstEventsAndIsValid) {
  RandomSchedules random(13);
  for (int i = 0; i < 2000; ++i) {
    const Schedule schedule = random.next();
    const uint64_t length = random.below(measure(schedule).events + 3);
    const Schedule prefix = prefix_of(schedule, length);
    EXPECT_EQ(measure(prefix).events, std::min(length, measure(schedule).events));
    const auto all = written_out(schedule, false), part = written_out(prefix, false);
    ASSERT_LE(part.size(), all.size());
    EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin()));
    EXPECT_TRUE(check_schedule(prefix));
  }
}

TEST(Difference, NamesTheFirstOne) {
  Schedule left = small_schedule();
  left.steps = {Step::run(kMain, 4), Step::run(kFirst, 5), Step::run(kMain, 1)};
  Schedule right = left;
  EXPECT_FALSE(difference(left, right));
  right.steps = {Step::run(kMain, 2), Step::run(kMain, 2, SegmentEnd::yielded), Step::run(kFirst, 3),
                 Step::wake(kMain)};
  const auto found = difference(left, right);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->event, 7u);
  EXPECT_EQ(found->left_step, 1u);
  EXPECT_EQ(found->right_step, 3u);
  EXPECT_EQ(found->text, "after 7 events: 'run 0:0 5' (step 2) in the first, 'wake 0' (step 4) in the second");

  right = left;
  right.steps.pop_back();
  EXPECT_THAT(difference(left, right)->text,
              HasSubstr("after 9 events: 'run 0 1' (step 3) in the first, the end (step 3)"));
  right = left;
  right.header.prefix = true;
  EXPECT_THAT(difference(left, right)->text, HasSubstr("the end (step 4) in the first, the end of the prefix"));
  right = left;
  right.header.memory_model = MemoryModel::pso;
  EXPECT_EQ(difference(left, right)->text, "different memory models: tso in the first, pso in the second");
  right = left;
  right.header.command.push_back("x y");
  EXPECT_THAT(difference(left, right)->text,
              HasSubstr("different commands: ./account 'two words' in the first"));
  right = left;
  right.header.input = "/a";
  EXPECT_THAT(difference(left, right)->text, HasSubstr("different inputs: '' in the first, /a in the second"));
  right = left;
  right.header.environment = {"A=1"};
  EXPECT_THAT(difference(left, right)->text, HasSubstr("different environments: nothing in the first, A=1"));
}

TEST(Difference, AgreesWithSchedulesWrittenOut) {
  RandomSchedules random(14);
  for (int i = 0; i < 2000; ++i) {
    const Schedule left = random.next();
    Schedule right = left;
    for (size_t changes = random.below(3); changes > 0 && !right.steps.empty(); --changes) {
      Step& step = right.steps[random.below(right.steps.size())];
      if (random.below(2) == 0) step.thread = ThreadIndex(random.below(right.threads.size()));
      if (step.kind == StepKind::run || step.kind == StepKind::flush) step.count += random.below(3);
    }
    const auto all = written_out(left, false), other = written_out(right, false);
    const auto found = difference(left, right);
    EXPECT_EQ(found.has_value(), all != other);
    if (!found) continue;
    const auto [mine, theirs] = std::ranges::mismatch(all, other);
    const auto events =
        std::count_if(all.begin(), mine, [](const Single& one) { return one.kind == StepKind::run; });
    EXPECT_EQ(found->event, static_cast<uint64_t>(events)) << found->text;
  }
}

}  // namespace
}  // namespace heddle
