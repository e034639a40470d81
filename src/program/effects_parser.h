// Parser of effects tables: one line at a time, no state between lines. The grammar is the head comment of
// share/effects.table.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "program/effects.h"

namespace heddle {

// Appends what one line says: one entry for each name, nothing for an empty line or a comment.
Result<void> parse_effects_line(std::string_view line, const std::string& origin, size_t number,
                                std::vector<Effects>& out);

// The items of the grammar that are a word without arguments.
struct EffectsFlag {
  std::string_view name;
  bool Effects::* member;
  std::string_view description;
};

inline constexpr auto kEffectsFlags = std::to_array<EffectsFlag>({
    {"errno", &Effects::sets_errno, "may set errno"},
    {"noreturn", &Effects::no_return, "does not return"},
    {"blocks", &Effects::blocks, "may block"},
    {"input", &Effects::input, "brings data from outside"},
    {"pure", &Effects::pure, "pure"},
});

struct SyncKindInfo {
  std::string_view name;
  size_t objects;
};

// Indexed by SyncKind.
inline constexpr auto kSyncKinds = std::to_array<SyncKindInfo>({{"none", 0},
#define HEDDLE_SYNC_INFO(name, objects) {#name, objects},
                                                                HEDDLE_SYNC_KINDS(HEDDLE_SYNC_INFO)
#undef HEDDLE_SYNC_INFO
});
static_assert(kSyncKinds.size() == HEDDLE_SYNC_count);

}  // namespace heddle
