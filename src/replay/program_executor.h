// Performs controlled executions of a program, in one process or several.
//
// Policy: fibres in one process that is reset between runs, as long as the program allows it. A run that
// reaches outside its memory (a system call that reset cannot undo), or a process that dies, is repeated with a
// process per run (fork); programs that create threads before main() get a process started anew for each run.
// Who performs many runs with long prefixes in common can have them begin at snapshots (prefix_snapshots.h).
#pragma once

#include <functional>
#include <memory>

#include "replay/controlled_program.h"
#include "replay/executor.h"
#include "replay/prefix_snapshots.h"
#include "replay/session.h"

namespace heddle {

enum class Substrate : uint8_t { fibres, threads };
enum class Renewal : uint8_t { reset, fork, start };  // start: a program start per run

std::string_view text_of(Renewal renewal);

// How a command is executed.
struct LaunchOptions {
  std::vector<std::string> command;      // argv
  std::filesystem::path folder;          // absolute
  std::vector<std::string> environment;  // settings on top of the standard environment
  Substrate substrate = Substrate::fibres;
  Renewal renewal = Renewal::reset;  // to begin with
  SnapshotUse snapshots = SnapshotUse::never;
  int input = -1;              // descriptor of a file that each run reads from its start; -1: none
  std::string input_name;      // that file's, absolute, if it has one
  bool inherit_input = false;  // heddle's own standard input
  TargetOutput output = TargetOutput::discard;
  std::chrono::milliseconds patience = std::chrono::seconds(10);
};

// The process of a command; also for those who start it by other means (gdb).
TargetSpec target_spec(const ControlledProgram& program, const LaunchOptions& options);

heddle_plan runtime_plan(const ExecutionPlan& plan, Substrate substrate, Renewal renewal);

class ProgramExecutor : public Executor {
 public:
  // `program` must outlive it.
  ProgramExecutor(const ControlledProgram& program, LaunchOptions options);

  Result<Execution> execute(const ExecutionPlan& plan) override;

  Renewal renewal() const { return renewal_; }
  // Why a process per run is needed; empty when it is not, or was asked for.
  const std::string& renewal_reason() const { return reason_; }
  const SnapshotCounts& snapshots() const { return snapshots_.counts(); }
  // From now on at least this.
  void renew_by(Renewal renewal, std::string reason);

 private:
  enum class From { start, snapshot };  // snapshot: if there is one that fits
  Result<SessionAnswer> ask(const ExecutionPlan& plan, Renewal renewal, From from, const GivenSteps* given);
  Result<Execution> execution_of(SessionAnswer answer, const ExecutionPlan& plan) const;
  ScheduleHeader header_of(const ExecutionPlan& plan, uint64_t seed) const;
  std::optional<Renewal> better_renewal(const SessionAnswer& answer, Renewal used, std::string& reason) const;

  const ControlledProgram& program_;
  LaunchOptions options_;
  Renewal renewal_;
  std::string reason_;
  uint64_t longest_ = 0;  // events of a run so far: processes that are started anew cannot learn it themselves
  std::unique_ptr<ControlSession> resetting_;  // a process that is reset between runs
  std::unique_ptr<ControlSession> forking_;    // one that was never run in itself
  PrefixSnapshots snapshots_;                  // of that session
};

}  // namespace heddle
