// The pattern that decisive pairs form (Lu et al., ASPLOS 2008).
#pragma once

#include "report/why.h"

namespace heddle {

// Sets pattern, local events and the order of the pairs.
void name_pattern(const RunOrder& order, const HeldLocks& locks, const CodeNames& names, Why& why);

}  // namespace heddle
