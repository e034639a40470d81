#include "replay/answer.h"

#include <fmt/core.h>

#include <algorithm>

namespace heddle {
Error damaged_answer(std::string where) {
  return Error{.what = "the program overwrote the memory that it shares with heddle",
               .where = std::move(where),
               .why = "a wild pointer, most likely",
               .next = "run it natively with -fsanitize=address"};
}

std::vector<ThreadName> thread_names(const std::vector<heddle_thread_entry>& threads) {
  std::vector<ThreadName> names;
  names.reserve(threads.size());
  for (size_t i = 0; i < threads.size(); ++i)
    names.push_back(i == 0 ? ThreadName() : names[threads[i].creator].child(threads[i].child));
  return names;
}

Result<void> check_answer(const Answer& answer) {
  const size_t count = answer.threads.size();
  const heddle_result& result = answer.result;
  // Without threads nothing happened: the runtime gave up before the program began.
  if (count == 0 && !answer.steps.empty()) return damaged_answer("no thread is listed");
  for (size_t i = 1; i < count; ++i)
    if (answer.threads[i].creator >= i)
      return damaged_answer(fmt::format("thread {} was created by {}", i, answer.threads[i].creator));
  for (size_t i = 0; i < answer.steps.size(); ++i) {
    const heddle_step& step = answer.steps[i];
    const bool named = step.place.kind == HEDDLE_PLACE_heap || step.place.kind == HEDDLE_PLACE_map ||
                       step.place.kind == HEDDLE_PLACE_tls;
    if (step.thread >= count || step.kind > HEDDLE_STEP_timeout || step.end > HEDDLE_END_yielded ||
        step.place.kind > HEDDLE_PLACE_tls || (named && step.place.thread >= count))
      return damaged_answer(fmt::format("step {} of the run", i + 1));
  }
  for (const heddle_wait& wait : answer.waits)
    if (wait.thread >= count || (wait.holder >= count && wait.holder != HEDDLE_NO_SITE))
      return damaged_answer(fmt::format("a waiting thread {}", wait.thread));
  for (size_t i = 0; i < answer.events.size(); ++i)
    if (answer.events[i].thread >= count) return damaged_answer(fmt::format("event {} of the run", i + 1));
  for (size_t i = 0; i < answer.moves.size(); ++i)
    if (answer.moves[i].thread >= count) return damaged_answer(fmt::format("move {} of the run", i + 1));
  if (result.thread >= std::max<size_t>(count, 1))
    return damaged_answer(fmt::format("thread {}", result.thread));
  return {};
}

}  // namespace heddle
