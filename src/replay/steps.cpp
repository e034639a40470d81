#include "replay/steps.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_map>

#include "abi/hooks.h"
#include "schedule/schedule_text.h"

namespace heddle {
namespace {

// The enums of src/schedule and of abi/control.h are numbered alike.
static_assert(static_cast<int>(StepKind::run) == HEDDLE_STEP_run &&
              static_cast<int>(StepKind::flush) == HEDDLE_STEP_flush &&
              static_cast<int>(StepKind::wake) == HEDDLE_STEP_wake &&
              static_cast<int>(StepKind::timeout) == HEDDLE_STEP_timeout);
static_assert(static_cast<int>(SegmentEnd::preempted) == HEDDLE_END_preempted &&
              static_cast<int>(SegmentEnd::blocked) == HEDDLE_END_blocked &&
              static_cast<int>(SegmentEnd::exited) == HEDDLE_END_exited &&
              static_cast<int>(SegmentEnd::yielded) == HEDDLE_END_yielded);
static_assert(static_cast<int>(MemoryModel::sc) == HEDDLE_MODEL_sc &&
              static_cast<int>(MemoryModel::tso) == HEDDLE_MODEL_tso &&
              static_cast<int>(MemoryModel::pso) == HEDDLE_MODEL_pso);

// Sites come back again and again: one shared place for each.
class Places {
 public:
  explicit Places(const CodeNames& names) : names_(names) {}

  std::shared_ptr<const CodePlace> at(uint32_t site) {
    if (site == HEDDLE_NO_SITE) return nullptr;
    auto [entry, is_new] = places_.try_emplace(site);
    if (is_new)
      if (auto place = names_.place_of_site(site); place && !place->file.empty())
        entry->second = std::make_shared<const CodePlace>(*std::move(place));
    return entry->second;
  }

 private:
  const CodeNames& names_;
  std::unordered_map<uint32_t, std::shared_ptr<const CodePlace>> places_;
};

}  // namespace

Result<GivenSteps> given_steps(const Schedule& schedule, const MemoryNames& memory) {
  GivenSteps out;
  std::vector<ThreadName> names;
  if (schedule.threads.size() > HEDDLE_CONTROL_MAX_THREADS)
    return Error{.what = fmt::format("the schedule has {} threads; controlled runs have at most {}",
                                     schedule.threads.size(), HEDDLE_CONTROL_MAX_THREADS)};
  for (const ScheduleThread& thread : schedule.threads) {
    heddle_thread_entry entry{};
    if (!thread.name.is_main()) {
      const auto creator = schedule.find(thread.name.parent());
      HEDDLE_CHECK(creator.has_value());
      entry.creator = creator->value;
      entry.child = thread.name.index_in_parent();
    } else {
      entry.creator = static_cast<uint32_t>(names.size());
    }
    entry.site = HEDDLE_NO_SITE;
    out.threads.push_back(entry);
    names.push_back(thread.name);
  }
  out.steps.reserve(schedule.steps.size());
  for (size_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    heddle_step raw{};
    raw.kind = static_cast<uint8_t>(step.kind);
    raw.end = static_cast<uint8_t>(step.end);
    raw.thread = static_cast<uint16_t>(step.thread.value);
    raw.site = HEDDLE_NO_SITE;
    raw.count = step.count;
    if (step.location) {
      Result<heddle_place> place = memory.place_of(*step.location, names);
      if (!place) {
        Error error = std::move(place).error();
        error.where = fmt::format("step {}: {}", i + 1, step_text(schedule, step));
        return error;
      }
      raw.place = *place;
    }
    out.steps.push_back(raw);
  }
  return out;
}

Schedule performed_schedule(const Answer& answer, const std::vector<ThreadName>& threads, MemoryModel model,
                            const MemoryNames& memory, const CodeNames& names) {
  Schedule schedule;
  Places places(names);
  const uint64_t base = answer.result.load_base;
  for (size_t i = 0; i < threads.size(); ++i) {
    ScheduleThread thread{.name = threads[i]};
    thread.start = i == 0 ? "main" : names.function_at(answer.threads[i].start, base);
    if (answer.threads[i].calls != 0 && thread.start.find(HEDDLE_THREAD_STATE) != std::string::npos)
      thread.start = names.function_at(answer.threads[i].calls, base);
    if (const auto place = i == 0 ? nullptr : places.at(answer.threads[i].site)) thread.created = *place;
    schedule.threads.push_back(std::move(thread));
  }
  schedule.steps.reserve(answer.steps.size());
  for (const heddle_step& raw : answer.steps) {
    Step step{.kind = static_cast<StepKind>(raw.kind), .thread = ThreadIndex(raw.thread)};
    if (step.kind == StepKind::run) step.end = static_cast<SegmentEnd>(raw.end);
    if (step.kind == StepKind::run || step.kind == StepKind::flush) step.count = raw.count;
    if (step.kind == StepKind::flush && model == MemoryModel::pso)
      step.location = std::make_shared<const Location>(memory.location_of(raw.place, threads, base));
    step.place = places.at(raw.site);
    schedule.steps.push_back(std::move(step));
  }
  return schedule;
}

}  // namespace heddle
