#include "driver/core_earlier.h"

#include <gtest/gtest.h>

#include "abi/sync_kind.h"

namespace heddle {
namespace {

constexpr uint64_t kLock = 0x100, kBusy = 0x1000, kBuffer = 0x1008;

heddle_event event_of(uint32_t thread, uint32_t site, uint32_t kind, uint64_t address, uint64_t value) {
  heddle_event event{};
  event.thread = static_cast<decltype(event.thread)>(thread);
  event.site = site;
  event.kind = static_cast<decltype(event.kind)>(kind);
  event.address = address;
  event.size = 4;
  event.value = value;
  return event;
}

heddle_event lock_by(uint32_t thread, uint32_t site) {
  return event_of(thread, site, HEDDLE_EVENT_sync + uint32_t{HEDDLE_SYNC_mutex_lock}, kLock, 0);
}

heddle_event unlock_by(uint32_t thread, uint32_t site) {
  return event_of(thread, site, HEDDLE_EVENT_sync + uint32_t{HEDDLE_SYNC_mutex_unlock}, kLock, 0);
}

// A user says that it is busy and uses the buffer; a reaper takes the buffer of who is not.
struct UserAndReaper {
  std::vector<heddle_event> user = {lock_by(1, 1), event_of(1, 2, HEDDLE_EVENT_write, kBusy, 1),
                                    unlock_by(1, 3), event_of(1, 4, HEDDLE_EVENT_read, kBuffer, 7)};
  std::vector<heddle_event> done = {event_of(1, 5, HEDDLE_EVENT_write, kBusy, 0)};

  static std::vector<heddle_event> reaper(uint32_t busy) {
    std::vector<heddle_event> out = {lock_by(2, 11), event_of(2, 12, HEDDLE_EVENT_read, kBusy, busy)};
    if (busy == 0) out.push_back(event_of(2, 13, HEDDLE_EVENT_write, kBuffer, 0));
    out.push_back(unlock_by(2, 14));
    return out;
  }
  static std::vector<heddle_event> joined(std::initializer_list<std::vector<heddle_event>> parts) {
    std::vector<heddle_event> out;
    for (const std::vector<heddle_event>& part : parts) out.insert(out.end(), part.begin(), part.end());
    return out;
  }
};

TEST(CoreEarlier, BeforeTheLockUnderWhichTheOtherSawWhatWasWritten) {
  const UserAndReaper of;
  const CoreCandidate made{.event = 3, .thread = 1, .next = 2, .awaited = kBuffer, .awaited_of = 2};
  std::vector<heddle_event> before = of.user;
  before.pop_back();
  const std::vector<heddle_event> run = of.joined({of.user, of.done, of.reaper(0)});
  const std::vector<heddle_event> tried = of.joined({before, of.reaper(1), {of.user.back()}, of.done});
  EXPECT_EQ(earlier_preemption(made, run, tried, 3), std::optional<size_t>(0));
}

TEST(CoreEarlier, NowhereIfTheOtherCameToItsEvent) {
  const UserAndReaper of;
  const CoreCandidate made{.event = 0, .thread = 1, .next = 2, .awaited = kBuffer, .awaited_of = 2};
  const std::vector<heddle_event> run = of.joined({of.user, of.done, of.reaper(0)});
  const std::vector<heddle_event> tried = of.joined({of.reaper(0), of.user, of.done});
  EXPECT_EQ(earlier_preemption(made, run, tried, 3), std::nullopt);
}

TEST(CoreEarlier, NowhereIfAThirdThreadWroteWhatTheOtherSaw) {
  UserAndReaper of;
  of.user[1].thread = 0;
  const CoreCandidate made{.event = 3, .thread = 1, .next = 2, .awaited = kBuffer, .awaited_of = 2};
  std::vector<heddle_event> before = of.user;
  before.pop_back();
  const std::vector<heddle_event> run = of.joined({of.user, of.done, of.reaper(0)});
  const std::vector<heddle_event> tried = of.joined({before, of.reaper(1), {of.user.back()}, of.done});
  EXPECT_EQ(earlier_preemption(made, run, tried, 3), std::nullopt);
}

}  // namespace
}  // namespace heddle
