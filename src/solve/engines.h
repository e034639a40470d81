// All engines by their names.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "solve/engine.h"

namespace heddle {

std::vector<std::string_view> engine_names();
// The error lists the names.
Result<std::unique_ptr<Engine>> make_engine(std::string_view name);

}  // namespace heddle
