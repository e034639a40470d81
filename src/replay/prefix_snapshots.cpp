#include "replay/prefix_snapshots.h"

#include <algorithm>
#include <cstring>
#include <fstream>

namespace heddle {
namespace {

constexpr uint64_t kUsualFork = 4'000'000;  // nanoseconds: until one was measured
constexpr uint64_t kClearly = 5;            // times the cost of a copy must be saved
constexpr uint64_t kFewBranches = 4;        // tell nothing about what runs from snapshots take
constexpr uint32_t kMostInVain = 3;
constexpr uint32_t kRoom = 6;                  // snapshots that a run may leave
constexpr uint64_t kParts = 4;                 // of a prefix, when snapshots are taken whatever they cost
constexpr uint64_t kLeastMemory = 512 * 1024;  // KiB that must be available

// What both plans must have in common is all but what is behind the snapshot. No step was put off before it.
heddle_plan without_schedule(heddle_plan plan) {
  plan.steps = 0;
  plan.prefix = plan.lenient = 0;
  plan.successor = plan.delayed = plan.awaited = 0;
  plan.awaited_address = plan.awaited_behind = 0;
  plan.awaited_writes = 0;
  plan.snapshots = 0;
  plan.snapshot_events = plan.snapshot_time = plan.known_length = 0;
  return plan;
}

uint64_t count_of(const heddle_step& step) {
  return step.kind == HEDDLE_STEP_run || step.kind == HEDDLE_STEP_flush ? step.count : 1;
}

// But for how often it is done, and for what is no part of a given step.
bool same_step(const heddle_step& left, const heddle_step& right) {
  return left.kind == right.kind && left.thread == right.thread &&
         std::memcmp(&left.place, &right.place, sizeof left.place) == 0;
}

bool same_thread(const heddle_thread_entry& left, const heddle_thread_entry& right) {
  return left.creator == right.creator && left.child == right.child;
}

uint64_t events_of(const GivenSteps& given) {
  uint64_t events = 0;
  for (const heddle_step& step : given.steps) events += step.kind == HEDDLE_STEP_run ? step.count : 0;
  return events;
}

// A copy shares what neither it nor the others write to; nobody knows how much that will be.
bool has_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (uint64_t value = 0; file >> name >> value; std::getline(file, unit))
    if (name == "MemAvailable:") return value >= kLeastMemory;
  return true;
}

}  // namespace

bool PrefixSnapshots::wanted(const ExecutionPlan& plan) const {
  if (use_ == SnapshotUse::never || refused_ || (use_ == SnapshotUse::automatic && !worth_)) return false;
  return plan.schedule != nullptr && !plan.schedule->steps.empty() && plan.runs == 1 && !plan.fresh &&
         plan.lenience != Lenience::leave_out && !plan.full_flushes && !plan.keep_moves &&
         std::ranges::all_of(plan.marked, [](uint64_t event) { return event == 0; });
}

bool PrefixSnapshots::fits(const Snapshot& snapshot, const heddle_plan& plan, const GivenSteps& given) {
  heddle_plan wanted = without_schedule(plan);
  // Flushes are written down in another way by runs that keep events.
  if (plan.memory_model == HEDDLE_MODEL_sc)
    wanted.keep_events = std::max(wanted.keep_events, snapshot.plan.keep_events);
  if (std::memcmp(&snapshot.plan, &wanted, sizeof wanted) != 0) return false;
  const std::vector<heddle_step>& steps = snapshot.given.steps;
  if (steps.size() > given.steps.size()) return false;
  for (size_t i = 0; i < steps.size(); ++i) {
    const uint64_t count = count_of(steps[i]), other = count_of(given.steps[i]);
    if (!same_step(steps[i], given.steps[i]) || (i + 1 < steps.size() ? count != other : count > other))
      return false;
  }
  // Threads of steps that come later may be called differently.
  const auto& threads = snapshot.given.threads;
  return std::ranges::all_of(steps, [&](const heddle_step& step) {
    for (size_t i = 0; i <= step.thread; ++i)
      if (i >= threads.size() || i >= given.threads.size() || !same_thread(threads[i], given.threads[i]))
        return false;
    return true;
  });
}

uint32_t PrefixSnapshots::kept() const {
  uint32_t bits = 0;
  for (uint32_t i = 1; i < snapshots_.size(); ++i)
    if (snapshots_[i]) bits |= 1u << i;
  return bits;
}

// Those that were taken in runs from it end with it.
void PrefixSnapshots::drop(uint32_t number) {
  snapshots_[number].reset();
  for (uint32_t i = 1; i < snapshots_.size(); ++i)
    if (snapshots_[i] && snapshots_[i]->parent == number) drop(i);
}

void PrefixSnapshots::make_room(uint32_t server) {
  const auto needed = [&](uint32_t number) {
    for (uint32_t i = server; i != 0; i = snapshots_[i]->parent)
      if (i == number) return true;
    return false;
  };
  while (static_cast<uint32_t>(__builtin_popcount(kept())) + kRoom >= snapshots_.size()) {
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < snapshots_.size(); ++i)
      if (snapshots_[i] && !needed(i) && (oldest == 0 || snapshots_[i]->used < snapshots_[oldest]->used))
        oldest = i;
    if (oldest == 0) return;
    drop(oldest);
  }
}

SnapshotRequest PrefixSnapshots::request(heddle_plan& plan, const GivenSteps& given) {
  ++requests_;
  SnapshotRequest out;
  for (uint32_t i = 1; i < snapshots_.size(); ++i)
    if (snapshots_[i] && fits(*snapshots_[i], plan, given) &&
        (out.server == 0 || snapshots_[i]->events > snapshots_[out.server]->events))
      out.server = i;
  for (uint32_t i = out.server; i != 0; i = snapshots_[i]->parent) snapshots_[i]->used = requests_;
  make_room(out.server);
  out.kept = kept();
  if (has_memory()) plan.snapshots = ~out.kept & ((1u << HEDDLE_CONTROL_SNAPSHOTS) - 2);
  if (use_ == SnapshotUse::always)
    plan.snapshot_events = events_of(given) / kParts;
  else
    plan.snapshot_time = kClearly * (fork_time_ != 0 ? std::max(fork_time_, kUsualFork) : kUsualFork);
  plan.known_length = longest_;
  last_ = {.plan = plan, .given = given, .server = out.server};
  return out;
}

bool PrefixSnapshots::performed(const SessionAnswer& answer) {
  if (answer.end != SessionAnswer::End::answered) {
    // Somebody may have ended the process that stood there.
    const bool lost =
        last_.server != 0 && (answer.end == SessionAnswer::End::died || answer.end == SessionAnswer::End::hung);
    if (lost) refused_ = true;
    return !lost;
  }
  const heddle_result& result = answer.answer.result;
  if (result.outcome == HEDDLE_OUTCOME_passed) longest_ = std::max(longest_, result.events);
  if (result.fork_time != 0) fork_time_ = result.fork_time;
  for (uint32_t i = 1; i < snapshots_.size(); ++i) {
    const heddle_snapshot& where = answer.snapshots[i];
    if ((answer.snapshots_taken >> i & 1) == 0 || where.steps > last_.given.steps.size()) continue;
    Snapshot taken{.plan = without_schedule(last_.plan), .given = last_.given, .events = where.events};
    taken.given.steps.resize(where.steps);
    if (where.steps != 0) taken.given.steps.back().count = where.count;
    taken.parent = last_.server;
    taken.used = requests_;
    snapshots_[i] = std::move(taken);
    ++counts_.taken;
  }
  if (last_.server != 0) {
    ++counts_.runs;
    ++branches_;
    branch_time_ += result.processor_time + result.fork_time;
    if (branches_ >= kFewBranches && start_time_ != 0 && branch_time_ / branches_ * 5 > start_time_ * 4)
      worth_ = false;
  } else {
    start_time_ = result.processor_time;
    worth_ = answer.snapshots_taken != 0;
    if (!worth_) ++in_vain_;
  }
  if (answer.snapshots_refused) refused_ = true;
  return true;
}

void PrefixSnapshots::note_run(const heddle_result& result) {
  if (result.outcome == HEDDLE_OUTCOME_passed) longest_ = std::max(longest_, result.events);
  // That runs take long may have other reasons than their prefix.
  if (branches_ < kFewBranches && in_vain_ < kMostInVain &&
      result.processor_time > 2 * kClearly * std::max(fork_time_, kUsualFork))
    worth_ = true;
}

void PrefixSnapshots::session_ended() {
  snapshots_ = {};
}

}  // namespace heddle
