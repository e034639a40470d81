// A controlled program that serves requests: starts it, asks it, watches it, ends it.
//
// Every wait ends: by the answer, by the end of the process, by Ctrl-C, at a deadline, or because the program
// hangs.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>

#include "replay/control_memory.h"
#include "replay/target.h"

namespace heddle {

struct SessionOptions {
  ControlCapacity capacity;
  TargetStreams streams;
  // Without any progress and without using the processor, or being ready to, for this long, the program hangs;
  // when it computes, it has ten times as much of the processor's time.
  std::chrono::milliseconds patience = std::chrono::seconds(10);
};

// Snapshots of earlier requests (abi/control.h), for one request.
struct SnapshotRequest {
  uint32_t server = 0;  // who is asked; 0: nobody of them
  uint32_t kept = 0;    // bits; the others end
};

struct SessionAnswer {
  enum class End {
    answered,
    died,         // the process ended without an answer; `status`
    interrupted,  // Ctrl-C
    out_of_time,
    hung,  // and did not say where; `call` and `site` when it waits in a call that is known
  };
  End end = End::answered;
  Answer answer;                           // answered
  int status = 0;                          // as waitpid gives it
  uint64_t executions = 0;                 // performed before the end
  std::array<uint64_t, 256> exit_codes{};  // of those that passed
  uint32_t snapshots_taken = 0;            // bits
  bool snapshots_refused = false;
  std::array<heddle_snapshot, HEDDLE_CONTROL_SNAPSHOTS> snapshots{};
  std::string call;  // hung
  uint32_t site = HEDDLE_NO_SITE;
};

class ControlSession {
 public:
  static Result<ControlSession> start(const TargetSpec& spec, const SessionOptions& options);

  // Requires: alive(). `given` may be null. After any end but `answered` the session is over. With
  // `when_passed` set to counts, the lists of an answer that passed are left out.
  Result<SessionAnswer> request(const heddle_plan& plan, const GivenSteps* given,
                                std::optional<std::chrono::steady_clock::time_point> deadline,
                                ControlMemory::Detail when_passed, const SnapshotRequest& snapshots = {});

  bool alive() { return !over_ && !target_.ended(); }
  pid_t pid() const { return target_.pid(); }
  const ControlCapacity& capacity() const { return memory_.capacity(); }
  // Waits for the end of a target that was asked to run once, until all of its output was shown.
  void finish();

 private:
  ControlSession(ControlMemory memory, Target target, std::chrono::milliseconds patience)
      : memory_(std::move(memory)), target_(std::move(target)), patience_(patience) {}
  SessionAnswer stopped(SessionAnswer::End end);
  bool wait_for_answer(std::chrono::milliseconds time);

  ControlMemory memory_;
  Target target_;
  std::chrono::milliseconds patience_;
  bool over_ = false;
};

}  // namespace heddle
