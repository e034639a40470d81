#include "schedule/schedule.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace heddle {
namespace {

constexpr auto kModels = std::to_array<std::string_view>({"sc", "tso", "pso"});
constexpr auto kStepKinds = std::to_array<std::string_view>({"run", "flush", "wake", "timeout"});
constexpr auto kEnds = std::to_array<std::string_view>({"preempted", "blocked", "exited", "yielded"});

bool same_location(const Step& left, const Step& right) {
  if (!left.location || !right.location) return left.location == right.location;
  return *left.location == *right.location;
}

}  // namespace

std::string_view text_of(MemoryModel model) {
  return kModels[static_cast<size_t>(model)];
}

std::optional<MemoryModel> parse_memory_model(std::string_view text) {
  const auto found = std::ranges::find(kModels, text);
  if (found == kModels.end()) return std::nullopt;
  return static_cast<MemoryModel>(found - kModels.begin());
}

std::string_view text_of(StepKind kind) {
  return kStepKinds[static_cast<size_t>(kind)];
}

std::string_view text_of(SegmentEnd end) {
  return kEnds[static_cast<size_t>(end)];
}

Step Step::run(ThreadIndex thread, uint64_t count, SegmentEnd end) {
  return {.kind = StepKind::run, .end = end, .thread = thread, .count = count};
}

Step Step::flush(ThreadIndex thread, uint64_t count) {
  return {.kind = StepKind::flush, .thread = thread, .count = count};
}

Step Step::flush(ThreadIndex thread, Location location, uint64_t count) {
  Step step = flush(thread, count);
  step.location = std::make_shared<const Location>(std::move(location));
  return step;
}

bool same_target(const Step& left, const Step& right) {
  return left.kind == right.kind && left.thread == right.thread && same_location(left, right);
}

bool operator==(const Step& left, const Step& right) {
  return same_target(left, right) && left.count == right.count && left.end == right.end;
}

std::optional<ThreadIndex> Schedule::find(const ThreadName& name) const {
  const auto found = std::ranges::find(threads, name, &ScheduleThread::name);
  if (found == threads.end()) return std::nullopt;
  return ThreadIndex(static_cast<size_t>(found - threads.begin()));
}

bool operator==(const Schedule& left, const Schedule& right) {
  if (left.header != right.header || left.threads.size() != right.threads.size()) return false;
  std::unordered_map<ThreadName, ThreadIndex> index_in_left;
  for (size_t i = 0; i < left.threads.size(); ++i) index_in_left.emplace(left.threads[i].name, ThreadIndex(i));

  std::vector<ThreadIndex> to_left;
  for (const ScheduleThread& thread : right.threads) {
    const auto found = index_in_left.find(thread.name);
    if (found == index_in_left.end()) return false;
    to_left.push_back(found->second);
  }
  return std::ranges::equal(left.steps, right.steps, [&](const Step& mine, Step other) {
    other.thread = to_left[other.thread.index()];
    return mine == other;
  });
}

}  // namespace heddle
