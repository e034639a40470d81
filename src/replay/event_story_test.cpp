#include "replay/event_story.h"

#include <gtest/gtest.h>

#include "abi/sync_kind.h"
#include "replay/fake_names.h"

namespace heddle {
namespace {

heddle_event access(heddle_event_kind kind, uint16_t thread, uint64_t address, uint64_t value) {
  return {.site = 1,
          .thread = thread,
          .kind = static_cast<uint8_t>(kind),
          .address = address,
          .size = 4,
          .value = value};
}

TEST(EventStory, TellsOfMemoryThatThreadsShareAndOneWrites) {
  Execution run;
  const ThreadIndex first(0), second(1);
  run.schedule.steps = {Step::run(first, 3), Step::flush(first, 1), Step::run(second, 3)};
  run.kept_events = {access(HEDDLE_EVENT_write, 0, 0x100, 7),
                     access(HEDDLE_EVENT_write, 0, 0x200, 8),
                     access(HEDDLE_EVENT_read, 0, 0x300, 9),
                     access(HEDDLE_EVENT_read, 1, 0x300, 9),
                     access(HEDDLE_EVENT_update, 1, 0x100, 0xffffffff),
                     access(HEDDLE_EVENT_read, 1, 0x400, 1)};
  run.kept_events[4].after = 0x12345678;
  const std::vector<StoryEvent> story = event_story(run, FakeNames());
  ASSERT_EQ(story.size(), 2u) << "0x200 and 0x400 have one user each, 0x300 is only read";
  EXPECT_EQ(story[0].step, 0u);
  EXPECT_EQ(story[0].what, "writes 0x100: 7");
  EXPECT_EQ(story[1].step, 2u);
  EXPECT_EQ(story[1].what, "changes 0x100 from -1 to 0x12345678");
}

TEST(EventStory, SeesAccessesOfDifferentSizesInOneWord) {
  Execution run;
  run.schedule.steps = {Step::run(ThreadIndex(0), 1), Step::run(ThreadIndex(1), 1)};
  run.kept_events = {access(HEDDLE_EVENT_write, 0, 0x106, 1), access(HEDDLE_EVENT_read, 1, 0x108, 2)};
  EXPECT_EQ(event_story(run, FakeNames()).size(), 2u);
}

TEST(EventStory, LeavesOutWhatWasHandedOverOnce) {
  Execution run;
  run.schedule.steps = {Step::run(ThreadIndex(0), 2), Step::run(ThreadIndex(1), 2),
                        Step::run(ThreadIndex(0), 1)};
  run.kept_events = {access(HEDDLE_EVENT_write, 0, 0x100, 1), access(HEDDLE_EVENT_write, 0, 0x200, 1),
                     access(HEDDLE_EVENT_read, 1, 0x100, 1), access(HEDDLE_EVENT_read, 1, 0x200, 1),
                     access(HEDDLE_EVENT_write, 0, 0x200, 2)};
  const std::vector<StoryEvent> story = event_story(run, FakeNames());
  ASSERT_EQ(story.size(), 3u);
  for (const StoryEvent& each : story) EXPECT_NE(each.what.find("0x200"), std::string::npos);
  // With store buffers it may be seen late.
  run.schedule.steps.push_back(Step::flush(ThreadIndex(0), 1));
  EXPECT_EQ(event_story(run, FakeNames()).size(), 5u);
}

TEST(EventStory, TellsWhoWroteWhatIsRead) {
  Execution run;
  const ThreadName main;
  run.schedule.threads = {{.name = main}, {.name = main.child(0)}};
  run.schedule.steps = {Step::run(ThreadIndex(0), 1), Step::run(ThreadIndex(1), 2),
                        Step::run(ThreadIndex(0), 2)};
  run.kept_events = {access(HEDDLE_EVENT_write, 0, 0x100, 1), access(HEDDLE_EVENT_read, 1, 0x100, 1),
                     access(HEDDLE_EVENT_write, 1, 0x100, 2), access(HEDDLE_EVENT_read, 0, 0x100, 2),
                     access(HEDDLE_EVENT_write, 0, 0x100, 3)};
  const std::vector<StoryEvent> story = event_story(run, FakeNames());
  ASSERT_EQ(story.size(), 5u);
  EXPECT_EQ(story[1].what, "reads 0x100: 1") << "written before the thread was made";
  EXPECT_FALSE(story[1].of_another);
  EXPECT_EQ(story[3].what, "reads 0x100: 2 (written by thread 0:0)");
  EXPECT_TRUE(story[3].of_another);
}

TEST(EventStory, TellsOfLocksAndOfBlocksThatOthersHaveUsed) {
  Execution run;
  run.schedule.steps = {Step::run(ThreadIndex(0), 5)};
  const auto sync = [](heddle_sync_kind kind) {
    return heddle_event{
        .site = 1,
        .thread = 0,
        .kind = static_cast<uint8_t>(static_cast<unsigned>(HEDDLE_EVENT_sync) + static_cast<unsigned>(kind)),
        .order = 0,
        .drained = 0,
        .address = 0x100};
  };
  heddle_event free = access(HEDDLE_EVENT_call, 0, 0x200, 0), own = access(HEDDLE_EVENT_call, 0, 0x300, 0);
  free.order = own.order = HEDDLE_CALL_frees;
  run.kept_events = {sync(HEDDLE_SYNC_mutex_lock), access(HEDDLE_EVENT_read, 1, 0x200, 1), free, own,
                     sync(HEDDLE_SYNC_yield)};
  const std::vector<StoryEvent> story = event_story(run, FakeNames());
  ASSERT_EQ(story.size(), 2u);
  EXPECT_EQ(story[0].what, "locks 0x100");
  EXPECT_EQ(story[1].what, "frees the 4 bytes at 0x200");
}

TEST(EventStory, AnExchangeThatFailsLeavesWhatItReads) {
  heddle_event event = access(HEDDLE_EVENT_update, 0, 0x100, 5);
  event.after = 5;
  EXPECT_EQ(access_text(event, {}, FakeNames()), "reads 0x100: 5, and leaves it so");
}

}  // namespace
}  // namespace heddle
