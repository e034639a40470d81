#include "schedule/location.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

namespace heddle {
namespace {

using Kind = Location::Kind;

// Indexed by Kind.
constexpr auto kKinds = std::to_array<std::string_view>({"global", "tls", "heap", "map", "stack", "address"});

Error not_a_location(std::string_view text) {
  return Error{.what = fmt::format("'{}' is not a location", text),
               .why =
                   "locations are: global:NAME+OFFSET, tls:THREAD/NAME+OFFSET, heap:THREAD/K+OFFSET, "
                   "map:THREAD/K+OFFSET, stack:THREAD/DEPTH/K+OFFSET, address:0xHEX"};
}

std::optional<uint64_t> number(std::string_view text, int base = 10) {
  uint64_t value = 0;
  const char* stop = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), stop, value, base);
  if (error != std::errc() || end != stop) return std::nullopt;
  return value;
}

// What stands before the separator; `rest` becomes what stands after it.
std::optional<std::string_view> cut(std::string_view& rest, char separator) {
  const size_t at = rest.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view head = rest.substr(0, at);
  rest.remove_prefix(at + 1);
  return head;
}

bool parse_rest(std::string_view rest, Location& out) {
  if (out.kind == Kind::address) {
    if (!rest.starts_with("0x")) return false;
    const auto value = number(rest.substr(2), 16);
    out.offset = value.value_or(0);
    return value.has_value();
  }
  // The last '+' ends the name: linker symbols may hold anything, offsets hold digits only.
  const size_t plus = rest.rfind('+');
  if (plus == std::string_view::npos) return false;
  const auto offset = number(rest.substr(plus + 1));
  if (!offset) return false;
  out.offset = *offset;
  rest = rest.substr(0, plus);

  if (out.has_thread()) {
    const auto thread = cut(rest, '/');
    if (!thread) return false;
    auto name = ThreadName::parse(*thread);
    if (!name) return false;
    out.thread = *std::move(name);
  }
  if (out.kind == Kind::global || out.kind == Kind::tls) {
    out.name = rest;
    return !rest.empty();
  }
  if (out.kind == Kind::stack) {
    const auto text = cut(rest, '/');
    const auto frame = text ? number(*text) : std::nullopt;
    if (!frame) return false;
    out.frame = *frame;
  }
  const auto index = number(rest);
  out.index = index.value_or(0);
  return index.has_value();
}

}  // namespace

Location Location::global(std::string name, uint64_t offset) {
  return {.kind = Kind::global, .name = std::move(name), .offset = offset};
}

Location Location::tls(ThreadName thread, std::string name, uint64_t offset) {
  return {.kind = Kind::tls, .thread = std::move(thread), .name = std::move(name), .offset = offset};
}

Location Location::heap(ThreadName thread, uint64_t block, uint64_t offset) {
  return {.kind = Kind::heap, .thread = std::move(thread), .index = block, .offset = offset};
}

Location Location::map(ThreadName thread, uint64_t mapping, uint64_t offset) {
  return {.kind = Kind::map, .thread = std::move(thread), .index = mapping, .offset = offset};
}

Location Location::stack(ThreadName thread, uint64_t frame, uint64_t object, uint64_t offset) {
  return {.kind = Kind::stack, .thread = std::move(thread), .frame = frame, .index = object, .offset = offset};
}

Location Location::address(uint64_t address) {
  return {.kind = Kind::address, .offset = address};
}

Result<Location> Location::parse(std::string_view text) {
  std::string_view rest = text;
  const auto kind = cut(rest, ':');
  for (size_t i = 0; kind && i < kKinds.size(); ++i) {
    if (*kind != kKinds[i]) continue;
    Location location{.kind = static_cast<Kind>(i)};
    if (parse_rest(rest, location)) return location;
  }
  return not_a_location(text);
}

std::string Location::text() const {
  const std::string_view prefix = kKinds[static_cast<size_t>(kind)];
  switch (kind) {
    case Kind::global:
      return fmt::format("{}:{}+{}", prefix, name, offset);
    case Kind::tls:
      return fmt::format("{}:{}/{}+{}", prefix, thread.text(), name, offset);
    case Kind::heap:
    case Kind::map:
      return fmt::format("{}:{}/{}+{}", prefix, thread.text(), index, offset);
    case Kind::stack:
      return fmt::format("{}:{}/{}/{}+{}", prefix, thread.text(), frame, index, offset);
    case Kind::address:
      return fmt::format("{}:0x{:x}", prefix, offset);
  }
  return {};
}

}  // namespace heddle
