// What heddle record does with --mode core.
#pragma once

#include "cli/verb.h"
#include "driver/record_core.h"

namespace heddle {

Result<ExitCode> run_record_core(CoreRecordRequest request, const CommonOptions& common);

}  // namespace heddle
