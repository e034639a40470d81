// How a recorded run failed, from what the runtime told, how the process ended, and where its threads stood.
// The identity is made as that of controlled runs (replay/failure.h), so that both can be compared.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "abi/record.h"
#include "image/process_stacks.h"
#include "recording/recording_info.h"
#include "replay/failure.h"

namespace heddle {

// How the process ended: one of both is there.
struct ProcessStatus {
  std::optional<int> exit_code, signal;
};

// `told`: the process file, of which `failed` says whether there is anything. `stack`: of the thread that
// failed, from the place where it did, only the frames in the program's own file; empty when nobody could look.
// Nothing when the run did not fail.
std::optional<RecordedFailure> recorded_failure(const heddle_record_process& told, const ProcessStatus& status,
                                                const std::vector<ProcessFrame>& stack, const CodeNames& names);

// A run that did not end in time; without a limit, one of which all threads wait for each other. The identity
// names the places where threads stand, each once: which of several alike threads is where differs from run to
// run.
RecordedFailure recorded_hang(std::optional<std::chrono::milliseconds> limit,
                              const std::vector<RecordedThread>& threads);

// The frames from where a signal came, if it is in there: without those of the handler.
std::vector<ProcessFrame> frames_from(const std::vector<ProcessFrame>& stack, uint64_t pc);

}  // namespace heddle
