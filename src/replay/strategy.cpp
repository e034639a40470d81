#include "replay/strategy.h"

#include <fmt/core.h>

#include <charconv>

namespace heddle {
namespace {

constexpr uint32_t kDefaultDepth = 3;
constexpr uint32_t kMaxDepth = 1000;

}  // namespace

Result<Strategy> Strategy::parse(std::string_view text) {
  if (text == "nonpreemptive") return nonpreemptive();
  if (text == "random") return random();
  if (text == "pos") return pos();
  if (text == "hold") return hold();
  if (text == "pct") return pct(kDefaultDepth);
  if (text.starts_with("pct:")) {
    const std::string_view digits = text.substr(4);
    uint32_t depth = 0;
    const char* stop = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), stop, depth);
    if (error == std::errc() && end == stop && depth >= 1 && depth <= kMaxDepth) return pct(depth);
  }
  return Error{.what = fmt::format("'{}' is not a strategy", text),
               .next = "choose one of: nonpreemptive, random, pos, hold, pct, pct:DEPTH (DEPTH from 1 to 1000)",
               .exit = ExitCode::usage};
}

std::string Strategy::text() const {
  switch (kind) {
    case Kind::nonpreemptive:
      return "nonpreemptive";
    case Kind::random:
      return "random";
    case Kind::pct:
      return fmt::format("pct:{}", depth);
    case Kind::pos:
      return "pos";
    case Kind::hold:
      return "hold";
  }
  return {};
}

}  // namespace heddle
