#include "driver/failure_match.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace heddle {
namespace {

bool is_one_of(std::string_view kind, std::initializer_list<std::string_view> kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

bool same_place(const std::optional<RecordedPlace>& recorded, const std::optional<CodePlace>& controlled) {
  return recorded && controlled && recorded->line == controlled->line &&
         recorded->function == controlled->function &&
         (recorded->file.ends_with(controlled->file) || controlled->file.ends_with(recorded->file));
}

}  // namespace

FailureMatch match(const RecordedFailure& recorded, const Failure& controlled) {
  if (recorded.identity == controlled.identity) return FailureMatch::same;
  if (recorded.kind == controlled.kind && same_place(recorded.place, controlled.place))
    return FailureMatch::same;
  if (recorded.kind == "hang")
    return is_one_of(controlled.kind, {"deadlock", "lost-wakeup", "livelock"}) ? FailureMatch::cause
                                                                               : FailureMatch::none;
  if (is_one_of(controlled.kind, {"use-after-free", "double-free", "invalid-free"})) return FailureMatch::cause;
  return FailureMatch::none;
}

}  // namespace heddle
