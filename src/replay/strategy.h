// Who goes on at a decision point when no schedule says so: the strategies of the control runtime, and their
// names on the command line and in schedules ("random", "pct:3").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heddle {

struct Strategy {
  enum class Kind : uint8_t { nonpreemptive, random, pct, pos, hold };

  Kind kind = Kind::nonpreemptive;
  uint32_t depth = 0;  // pct: number of ordering constraints the failure needs; at least 1

  static Strategy nonpreemptive() { return {}; }
  static Strategy random() { return {Kind::random, 0}; }
  static Strategy pct(uint32_t depth) { return {Kind::pct, depth}; }
  static Strategy pos() { return {Kind::pos, 0}; }
  static Strategy hold() { return {Kind::hold, 0}; }
  static Result<Strategy> parse(std::string_view text);
  std::string text() const;

  friend bool operator==(const Strategy&, const Strategy&) = default;
};

}  // namespace heddle
