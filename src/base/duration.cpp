#include "base/duration.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

namespace heddle {
namespace {

using std::chrono::milliseconds;

constexpr double kLongest = 365.0 * 24 * 3600 * 1000;  // a year, in milliseconds

// Milliseconds in the unit at the front of the text, which is taken off; 0 when there is none.
double take_unit(std::string_view& text) {
  for (const auto& [name, size] :
       {std::pair{std::string_view("ms"), 1.0}, {"s", 1e3}, {"m", 60e3}, {"h", 3600e3}, {"d", 24 * 3600e3}}) {
    if (!text.starts_with(name)) continue;
    text.remove_prefix(name.size());
    return size;
  }
  return 0;
}

}  // namespace

Result<milliseconds> parse_duration(std::string_view text) {
  const Error error{.what = fmt::format("'{}' is not a duration", text),
                    .next = "write 500ms, 30s, 5m or 2h",
                    .exit = ExitCode::usage};
  double sum = 0;
  std::string_view rest = text;
  if (rest.empty()) return error;
  while (!rest.empty()) {
    double number = 0;
    const auto [end, code] =
        std::from_chars(rest.data(), rest.data() + rest.size(), number, std::chars_format::fixed);
    if (code != std::errc() || number < 0 || !std::isfinite(number)) return error;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    const double unit = take_unit(rest);
    if (unit == 0) return error;
    sum += number * unit;
    if (sum > kLongest) return error;
  }
  return milliseconds(std::llround(sum));
}

std::string duration_text(milliseconds time) {
  const double seconds = static_cast<double>(time.count()) / 1000;
  const auto whole = static_cast<uint64_t>(seconds);
  if (seconds < 10) return fmt::format("{:.2f} s", seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} m {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} m", whole / 3600, whole / 60 % 60);
}

}  // namespace heddle
