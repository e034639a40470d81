// Words of a line of the text form: shell-like quoting, both ways.
//
// What is written can be pasted into bash and means the same there. Nothing is expanded when it is read:
// characters that a shell would act on must be quoted in command lines, so that nobody is surprised that they
// do not act.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace heddle {

enum class Quoting : uint8_t {
  shell,  // command lines: all that a shell gives a meaning to is quoted
  name,   // names of functions and variables: brackets and operators stand as they are
};

// The text as one word: as it is, as 'text', or as $'text' with \n, \t, \r, \\, \' and \xNN. Bytes that are not
// UTF-8, control characters and invisible ones (which could make a file look like another) are written as \xNN.
std::string quote_word(std::string_view text, Quoting quoting);

// Offending text as it may stand in a message: files can hold anything, terminals should not get it.
std::string text_for_message(std::string_view text);

struct TextWord {
  std::string text;      // unquoted
  std::string_view raw;  // as it stands in the line; empty at the end of the line
  size_t column = 1;     // in characters, from 1

  bool at_end() const { return raw.empty(); }
  bool is_note_mark() const { return raw == "@"; }  // quoted, it is an ordinary word
};

// Takes a line apart. A '#' at the beginning of a word starts a comment.
class LineWords {
 public:
  explicit LineWords(std::string_view line) : line_(line) {}

  // The next word. Errors have what, why and next, and error_column() says where; the reader adds the file.
  Result<TextWord> next(Quoting quoting);
  size_t error_column() const { return error_column_; }

 private:
  Result<void> single_quoted(std::string& out);
  Result<void> double_quoted(std::string& out);
  Result<void> dollar_quoted(std::string& out);
  Result<void> unquoted(std::string& out, Quoting quoting);
  Result<char> escape();
  Error error_at(size_t position, std::string what, std::string why = {});
  size_t column_of(size_t position) const;

  std::string_view line_;
  size_t position_ = 0;
  size_t error_column_ = 1;
};

}  // namespace heddle
