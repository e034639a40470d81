#include "schedule/text_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace heddle {
namespace {

constexpr std::string_view kAlwaysPlain = "_-./:=+,@%^";
constexpr std::string_view kPlainInNames = "<>()[]{}*&|;~!?";  // a shell acts on these

bool is_space(char c) {
  return c == ' ' || c == '\t';
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

bool is_plain(char c, Quoting quoting) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  if (kAlwaysPlain.find(c) != std::string_view::npos) return true;
  return quoting == Quoting::name && kPlainInNames.find(c) != std::string_view::npos;
}

bool is_invisible(uint32_t c) {
  return (c >= 0x80 && c < 0xa0) || c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

// Number of bytes of the visible character at the beginning of the text; 0 when it has to be escaped.
size_t visible_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return is_control(text[0]) ? 0 : 1;
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return 0;
  uint32_t character = byte(0) & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    character = character << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = character >= 0xd800 && character < 0xe000;
  if (character < kSmallest[length] || character > 0x10ffff || surrogate || is_invisible(character)) return 0;
  return length;
}

// Calls visible(characters) and hidden(byte) for the parts of the text in turn.
template <class Visible, class Hidden>
void each_part(std::string_view text, Visible visible, Hidden hidden) {
  while (!text.empty()) {
    const size_t length = visible_length(text);
    if (length == 0) {
      hidden(static_cast<unsigned char>(text[0]));
    } else {
      visible(text.substr(0, length));
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
}

std::string dollar_quote(std::string_view text) {
  std::string out = "$'";
  const auto hidden = [&](unsigned char byte) {
    if (byte == '\n' || byte == '\t' || byte == '\r') {
      out += byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : "\\r";
    } else {
      out += fmt::format("\\x{:02x}", byte);
    }
  };
  const auto visible = [&](std::string_view character) {
    if (character == "'" || character == "\\") out += '\\';
    out += character;
  };
  each_part(text, visible, hidden);
  return out + "'";
}

}  // namespace

std::string quote_word(std::string_view text, Quoting quoting) {
  const bool plain = std::ranges::all_of(text, [&](char c) { return is_plain(c, quoting); });
  if (plain && !text.empty() && text != "@") return std::string(text);
  bool simple = true;
  each_part(
      text, [&](std::string_view character) { simple = simple && character != "'"; },
      [&](unsigned char) { simple = false; });
  return simple ? fmt::format("'{}'", text) : dollar_quote(text);
}

std::string text_for_message(std::string_view text) {
  if (text.empty()) return "the end of the line";
  constexpr size_t kLongest = 80;
  std::string out;
  each_part(
      text.substr(0, kLongest), [&](std::string_view character) { out += character; },
      [&](unsigned char byte) { out += fmt::format("\\x{:02x}", byte); });
  return fmt::format("'{}{}'", out, text.size() > kLongest ? "..." : "");
}

size_t LineWords::column_of(size_t position) const {
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  const std::string_view before = line_.substr(0, position);
  return before.size() - static_cast<size_t>(std::ranges::count_if(before, continues)) + 1;
}

Error LineWords::error_at(size_t position, std::string what, std::string why) {
  error_column_ = column_of(position);
  return Error{.what = std::move(what),
               .why = std::move(why),
               .next = "quote like a shell: 'text', or $'text' with \\n, \\t, \\\\, \\' and \\xNN"};
}

Result<TextWord> LineWords::next(Quoting quoting) {
  while (position_ < line_.size() && is_space(line_[position_])) ++position_;
  if (position_ < line_.size() && line_[position_] == '#') line_ = line_.substr(0, position_);
  const size_t start = position_;
  TextWord word{.column = column_of(start)};
  while (position_ < line_.size() && !is_space(line_[position_])) {
    const char c = line_[position_];
    const bool dollar = c == '$' && line_.substr(position_ + 1).starts_with('\'');
    if (c == '\'') {
      HEDDLE_TRY(single_quoted(word.text));
    } else if (c == '"') {
      HEDDLE_TRY(double_quoted(word.text));
    } else if (dollar) {
      HEDDLE_TRY(dollar_quoted(word.text));
    } else {
      HEDDLE_TRY(unquoted(word.text, quoting));
    }
  }
  word.raw = line_.substr(start, position_ - start);
  return word;
}

Result<void> LineWords::unquoted(std::string& out, Quoting quoting) {
  const char c = line_[position_];
  if (c == '\\') {
    if (position_ + 1 == line_.size()) return error_at(position_, "a '\\' at the end of the line");
    ++position_;
    if (is_control(line_[position_])) return error_at(position_, "a control character");
    out += line_[position_++];
    return {};
  }
  if (is_control(c))
    return error_at(position_, fmt::format("a control character, {}", text_for_message({&c, 1})));
  const bool act = kPlainInNames.find(c) != std::string_view::npos && quoting == Quoting::shell;
  if (act || c == '$' || c == '`') {
    return error_at(position_, fmt::format("'{}' without quotes", c),
                    "a shell would act on it; schedules expand nothing");
  }
  out += c;
  ++position_;
  return {};
}

Result<void> LineWords::single_quoted(std::string& out) {
  const size_t stop = line_.find('\'', position_ + 1);
  if (stop == std::string_view::npos) return error_at(position_, "this quote is not closed on its line");
  const std::string_view inside = line_.substr(position_ + 1, stop - position_ - 1);
  const auto control = std::ranges::find_if(inside, [](char c) { return is_control(c) && c != '\t'; });
  if (control != inside.end()) {
    return error_at(position_ + 1 + static_cast<size_t>(control - inside.begin()), "a control character");
  }
  out += inside;
  position_ = stop + 1;
  return {};
}

Result<void> LineWords::double_quoted(std::string& out) {
  const size_t start = position_++;
  while (position_ < line_.size() && line_[position_] != '"') {
    char c = line_[position_];
    if (c == '$' || c == '`') {
      return error_at(position_, fmt::format("'{}' inside double quotes", c),
                      "a shell would act on it; schedules expand nothing");
    }
    const bool pair = position_ + 1 < line_.size();
    if (c == '\\' && pair && std::string_view("\"\\$`").find(line_[position_ + 1]) != std::string_view::npos) {
      c = line_[++position_];
    }
    if (is_control(c) && c != '\t') return error_at(position_, "a control character");
    out += c;
    ++position_;
  }
  if (position_ == line_.size()) return error_at(start, "this quote is not closed on its line");
  ++position_;
  return {};
}

Result<void> LineWords::dollar_quoted(std::string& out) {
  const size_t start = position_;
  position_ += 2;
  while (position_ < line_.size() && line_[position_] != '\'') {
    const char c = line_[position_];
    if (is_control(c) && c != '\t') return error_at(position_, "a control character");
    ++position_;
    out += c == '\\' ? HEDDLE_TRY(escape()) : c;
  }
  if (position_ == line_.size()) return error_at(start, "this quote is not closed on its line");
  ++position_;
  return {};
}

// Behind a backslash inside $'...'.
Result<char> LineWords::escape() {
  constexpr std::string_view kNames = "ntr\\'\"";
  constexpr std::string_view kMeanings = "\n\t\r\\'\"";
  const std::string_view rest = line_.substr(position_);
  if (rest.empty()) return error_at(position_ - 1, "a '\\' at the end of the line");
  if (const size_t found = kNames.find(rest[0]); found != std::string_view::npos) {
    ++position_;
    return kMeanings[found];
  }
  unsigned value = 0;
  const bool long_enough = rest[0] == 'x' && rest.size() >= 3;
  if (long_enough && std::from_chars(&rest[1], &rest[1] + 2, value, 16).ptr == &rest[1] + 2) {
    position_ += 3;
    return static_cast<char>(value);
  }
  return error_at(position_ - 1,
                  "expected an escape: \\n, \\t, \\r, \\\\, \\', \\\" or \\x and two hexadecimal digits");
}

}  // namespace heddle
