#include "driver/confirm.h"

#include "replay/interrupt.h"

namespace heddle {

Result<Confirmation> confirm(Execution found, Executor& executor, const RunRules& rules, unsigned times) {
  Confirmation out{.best = std::move(found)};
  if (!out.best.schedule_complete) return out;
  const std::string identity = out.best.failure->identity;
  std::optional<Execution> fresh;
  for (unsigned i = 0; i < times && !interrupted(); ++i) {
    Execution again =
        HEDDLE_TRY(executor.execute({.schedule = &out.best.schedule, .rules = rules, .fresh = true}));
    if (!again.failed_as(identity)) continue;
    ++out.confirmed;
    if (!fresh) fresh = std::move(again);
  }
  // Fresh processes are what a schedule will be replayed in: their values are those to be expected.
  if (fresh) out.best = *std::move(fresh);
  return out;
}

Result<void> shorten(Confirmation& confirmation, Executor& executor, const RunRules& rules,
                     std::chrono::milliseconds time) {
  Execution& best = confirmation.best;
  confirmation.before = measure(best.schedule);
  const ShortenOptions options{
      .deadline = std::chrono::steady_clock::now() + time, .rules = rules, .give_up = interrupted};
  const std::string identity = best.failure->identity;
  ShortenResult shorter = HEDDLE_TRY(shorten(best, executor, options));
  confirmation.shorten_tries = shorter.tries;
  confirmation.shorten_finished = shorter.finished;
  if (is_shorter(shorter.best.schedule, best.schedule)) {
    Execution again =
        HEDDLE_TRY(executor.execute({.schedule = &shorter.best.schedule, .rules = rules, .fresh = true}));
    if (again.failed_as(identity)) best = std::move(again);
  }
  confirmation.after = measure(best.schedule);
  return {};
}

}  // namespace heddle
