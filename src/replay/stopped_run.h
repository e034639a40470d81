// A controlled run that stands still at some point, so that its memory can be looked at. It ends when the
// object dies.
#pragma once

#include <memory>

#include "replay/program_executor.h"

namespace heddle {

class StoppedRun {
 public:
  // Performs the plan in a process of its own until the move (from 1; abi/control.h) is about to be made.
  // `program` is a "follow" variant.
  static Result<StoppedRun> run_to(const ControlledProgram& program, const LaunchOptions& options,
                                   const ExecutionPlan& plan, uint64_t move);

  pid_t pid() const { return session_->pid(); }
  uint64_t load_base() const { return load_base_; }

 private:
  StoppedRun(std::unique_ptr<ControlSession> session, uint64_t load_base)
      : session_(std::move(session)), load_base_(load_base) {}

  std::unique_ptr<ControlSession> session_;
  uint64_t load_base_ = 0;
};

}  // namespace heddle
