// The one JSON type of the project. Keys keep the order in which they were written: output is stable.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/result.h"

namespace heddle {

using Json = nlohmann::ordered_json;

// Parse without exceptions; `what` names the document in the error.
Result<Json> parse_json(std::string_view text, std::string_view what);

}  // namespace heddle
