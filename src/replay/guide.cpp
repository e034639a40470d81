#include "replay/guide.h"

#include <algorithm>

#include "base/result.h"

namespace heddle {
namespace {

heddle_step_kind kind_of(GuideStep::Kind kind) {
  switch (kind) {
    case GuideStep::Kind::run:
      return HEDDLE_STEP_run_to;
    case GuideStep::Kind::flush:
      return HEDDLE_STEP_flush_to;
    case GuideStep::Kind::timeout:
      return HEDDLE_STEP_timeout;
  }
  return HEDDLE_STEP_run_to;
}

}  // namespace

GivenSteps given_steps(const Guide& guide) {
  GivenSteps out;
  for (uint32_t i = 0; i < guide.threads.size(); ++i) {
    const ThreadName& name = guide.threads[i];
    heddle_thread_entry entry{.creator = i, .site = HEDDLE_NO_SITE};
    if (!name.is_main()) {
      const auto creator = std::ranges::find(guide.threads, name.parent());
      HEDDLE_CHECK(creator != guide.threads.end());
      entry.creator = static_cast<uint32_t>(creator - guide.threads.begin());
      entry.child = name.index_in_parent();
    }
    out.threads.push_back(entry);
  }
  for (const GuideStep& step : guide.steps) {
    heddle_step raw{};
    raw.kind = static_cast<uint8_t>(kind_of(step.kind));
    raw.target = static_cast<uint8_t>(step.target);
    raw.thread = static_cast<uint16_t>(step.thread);
    raw.site = step.site;
    raw.count = step.occurrence;
    out.steps.push_back(raw);
  }
  return out;
}

}  // namespace heddle
