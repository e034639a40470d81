#include "base/safe_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle {
namespace {

// Length of the UTF-8 sequence that begins here; 0: none does.
size_t sequence_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(at);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
  if (length == 3 && ((first == 0xe0 && byte(at + 1) < 0xa0) || (first == 0xed && byte(at + 1) >= 0xa0)))
    return 0;
  if (length == 4 && ((first == 0xf0 && byte(at + 1) < 0x90) || (first == 0xf4 && byte(at + 1) >= 0x90)))
    return 0;
  return length;
}

// C1 controls, and characters that turn the direction of writing or are not seen at all.
bool is_invisible(std::string_view sequence) {
  if (sequence.size() == 2) return sequence[0] == '\xc2' && static_cast<unsigned char>(sequence[1]) < 0xa0;
  if (sequence.size() != 3 || sequence[0] != '\xe2') return false;
  const auto second = static_cast<unsigned char>(sequence[1]), third = static_cast<unsigned char>(sequence[2]);
  return (second == 0x80 && ((third >= 0x8b && third <= 0x8f) || (third >= 0xa8 && third <= 0xae))) ||
         (second == 0x81 && third >= 0xa0 && third <= 0xaf);
}

}  // namespace

std::string for_terminal(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = sequence_at(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    if (length == 0 || (length == 1 && (byte < 0x20 || byte == 0x7f))) {
      out += fmt::format("\\x{:02x}", byte);
      ++at;
      continue;
    }
    const std::string_view sequence = text.substr(at, length);
    if (is_invisible(sequence))
      for (const char c : sequence) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += sequence;
    at += length;
  }
  return out;
}

std::string lines_for_terminal(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += for_terminal(text.substr(at, end - at));
    if (end < text.size()) out += '\n';
    at = end + 1;
  }
  return out;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t length = sequence_at(text, at);
    out += length == 0 ? "\xef\xbf\xbd" : text.substr(at, length);
    at += length == 0 ? 1 : length;
  }
  return out;
}

std::string for_script_element(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '<' || c == '>' || c == '&')
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else if (text.compare(at, 2, "\xe2\x80") == 0 && at + 2 < text.size() &&
             (text[at + 2] == '\xa8' || text[at + 2] == '\xa9')) {
      out += text[at + 2] == '\xa8' ? "\\u2028" : "\\u2029";
      at += 2;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace heddle
