// Names for the tests of this folder: sites are lines of a.c, code addresses are 0x1000 per function.
#pragma once

#include <fmt/core.h>

#include "replay/failure.h"

namespace heddle {

class FakeNames : public CodeNames {
 public:
  std::optional<CodePlace> place_of_site(uint32_t site) const override {
    if (site == HEDDLE_NO_SITE) return std::nullopt;
    return CodePlace{.file = "a.c", .line = site, .function = "f"};
  }
  // 0x5000 is in a library; the line is the rest of the address.
  std::vector<StackFrame> frames_of(uint64_t address, uint64_t load_base, bool exact) const override {
    const uint64_t at = address - load_base - (exact ? 0 : 1);
    if (at >= 0x5000) return {};
    const std::string function = fmt::format("f{}", at / 0x1000);
    const std::string file = at / 0x1000 == 4 ? "/usr/include/vector" : "a.c";
    return {{function, CodePlace{file, static_cast<uint32_t>(at % 0x1000), function}}};
  }
  std::string variable_at(uint64_t address, uint64_t load_base) const override {
    return address - load_base == 0x9000 ? "lock" : "";
  }
  std::string function_at(uint64_t address, uint64_t load_base) const override {
    return address < load_base ? "" : fmt::format("start{}", (address - load_base) / 0x1000);
  }
};

inline heddle_thread_entry thread_entry(uint32_t creator, uint32_t child) {
  heddle_thread_entry entry{};
  entry.creator = creator;
  entry.child = child;
  entry.site = HEDDLE_NO_SITE;
  return entry;
}

// main, two children of it, and a child of the first.
inline Answer four_threads() {
  Answer answer;
  answer.threads = {thread_entry(0, 0), thread_entry(0, 0), thread_entry(0, 1), thread_entry(1, 0)};
  answer.result.threads = 4;
  answer.result.site = HEDDLE_NO_SITE;
  answer.result.other_site = HEDDLE_NO_SITE;
  answer.result.other_thread = HEDDLE_NO_SITE;
  return answer;
}

}  // namespace heddle
