// Which thread was on which core when, by the context-switch records (H3, section 6.3.1).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "pt/perf_file.h"

namespace heddle {

class CoreSchedule {
 public:
  explicit CoreSchedule(const PerfFile& file);

  struct Place {
    uint32_t pid = 0, tid = 0;  // tid 0: nobody
  };
  // At a time of perf's clock. Nothing: no record says.
  std::optional<Place> at(uint32_t core, uint64_t time) const;
  // Threads that were on the core at any time from `begin` to `end`.
  std::vector<Place> between(uint32_t core, uint64_t begin, uint64_t end) const;

 private:
  struct Change {
    uint64_t time, record;  // offset of the record: of the same time, the later one holds
    Place place;
  };
  std::map<uint32_t, std::vector<Change>> cores_;  // by time
};

}  // namespace heddle
