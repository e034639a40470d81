#include "base/size.h"

#include <fmt/core.h>

#include <charconv>

namespace heddle {
namespace {

constexpr uint64_t kLargest = uint64_t{1} << 50;  // far beyond any disk, and no sum of it overflows

// The factor that the text's end stands for; 0 when it stands for nothing.
uint64_t unit_of(std::string_view text) {
  if (text.size() > 2 && text.ends_with("iB"))
    text.remove_suffix(2);
  else if (text.size() > 1 && text.ends_with('B'))
    text.remove_suffix(1);
  if (text.empty() || text == "B") return 1;
  if (text.size() != 1) return 0;
  switch (text[0]) {
    case 'k':
    case 'K':
      return uint64_t{1} << 10;
    case 'm':
    case 'M':
      return uint64_t{1} << 20;
    case 'g':
    case 'G':
      return uint64_t{1} << 30;
    case 't':
    case 'T':
      return uint64_t{1} << 40;
    default:
      return 0;
  }
}

}  // namespace

Result<uint64_t> parse_size(std::string_view text) {
  const Error error{.what = fmt::format("'{}' is not a size", text),
                    .next = "write 4096, 64K, 16M or 2G",
                    .exit = ExitCode::usage};
  uint64_t number = 0;
  const char* const stop = text.data() + text.size();
  const auto [end, code] = std::from_chars(text.data(), stop, number);
  if (code != std::errc()) return error;
  const uint64_t unit = unit_of({end, stop});
  if (unit == 0 || number > kLargest / unit) return error;
  return number * unit;
}

std::string size_text(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
  double amount = static_cast<double>(bytes) / 1024;
  const char* unit = "KiB";
  for (const char* larger : {"MiB", "GiB", "TiB"}) {
    if (amount < 1024) break;
    amount /= 1024;
    unit = larger;
  }
  return fmt::format("{:.1f} {}", amount, unit);
}

}  // namespace heddle
