// heddle record --mode core: native runs of a program until one crashes or hangs; its core is kept.
#pragma once

#include <functional>

#include "driver/core_summary.h"
#include "driver/watched_run.h"

namespace heddle {

struct CoreRecordRequest {
  WatchedRun run;                // `chaos`: the seed of the first run; each further run has the next
  std::filesystem::path output;  // of the core; empty: NAME.core, NAME.1.core, ... in the current folder
  uint64_t runs = 1;
  std::optional<std::chrono::milliseconds> time;
};

struct CoreRecordState {
  uint64_t runs = 0;  // that ended
  std::chrono::milliseconds elapsed{};
};

struct CoreRecordResult {
  CoreRecordState state;
  WatchedEnd last;
  std::filesystem::path core;  // empty: no run failed
  std::optional<CoreSummary> summary;
};

Result<CoreRecordResult> record_core(CoreRecordRequest request,
                                     const std::function<void(const CoreRecordState&)>& progress);

}  // namespace heddle
