// Text that a program made (names, values, messages) may hold anything.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace heddle {

// For terminals: control characters and bytes that are not UTF-8 as \xNN, so that no text can move the cursor
// or change colours.
std::string for_terminal(std::string_view text);
// The same line by line: ends of lines stay.
std::string lines_for_terminal(std::string_view text);

// Valid UTF-8; what is not becomes U+FFFD.
std::string valid_utf8(std::string_view text);

// JSON that can stand in an HTML script element: no <, >, & and no line separators of JavaScript outside of
// escapes.
std::string for_script_element(const Json& json);

}  // namespace heddle
