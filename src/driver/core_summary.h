// A core file as heddle show tells of it: no program model needed.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "coredump/core_stacks.h"

namespace heddle {

struct CoreSummary {
  std::string file, program, build_id, command, signal;
  uint64_t bytes = 0;
  std::vector<CoreStack> stacks;  // the failing thread first
  std::vector<std::string> notes;

  std::string text() const;
  Json to_json() const;
};

Result<CoreSummary> summarise_core(const std::filesystem::path& file);

}  // namespace heddle
