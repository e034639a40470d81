#include "replay/stopped_run.h"

#include <fmt/core.h>
#include <unistd.h>

namespace heddle {

Result<StoppedRun> StoppedRun::run_to(const ControlledProgram& program, const LaunchOptions& options,
                                      const ExecutionPlan& plan, uint64_t move) {
  std::optional<GivenSteps> given;
  if (plan.schedule != nullptr) given = HEDDLE_TRY(given_steps(*plan.schedule, program.memory()));
  SessionOptions session_options{.capacity = {}, .patience = options.patience};
  if (given)
    session_options.capacity.steps_in =
        std::max<uint64_t>(session_options.capacity.steps_in, given->steps.size());
  session_options.streams.input = options.input;
  auto session = std::make_unique<ControlSession>(
      HEDDLE_TRY(ControlSession::start(target_spec(program, options), session_options)));
  if (options.input >= 0) ::lseek(options.input, 0, SEEK_SET);
  heddle_plan wanted = runtime_plan(plan, options.substrate, Renewal::start);
  wanted.keep_moves = 1;
  wanted.stop_at_move = move;
  const SessionAnswer answer = HEDDLE_TRY(
      session->request(wanted, given ? &*given : nullptr, plan.deadline, ControlMemory::Detail::counts));
  if (answer.end != SessionAnswer::End::answered || answer.answer.result.outcome != HEDDLE_OUTCOME_stopped)
    return Error{.what = "a second run did not come to the point where the first had been",
                 .why = fmt::format("something outside heddle's control takes part (outcome {} {})",
                                    answer.answer.result.outcome, answer.answer.result.text)};
  return StoppedRun(std::move(session), answer.answer.result.load_base);
}

}  // namespace heddle
