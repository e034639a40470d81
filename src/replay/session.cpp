#include "replay/session.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <thread>

#include "replay/interrupt.h"

namespace heddle {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kTick = 50;        // milliseconds between looks at the process
constexpr milliseconds kGrace{2000};  // for the runtime to answer when it is asked to stop
constexpr int kComputingFactor =
    10;  // a program that computes may use the processor for so many times the patience

// Whether anything moves: executions, events, and what the processor does meanwhile. Times without events are
// cut into windows as long as the patience. A program that computes uses the processor in each of them; one
// that other processes keep from it is at least ready to run at most looks.
class HangWatch {
 public:
  HangWatch(const heddle_control_block& block, const Target& target, milliseconds patience)
      : block_(block), target_(target), patience_(patience) {
    restart();
  }

  bool hangs() {
    const uint64_t executions = __atomic_load_n(&block_.progress, __ATOMIC_RELAXED);
    const uint64_t events = __atomic_load_n(&block_.event_progress, __ATOMIC_RELAXED);
    if (executions != executions_ || events != events_) {
      restart();
      return false;
    }
    ++looks_;
    if (target_.runs()) ++runs_;
    if (Clock::now() - since_ < patience_) return false;
    // Computing without events is not hanging, unless it never ends.
    const uint64_t ticks = target_.processor_time();
    if (ticks - ticks_ <= kBusyTicks && 2 * runs_ < looks_) return true;
    const milliseconds computed((ticks - first_ticks_) * 1000 / ticks_per_second());
    if (computed >= patience_ * kComputingFactor) return true;
    begin_window(ticks);
    return false;
  }

 private:
  static constexpr uint64_t kBusyTicks = 20;  // 0.2 seconds

  static uint64_t ticks_per_second() { return static_cast<uint64_t>(::sysconf(_SC_CLK_TCK)); }

  void restart() {
    executions_ = __atomic_load_n(&block_.progress, __ATOMIC_RELAXED);
    events_ = __atomic_load_n(&block_.event_progress, __ATOMIC_RELAXED);
    first_ticks_ = target_.processor_time();
    begin_window(first_ticks_);
  }

  void begin_window(uint64_t ticks) {
    since_ = Clock::now();
    ticks_ = ticks;
    looks_ = runs_ = 0;
  }

  const heddle_control_block& block_;
  const Target& target_;
  milliseconds patience_;
  uint64_t executions_ = 0, events_ = 0;
  uint64_t first_ticks_ = 0;                   // at the last event
  uint64_t ticks_ = 0, looks_ = 0, runs_ = 0;  // of this window
  Clock::time_point since_;
};

}  // namespace

Result<ControlSession> ControlSession::start(const TargetSpec& spec, const SessionOptions& options) {
  ControlMemory memory = HEDDLE_TRY(ControlMemory::create(options.capacity));
  Target target = HEDDLE_TRY(Target::start(spec, options.streams, memory.file()));
  return ControlSession(std::move(memory), std::move(target), options.patience);
}

SessionAnswer ControlSession::stopped(SessionAnswer::End end) {
  SessionAnswer out{.end = end};
  const heddle_control_block& block = memory_.block();
  out.executions = block.progress;
  std::ranges::copy(block.exit_codes, out.exit_codes.begin());
  if (end == SessionAnswer::End::hung && block.running_call != 0) {
    out.call.assign(block.running_name, ::strnlen(block.running_name, sizeof block.running_name));
    out.site = block.running_site;
  }
  target_.kill();
  out.status = target_.ended().value_or(0);
  over_ = true;
  return out;
}

bool ControlSession::wait_for_answer(milliseconds time) {
  const auto until = Clock::now() + time;
  while (!memory_.answered() && !target_.ended() && Clock::now() < until) memory_.wait(kTick);
  return memory_.answered();
}

Result<SessionAnswer> ControlSession::request(const heddle_plan& plan, const GivenSteps* given,
                                              std::optional<Clock::time_point> deadline,
                                              ControlMemory::Detail when_passed,
                                              const SnapshotRequest& snapshots) {
  using End = SessionAnswer::End;
  memory_.block().snapshots_kept = snapshots.kept;
  memory_.ask(plan, given, snapshots.server);
  HangWatch watch(memory_.block(), target_, patience_);
  memory_.wake();
  while (!memory_.answered()) {
    memory_.wait(kTick);
    if (memory_.answered()) break;
    if (target_.ended()) {
      if (memory_.answered()) break;  // the answer was its last act
      return stopped(End::died);
    }
    const bool late = deadline && Clock::now() >= *deadline;
    if (interrupted() || late) {
      // Between executions the runtime stops by itself and says what it did.
      __atomic_store_n(&memory_.block().quit, 1u, __ATOMIC_SEQ_CST);
      if (!wait_for_answer(interrupted() ? milliseconds(200) : kGrace))
        return stopped(interrupted() ? End::interrupted : End::out_of_time);
      break;
    }
    if (watch.hangs()) {
      ::kill(target_.pid(), SIGRTMAX - 1);
      if (!wait_for_answer(kGrace)) return stopped(End::hung);
      break;
    }
  }
  const Answer brief = HEDDLE_TRY(memory_.read(ControlMemory::Detail::counts));
  SessionAnswer out{.answer = brief, .executions = brief.result.executions};
  std::ranges::copy(memory_.block().exit_codes, out.exit_codes.begin());
  out.snapshots_taken = memory_.block().snapshots_taken & plan.snapshots;
  out.snapshots_refused = memory_.block().snapshots_refused != 0;
  std::ranges::copy(memory_.block().snapshots, out.snapshots.begin());
  if (brief.result.outcome != HEDDLE_OUTCOME_passed || when_passed == ControlMemory::Detail::all)
    out.answer = HEDDLE_TRY(memory_.read(ControlMemory::Detail::all));
  return out;
}

void ControlSession::finish() {
  const auto until = Clock::now() + kGrace;
  while (!target_.ended() && Clock::now() < until) std::this_thread::sleep_for(milliseconds(1));
  target_.kill();
  target_.finish_output();
  over_ = true;
}

}  // namespace heddle
