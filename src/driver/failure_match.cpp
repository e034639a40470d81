#include "driver/failure_match.h"

#include <algorithm>
#include <string_view>

namespace heddle {
namespace {

bool is_one_of(std::string_view kind, std::initializer_list<std::string_view> kinds) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

// The same kind of failure in the same function. Lines may differ: code generation merges the ends of a
// function that do the same, and may do so in one variant only.
bool same_function(const RecordedFailure& recorded, const Failure& controlled) {
  if (!recorded.place || recorded.place->line == 0) return true;  // nobody knows where it was
  return std::ranges::any_of(controlled.stack, [&](const StackFrame& frame) {
    return frame.function == recorded.place->function ||
           (frame.place && frame.place->function == recorded.place->function);
  });
}

// Of two assertions in one function the condition tells which. What an exception says may hold numbers of the
// run.
bool same_condition(const RecordedFailure& recorded, const Failure& controlled) {
  return recorded.kind != "assert" || recorded.text.empty() || controlled.text.empty() ||
         recorded.text == controlled.text;
}

}  // namespace

FailureMatch match(const RecordedFailure& recorded, const Failure& controlled) {
  if (recorded.identity == controlled.identity) return FailureMatch::same;
  if (recorded.kind == controlled.kind && same_function(recorded, controlled) &&
      same_condition(recorded, controlled))
    return FailureMatch::same;
  if (recorded.kind == "hang" && is_one_of(controlled.kind, {"deadlock", "lost-wakeup", "livelock"}))
    return FailureMatch::cause;
  // Also of a hang: who waits for a lock in freed memory waits for ever, or crashes.
  if (is_one_of(controlled.kind, {"use-after-free", "double-free", "invalid-free"})) return FailureMatch::cause;
  return FailureMatch::none;
}

}  // namespace heddle
