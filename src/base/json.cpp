#include "base/json.h"

#include <fmt/core.h>

namespace heddle {

Result<Json> parse_json(std::string_view text, std::string_view what) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Error{.what = fmt::format("{} is not valid JSON", what)};
  return json;
}

}  // namespace heddle
