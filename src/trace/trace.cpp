#include "trace/trace.h"

namespace heddle {

std::string_view text_of(EventKind kind) {
  constexpr std::string_view kTexts[kEventKinds] = {
      "read",
      "write",
      "update",
      "fence",
      "lock",
      "unlock",
      "lock failed",
      "read lock",
      "read unlock",
      "read lock failed",
      "write lock",
      "write unlock",
      "write lock failed",
      "wait",
      "woken",
      "timeout",
      "signal",
      "broadcast",
      "arrive",
      "leave",
      "semaphore wait",
      "semaphore failed",
      "post",
      "semaphore value",
      "create",
      "start",
      "exit",
      "join",
      "detach",
      "once",
      "once done",
      "once passed",
      "init",
      "destroy",
      "futex wait",
      "futex wake",
      "allocate",
      "release",
      "sync",
  };
  return kTexts[static_cast<unsigned>(kind)];
}

std::string_view text_of(AccessOrder order) {
  constexpr std::string_view kTexts[] = {"plain",   "relaxed", "consume", "acquire",
                                         "release", "acq_rel", "seq_cst"};
  return kTexts[static_cast<unsigned>(order)];
}

std::string_view text_of(Constraint::Kind kind) {
  constexpr std::string_view kTexts[] = {"branch", "target", "value", "argument", "fault", "other"};
  return kTexts[static_cast<unsigned>(kind)];
}

std::string_view text_of(FailurePredicate::Kind kind) {
  constexpr std::string_view kTexts[] = {"none", "reached", "condition", "freed", "deadlock"};
  return kTexts[static_cast<unsigned>(kind)];
}

}  // namespace heddle
