// The engine `auto`: several engines side by side, each on a thread of its own. The first answer counts; while
// it may have more preemptions than are needed, the others go on for a moment.
#pragma once

#include <memory>
#include <vector>

#include "solve/engine.h"

namespace heddle {

std::unique_ptr<Engine> make_portfolio(std::vector<std::unique_ptr<Engine>> engines);

}  // namespace heddle
