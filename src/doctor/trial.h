// Trying in a forked child what settings and sandboxes may forbid.
#pragma once

#include "doctor/machine.h"

namespace heddle {

// 0, or the errno it failed with; ETIMEDOUT when the child did not answer within some seconds. No child is
// left.
int try_for_real(Trial trial);

}  // namespace heddle
