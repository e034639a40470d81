#include "symex/host_printf.h"

#include <bit>
#include <cstdio>
#include <cstring>

namespace heddle {
namespace {

constexpr size_t kLongest = 1 << 16;  // of what one conversion makes

// One conversion, from its %.
struct Conversion {
  std::string text;
  unsigned stars = 0;
  char kind = 0;
  bool precision = false, last_star_is_precision = false;
  uint64_t fixed_precision = UINT64_MAX;
};

std::optional<Conversion> read_conversion(const std::string& format, size_t& at) {
  Conversion out;
  const size_t begin = at++;
  while (at < format.size() && std::strchr("-+ #0'", format[at]) != nullptr) ++at;
  const auto number = [&](bool precision) {
    if (at < format.size() && format[at] == '*') {
      ++out.stars;
      out.last_star_is_precision = precision;
      ++at;
      return true;
    }
    uint64_t value = 0;
    for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at)
      value = value * 10 + static_cast<uint64_t>(format[at] - '0');
    if (precision) out.fixed_precision = value;
    return value < kLongest;
  };
  if (!number(false)) return std::nullopt;
  if (at < format.size() && format[at] == '.') {
    out.precision = true;
    ++at;
    if (!number(true)) return std::nullopt;
  }
  bool is_long = false;
  for (; at < format.size() && std::strchr("hljztL", format[at]) != nullptr; ++at) {
    if (format[at] == 'L') return std::nullopt;
    is_long |= format[at] == 'l';
  }
  if (at == format.size()) return std::nullopt;
  out.kind = format[at++];
  if (std::strchr("diouxXcpsaAeEfFgG%", out.kind) == nullptr) return std::nullopt;
  if (is_long && (out.kind == 's' || out.kind == 'c')) return std::nullopt;
  out.text = format.substr(begin, at - begin);
  return out;
}

template <class... Arguments>
std::string print(const std::string& format, Arguments... arguments) {
  std::string out(2 * kLongest, '\0');
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wformat-nonliteral"
#pragma clang diagnostic ignored "-Wformat-security"
  const int length = std::snprintf(out.data(), out.size(), format.c_str(), arguments...);
#pragma clang diagnostic pop
  out.resize(length < 0 ? 0 : std::min(out.size() - 1, static_cast<size_t>(length)));
  return out;
}

template <class Value>
std::string print(const Conversion& conversion, const int* stars, Value value) {
  if (conversion.stars == 2) return print(conversion.text, stars[0], stars[1], value);
  if (conversion.stars == 1) return print(conversion.text, stars[0], value);
  return print(conversion.text, value);
}

}  // namespace

std::optional<std::string> format_on_host(
    const std::string& format, const std::vector<HostArgument>& arguments,
    const std::function<std::optional<std::string>(uint64_t address, uint64_t limit)>& string_at) {
  std::string out;
  size_t next = 0;
  for (size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    const std::optional<Conversion> conversion = read_conversion(format, at);
    if (!conversion) return std::nullopt;
    if (conversion->kind == '%') {
      out += '%';
      continue;
    }
    int stars[2] = {};
    for (unsigned i = 0; i < conversion->stars; ++i) {
      if (next == arguments.size() || arguments[next].real) return std::nullopt;
      stars[i] = static_cast<int>(arguments[next++].bits);
      if (stars[i] > static_cast<int>(kLongest) || stars[i] < -static_cast<int>(kLongest)) return std::nullopt;
    }
    const bool real = std::strchr("aAeEfFgG", conversion->kind) != nullptr;
    if (next == arguments.size() || arguments[next].real != real) return std::nullopt;
    const uint64_t bits = arguments[next++].bits;
    if (real) {
      out += print(*conversion, stars, std::bit_cast<double>(bits));
    } else if (conversion->kind == 's') {
      uint64_t limit = conversion->precision ? conversion->fixed_precision : kLongest;
      if (conversion->last_star_is_precision) {
        const int given = stars[conversion->stars - 1];
        limit = given < 0 ? kLongest : static_cast<uint64_t>(given);
      }
      const std::optional<std::string> text = bits == 0 ? "(null)" : string_at(bits, limit);
      if (!text) return std::nullopt;
      out += print(*conversion, stars, text->c_str());
    } else if (conversion->kind == 'p') {
      out += print(*conversion, stars, reinterpret_cast<void*>(bits));
    } else {
      out += print(*conversion, stars, bits);
    }
    if (out.size() > 16 * kLongest) return std::nullopt;
  }
  return out;
}

}  // namespace heddle
