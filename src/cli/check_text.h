// What heddle check says: its progress, and what came of it, for people and as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/verb.h"
#include "driver/confirm.h"
#include "explore/explorer.h"

namespace heddle {

constexpr unsigned kCheckConfirmations = 3;

struct FoundFailure {
  Confirmation confirmation;
  std::string schedule;  // file; empty: it could not be kept
};

std::string check_progress_text(const ExploreProgress& progress, bool by_seeds);

// `assumed`: what the verdict rests on beside the exploration itself.
Json check_json(const ExploreResult& result, const std::vector<FoundFailure>& found,
                const std::vector<std::string>& assumed, std::string_view algorithm, const CodeNames& names);
void print_check(const ExploreResult& result, const std::vector<FoundFailure>& found,
                 const std::vector<std::string>& assumed, const CommonOptions& common, const CodeNames& names);

}  // namespace heddle
