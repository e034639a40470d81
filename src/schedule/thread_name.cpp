#include "schedule/thread_name.h"

#include <fmt/format.h>

#include <charconv>

namespace heddle {
namespace {

Error not_a_name(std::string_view text) {
  return Error{.what = fmt::format("'{}' is not the name of a thread", text),
               .why = "the main thread is 0, its first child 0:0, that one's second child 0:0:1"};
}

}  // namespace

Result<ThreadName> ThreadName::parse(std::string_view text) {
  if (!text.starts_with('0')) return not_a_name(text);
  ThreadName name;
  size_t position = 1;
  while (position < text.size()) {
    if (text[position] != ':') return not_a_name(text);
    const size_t start = position + 1;
    const size_t stop = std::min(text.find(':', start), text.size());
    uint32_t index = 0;
    // from_chars takes digits only: no sign, no space, no prefix.
    const auto [end, error] = std::from_chars(text.data() + start, text.data() + stop, index);
    const bool padded = stop - start > 1 && text[start] == '0';
    if (error != std::errc() || end != text.data() + stop || padded) return not_a_name(text);
    name.path_.push_back(index);
    position = stop;
  }
  return name;
}

ThreadName ThreadName::child(uint32_t index) const {
  ThreadName name = *this;
  name.path_.push_back(index);
  return name;
}

ThreadName ThreadName::parent() const {
  HEDDLE_CHECK(!is_main());
  ThreadName name = *this;
  name.path_.pop_back();
  return name;
}

uint32_t ThreadName::index_in_parent() const {
  HEDDLE_CHECK(!is_main());
  return path_.back();
}

std::string ThreadName::text() const {
  std::string out = "0";
  for (const uint32_t index : path_) out += fmt::format(":{}", index);
  return out;
}

size_t ThreadName::hash() const {
  uint64_t value = 1;
  for (const uint32_t index : path_) {
    value = (value + index + 1) * 0x9e3779b97f4a7c15u;
    value ^= value >> 32;
  }
  return value;
}

}  // namespace heddle
