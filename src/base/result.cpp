#include "base/result.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>

namespace heddle {

std::string Error::text() const {
  std::string out = what;
  if (!where.empty()) out += "\n  at:   " + where;
  if (!why.empty()) out += "\n  why:  " + why;
  if (!next.empty()) out += "\n  next: " + next;
  return out;
}

Error system_error(std::string what, std::string where) {
  const int code = errno;
  std::string next;
  if (code == ENOSPC || code == EDQUOT) next = "free some space there, then run the same command again";
  return Error{
      .what = fmt::format("{}: {}", what, std::strerror(code)), .where = std::move(where), .next = next};
}

void report_bug(const char* condition, const char* file, int line) {
  fmt::print(stderr, "heddle: internal error: {} does not hold ({}:{})\n", condition, file, line);
  fmt::print(stderr, "  This is a bug in heddle. Please report it with the command line and the input.\n");
  std::_Exit(static_cast<int>(ExitCode::internal));
}

}  // namespace heddle
