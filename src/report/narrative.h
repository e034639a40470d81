// What a finding says in sentences: the headline, why it failed, what would help.
#pragma once

#include <string>
#include <string_view>

#include "abi/control.h"
#include "report/finding.h"

namespace heddle {

// Fills headline, explanation, advice, cycle and the texts of the pairs.
void tell(FailureFinding& finding);

std::string_view pattern_name(Pattern pattern);  // "Atomicity violation"

// "thread 0:1 (worker)"
std::string who(const FailureFinding& finding, uint32_t thread);
// "file:line" of an event, and what calls it when that is a function of its own
std::string where(const FindingEvent& event);

}  // namespace heddle
