#include "pt/emulator.h"

#include <fmt/core.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <set>

#include "base/files.h"
#include "pt/own_code.h"
#include "pt/packet_writer.h"
#include "pt/perf_layout.h"
#include "pt/perf_writer.h"
#include "pt/stepped_process.h"
#include "pt/waited_process.h"

namespace heddle {
namespace {

using Stop = SteppedProcess::Stop;

constexpr uint64_t kFirstTsc = 1'000'000'000;
constexpr uint64_t kSwitchCost = 400;           // cycles of the kernel around a switch and in a system call
constexpr uint64_t kInstructionsOutside = 300;  // for which a call counts, at most
constexpr uint64_t kRarelyStalled = 64, kLongStall = 400;
constexpr uint64_t kRarelyInside = 32;
constexpr std::chrono::milliseconds kLongOutside{2};
constexpr size_t kChunk = 64 << 10;  // of trace data
constexpr uint64_t kNoCall = UINT64_MAX;
constexpr int64_t kFirstRestart = -512, kLastRestart = -516;  // the kernel's ERESTARTSYS and its like
constexpr uint32_t kPtType = 8;                               // of the PT event, as on many machines

PerfTraceInfo machine_info(const PtClock& clock) {
  PerfTraceInfo out;
  out.event_type = kPtType;
  out.time_shift = 31;
  const double hertz = 24e6 * clock.tsc_per_ctc;
  out.time_multiplier = static_cast<uint32_t>(1e9 / hertz * static_cast<double>(uint64_t{1} << 31));
  out.time_is_known = true;
  out.per_cpu = true;
  out.tsc_ctc_numerator = clock.tsc_per_ctc;
  out.tsc_ctc_denominator = 1;
  out.max_non_turbo_ratio = clock.ratio;
  return out;
}

uint64_t pt_config_bits(const PtClock& clock) {
  return perf::kConfigPt | perf::kConfigCyc | perf::kConfigMtc | perf::kConfigTsc | perf::kConfigNoRetComp |
         perf::kConfigBranch | perf::kConfigPtw | perf::kConfigFupOnPtw |
         uint64_t{clock.mtc_period} << perf::kConfigMtcPeriod;
}

bool is_sleeping(pid_t pid, pid_t tid) {
  std::ifstream in(fmt::format("/proc/{}/task/{}/stat", pid, tid));
  std::string text;
  std::getline(in, text);
  const size_t name = text.rfind(')');
  return name != std::string::npos && name + 2 < text.size() &&
         (text[name + 2] == 'S' || text[name + 2] == 'D');
}

class Emulator {
 public:
  Emulator(const EmulatorOptions& options, SteppedProcess process)
      : options_(options),
        process_(std::move(process)),
        code_mapping_(mapping_of_code()),
        own_(process_.pid(), options.own_code_only ? code_mapping_ : std::nullopt),
        random_(options.seed) {}

  Result<EmulatedRun> run() {
    PerfWriterOptions file;
    file.info = machine_info(clock_);
    if (options_.own_code_only)
      file.info.filter =
          fmt::format("filter {:#x}/{:#x}@{}", code().file_offset, code().size, process_.executable());
    file.config = pt_config_bits(clock_);
    file.cores = options_.cores;
    file.command = {"heddle", "record", "--mode", "pt", "--emulate", "--"};
    file.command.insert(file.command.end(), options_.command.begin(), options_.command.end());
    info_ = file.info;
    writer_.emplace(std::move(file));
    for (unsigned i = 0; i < options_.cores; ++i) cores_.emplace_back(clock_);
    out_.pid = process_.pid();
    record(out_.pid, 0, PerfName{.pid = id(out_.pid), .tid = id(out_.pid), .exec = true, .name = short_name()});
    tell_mappings();
    record(out_.pid, 0, PerfTraceStart{.pid = id(out_.pid), .tid = id(out_.pid)});
    add_thread(process_.pid());
    const auto begin = std::chrono::steady_clock::now();
    while (!ended_) {
      reap(false);
      if (ended_) break;
      if (options_.time_limit && std::chrono::steady_clock::now() - begin > *options_.time_limit) {
        out_.timed_out = true;
        break;
      }
      turn();
    }
    for (unsigned i = 0; i < cores_.size(); ++i) {
      cores_[i].packets.flush(tsc_);
      if (cores_[i].packets.enabled()) cores_[i].packets.disable(tsc_);
      keep_packets(i);
    }
    out_.perf_data = writer_->file();
    return std::move(out_);
  }

 private:
  struct Thread {
    uint64_t ip = 0;
    int signal = 0;          // to be delivered
    bool in_kernel = false;  // has not come back from a system call
    uint64_t call = 0;       // the system call
    bool native = false;     // was last let run, not stepped
    bool exiting = false;
    unsigned halts = 0;          // stops of ours that have not come
    uint64_t steps_outside = 0;  // of what it does outside, so much is stepped
    std::optional<unsigned> core;
  };
  struct Core {
    explicit Core(const PtClock& clock) : packets(clock) {}
    PacketWriter packets;
    pid_t thread = 0;  // 0: idle
    uint64_t slice = 0;
    uint64_t stalled = 0;              // turns
    uint64_t taken = 0, position = 0;  // of the packets; with the padding
    uint64_t until_overflow = 0;
  };

  static uint32_t id(pid_t tid) { return static_cast<uint32_t>(tid); }
  std::string short_name() const { return fs::path(process_.executable()).filename().string().substr(0, 15); }
  uint64_t draw(uint64_t below) { return random_() % below; }
  const PerfMapping& code() const { return *code_mapping_; }
  bool traced(uint64_t ip) const {
    return !options_.own_code_only || (code_mapping_ && ip >= code().begin && ip - code().begin < code().size);
  }

  std::optional<PerfMapping> mapping_of_code() const {
    for (PerfMapping& mapping : process_.mappings())
      if (mapping.file == process_.executable()) return mapping;
    return std::nullopt;
  }

  void record(pid_t tid, unsigned core, decltype(PerfEvent::what) what) {
    writer_->event({.sample = {.pid = tid == 0 ? 0 : id(process_.pid()),
                               .tid = id(tid),
                               .cpu = core,
                               .time = info_.time_of(tsc_)},
                    .what = std::move(what)});
  }

  void tell_mappings() {
    process_.forget_code();
    for (PerfMapping& mapping : process_.mappings())
      if (mapping.file != "[vsyscall]" && told_.insert({mapping.begin, mapping.size}).second)
        record(process_.pid(), 0, std::move(mapping));
  }

  void add_thread(pid_t tid) {
    threads_[tid].ip = process_.ip(tid);
    ++out_.threads;
  }

  // ---- who runs where

  void turn() {
    const unsigned core = static_cast<unsigned>(draw(cores_.size()));
    Core& here = cores_[core];
    if (here.thread == 0 || here.slice == 0) {
      std::vector<pid_t> waiting;
      for (const auto& [tid, thread] : threads_)
        if (!thread.core && !thread.in_kernel && !thread.exiting) waiting.push_back(tid);
      if (!waiting.empty()) {
        switch_to(core, waiting[draw(waiting.size())]);
      } else if (here.thread == 0) {
        if (std::ranges::all_of(cores_, [](const Core& each) { return each.thread == 0; })) reap(true);
        return;
      }
      here.slice = 1 + draw(2 * options_.slice);
    }
    // As by a long interrupt: others come far meanwhile.
    if (here.stalled != 0) {
      --here.stalled;
      return;
    }
    if (draw(kRarelyStalled) == 0) here.stalled = draw(kLongStall);
    for (uint64_t burst = 1 + draw(draw(4) == 0 ? 200 : 20); burst != 0 && here.slice != 0;) {
      const uint64_t done = run_some(core, std::min(burst, here.slice));
      if (done == 0) return;
      burst -= std::min(done, burst);
      here.slice -= std::min(done, here.slice);
    }
  }

  void switch_to(unsigned core, pid_t next) {
    Core& here = cores_[core];
    const pid_t before = here.thread;
    if (before == next) return;
    bool preempted = false;
    if (before != 0) {
      Thread& old = threads_[before];
      preempted = !old.in_kernel && !old.exiting;
      if (here.packets.enabled()) here.packets.interrupt(tsc_, old.ip);
      old.core.reset();
    }
    tsc_ += kSwitchCost + draw(kSwitchCost);
    const uint32_t pid = id(process_.pid());
    record(before, core,
           PerfSwitch{
               .out = true, .preempted = preempted, .other_pid = next == 0 ? 0 : pid, .other_tid = id(next)});
    record(next, core, PerfSwitch{.out = false, .other_pid = before == 0 ? 0 : pid, .other_tid = id(before)});
    tsc_ += kSwitchCost + draw(kSwitchCost);
    here.thread = next;
    here.slice = 0;
    if (next == 0) return;
    threads_[next].core = core;
    arrive(core, threads_[next].ip);
  }

  void arrive(unsigned core, uint64_t ip) {
    if (traced(ip)) cores_[core].packets.enable(tsc_, ip);
  }

  // The thread of this core leaves it for a while.
  void leave_core(pid_t tid) {
    const std::optional<unsigned> core = threads_[tid].core;
    if (core) switch_to(*core, 0);
  }

  void keep_packets(unsigned core) {
    Core& here = cores_[core];
    std::string bytes = here.packets.take();
    if (bytes.empty()) return;
    bytes.append((8 - bytes.size() % 8) % 8, '\0');  // PAD packets: perf wants whole words
    record(here.thread, core, PerfAux{.offset = here.position, .size = bytes.size(), .flags = 0});
    writer_->trace_data(core, here.position, bytes);
    here.position += bytes.size();
    here.taken = here.packets.written();
  }

  // ---- instructions

  // At most so many, but for calls that lead outside. 0: the core's thread cannot go on at once.
  uint64_t run_some(unsigned core, uint64_t most) {
    Core& here = cores_[core];
    Thread& thread = threads_[here.thread];
    if (thread.signal != 0) return deliver(core) ? 1 : 0;
    const uint64_t ip = thread.ip;
    here.packets.between(tsc_, here.packets.enabled() ? ip : 0);
    if (here.packets.written() - here.taken > kChunk) keep_packets(core);
    if (options_.overflow_every != 0 && here.until_overflow >= options_.overflow_every &&
        here.packets.enabled()) {
      here.until_overflow = 0;
      here.packets.overflow(tsc_, ip);
    }
    if (own_.guards(ip)) {
      uint64_t end = 0;
      if (const auto& straight = own_.straight(ip, most, end); !straight.empty())
        return run_straight(core, straight, end);
    } else if (own_.guards_anything() && !traced(ip)) {
      if (thread.steps_outside == 0) return run_outside(core) ? 1 + draw(kInstructionsOutside) : 0;
      --thread.steps_outside;
    }
    pass(here, 1);
    return run_instruction(core, ip) ? 1 : 0;
  }

  void pass(Core& here, uint64_t instructions) {
    for (uint64_t i = 0; i < instructions; ++i) tsc_ += 1 + draw(3);
    here.until_overflow += instructions;
    out_.instructions += instructions;
  }

  uint64_t run_straight(unsigned core, const std::vector<uint64_t>& instructions, uint64_t end) {
    Core& here = cores_[core];
    const pid_t tid = here.thread;
    Thread& thread = threads_[tid];
    own_.uncover(instructions.front(), end);
    process_.go_on(tid);
    const std::optional<Stop> stop = process_.wait(tid, true);
    if (!stop) return 0;
    uint64_t done = instructions.size();
    if (stop->kind == Stop::Kind::stepped)
      come_to_breakpoint(tid, thread);
    else if (stop->kind == Stop::Kind::signal)  // some of them were not executed
      done = static_cast<uint64_t>(std::ranges::lower_bound(instructions, process_.ip(tid)) -
                                   instructions.begin());
    pass(here, done);
    for (uint64_t i = 0; i < done; ++i) tell_executed(tid, core, instructions[i]);
    if (stop->kind == Stop::Kind::stepped) return done;
    handle(*stop);
    return 0;
  }

  void come_to_breakpoint(pid_t tid, Thread& thread) {
    user_regs_struct registers = process_.registers(tid);
    if (own_.guards(registers.rip - 1)) {
      --registers.rip;
      process_.set_registers(tid, registers);
    }
    thread.ip = registers.rip;
  }

  // By a step, or, of most branches of guarded code, without.
  bool run_instruction(unsigned core, uint64_t ip) {
    Core& here = cores_[core];
    const pid_t tid = here.thread;
    Thread& thread = threads_[tid];
    const bool guarded = own_.guards(ip);
    const BranchInstruction instruction = guarded ? own_.instruction(ip) : process_.instruction(ip);
    std::optional<uint64_t> next;
    if (instruction.ptwrite >= 0) return write_register(core, ip, instruction);
    if (guarded && instruction.kind != BranchKind::none && instruction.kind != BranchKind::far)
      next = own_.branch(process_, tid, ip);
    if (!next) {
      if (guarded) own_.uncover(ip, ip + 16);
      if (instruction.kind == BranchKind::far) return enter_kernel(core, ip);
      process_.step(tid);
      const std::optional<Stop> stop = process_.wait(tid, true);
      if (!stop) return false;
      if (stop->kind != Stop::Kind::stepped) return handle(*stop), false;
      next = process_.ip(tid);
      if (guarded) own_.learn(ip, *next);
    }
    thread.ip = *next;
    tell_executed(tid, core, ip);
    tell_branch(here.packets, instruction, ip, thread.ip);
    if (guarded && !traced(thread.ip)) thread.steps_outside = draw(kRarelyInside) == 0 ? 1 + draw(100) : 0;
    return true;
  }

  // PTWRITE, which this processor need not have.
  bool write_register(unsigned core, uint64_t ip, const BranchInstruction& instruction) {
    Core& here = cores_[core];
    const pid_t tid = here.thread;
    user_regs_struct regs = process_.registers(tid);
    const unsigned long long* const in_order[] = {
        &regs.rax, &regs.rcx, &regs.rdx, &regs.rbx, &regs.rsp, &regs.rbp, &regs.rsi, &regs.rdi,
        &regs.r8,  &regs.r9,  &regs.r10, &regs.r11, &regs.r12, &regs.r13, &regs.r14, &regs.r15};
    const uint64_t value = *in_order[instruction.ptwrite];
    if (here.packets.enabled())
      here.packets.write(tsc_, ip, instruction.wide ? value : value & UINT32_MAX, instruction.wide);
    regs.rip = ip + instruction.size;
    process_.set_registers(tid, regs);
    threads_[tid].ip = regs.rip;
    tell_executed(tid, core, ip);
    return true;
  }

  // Natively: up to a breakpoint in the program's own code, a system call, or something else.
  bool run_outside(unsigned core) {
    Core& here = cores_[core];
    const pid_t tid = here.thread;
    Thread& thread = threads_[tid];
    own_.cover();
    tsc_ += 1 + draw(kSwitchCost);
    thread.native = true;
    process_.run(tid);
    std::optional<Stop> stop = process_.wait_for(tid, kLongOutside);
    if (!stop) {
      process_.halt(tid);
      ++thread.halts;
      here.slice = 0;  // it may wait for somebody who has no core
      stop = process_.wait(tid, true);
      if (!stop) return false;
    }
    switch (stop->kind) {
      case Stop::Kind::stepped:
        come_to_breakpoint(tid, thread);
        arrive(core, thread.ip);
        return true;
      case Stop::Kind::enters_call:
        return in_kernel(core, process_.registers(tid).orig_rax);
      default:
        handle(*stop);
        return false;
    }
  }

  void tell_executed(pid_t tid, unsigned core, uint64_t ip) const {
    if (options_.executed && traced(ip)) options_.executed(tid, core, ip);
  }

  void tell_branch(PacketWriter& packets, const BranchInstruction& instruction, uint64_t from, uint64_t to) {
    const bool before = traced(from), after = traced(to);
    if (instruction.kind == BranchKind::none) return;
    if (!before) {
      if (after) packets.enable(tsc_, to);
    } else if (!after) {
      packets.leave(tsc_, to);
    } else if (instruction.kind == BranchKind::conditional) {
      packets.branch(tsc_, to != from + instruction.size);
    } else if (instruction.kind != BranchKind::direct) {
      packets.jump(tsc_, to);
    }
  }

  bool enter_kernel(unsigned core, uint64_t ip) {
    Core& here = cores_[core];
    const pid_t tid = here.thread;
    Thread& thread = threads_[tid];
    tell_executed(tid, core, ip);
    if (here.packets.enabled()) here.packets.disable(tsc_);
    thread.native = false;
    return in_kernel(core, process_.registers(tid).rax);
  }

  // The core's thread is about to be in this system call.
  bool in_kernel(unsigned core, uint64_t call) {
    const pid_t tid = cores_[core].thread;
    Thread& thread = threads_[tid];
    tsc_ += kSwitchCost + draw(kSwitchCost);
    thread.in_kernel = true;
    thread.call = call;
    if (call == SYS_sched_getaffinity) process_.pin(tid, false);
    if (is_fork(call)) lay_open();
    resume(tid, thread);
    return comes_back(core, tid);
  }

  // Most calls come back soon; of the others the kernel says that they sleep.
  bool comes_back(unsigned core, pid_t tid) {
    for (int tries = 0;; ++tries) {
      const std::optional<Stop> stop = process_.wait(tid, false);
      if (stop) {
        handle(*stop);
        if (ended_ || !threads_.contains(tid)) return false;
        if (!threads_[tid].in_kernel) return threads_[tid].core == core && !ended_;
        tries = 0;
      }
      if (tries > 20 && is_sleeping(process_.pid(), tid)) break;
      if (tries > 2000) break;
      ::sched_yield();
    }
    leave_core(tid);
    return false;
  }

  void resume(pid_t tid, const Thread& thread) { thread.native ? process_.run(tid) : process_.step(tid); }

  // Of what it makes nobody sees the breakpoints come. Threads are made by others (glibc 2.34 and later), and
  // so are processes for other programs.
  static bool is_fork(uint64_t call) { return call == SYS_fork || call == SYS_vfork || call == SYS_clone; }

  void lay_open() {
    if (forking_++ == 0) own_.lay_open();
  }

  bool deliver(unsigned core) {
    Core& here = cores_[core];
    const pid_t tid = here.thread;
    Thread& thread = threads_[tid];
    const int signal = std::exchange(thread.signal, 0);
    // A call that was interrupted begins anew if there is no handler: it may wait for what another thread is to
    // do, or make a process. Otherwise nothing happens (a child has ended, and nobody wants to know).
    const user_regs_struct& registers = process_.registers(tid);
    const auto result = static_cast<int64_t>(registers.rax);
    const bool begins_anew = registers.orig_rax != kNoCall && result <= kFirstRestart && result >= kLastRestart;
    if (!begins_anew && effect_of_signal(process_.pid(), signal) == SignalEffect::none) return true;
    if (here.packets.enabled()) here.packets.interrupt(tsc_, thread.ip);
    tsc_ += kSwitchCost;
    thread.in_kernel = true;
    thread.call = begins_anew ? registers.orig_rax : kNoCall;
    if (is_fork(thread.call)) lay_open();
    process_.step(tid, signal);
    return comes_back(core, tid);
  }

  // ---- what else happens to threads

  void reap(bool block) {
    while (true) {
      const bool waits = std::ranges::any_of(
          threads_, [](const auto& each) { return each.second.in_kernel || each.second.exiting; });
      if (!waits) return;
      const std::optional<Stop> stop = process_.wait(-1, false);
      if (stop) {
        handle(*stop);
        block = false;
        if (ended_) return;
        continue;
      }
      if (block) ::usleep(100);
      return;
    }
  }

  void handle(const Stop& stop) {
    const auto found = threads_.find(stop.tid);
    if (found == threads_.end()) {
      if (stop.kind == Stop::Kind::ended && stop.tid == process_.pid()) finish(static_cast<int>(stop.number));
      return;
    }
    Thread& thread = found->second;
    switch (stop.kind) {
      case Stop::Kind::stepped:
      case Stop::Kind::enters_call:
      case Stop::Kind::leaves_call:
        back_from_kernel(stop.tid, thread);
        break;
      case Stop::Kind::cloned: {
        const auto child = static_cast<pid_t>(stop.number);
        process_.wait(child, true);  // it begins with a stop
        record(stop.tid, thread.core.value_or(0),
               PerfFork{.pid = id(process_.pid()),
                        .parent_pid = id(process_.pid()),
                        .tid = id(child),
                        .parent_tid = id(stop.tid)});
        add_thread(child);
        resume(stop.tid, thread);
        break;
      }
      case Stop::Kind::signal:
        got_signal(stop.tid, thread, static_cast<int>(stop.number));
        break;
      case Stop::Kind::exiting:
        leave_core(stop.tid);
        thread.exiting = true;
        thread.in_kernel = true;
        process_.go_on(stop.tid);
        break;
      case Stop::Kind::ended:
        leave_core(stop.tid);
        record(stop.tid, 0, PerfExit{.pid = id(process_.pid()), .tid = id(stop.tid)});
        threads_.erase(found);
        if (stop.tid == process_.pid()) finish(static_cast<int>(stop.number));
        break;
      case Stop::Kind::other:
        resume(stop.tid, thread);
        break;
    }
  }

  void back_from_kernel(pid_t tid, Thread& thread) {
    thread.ip = process_.ip(tid);
    if (!thread.in_kernel) return;
    thread.in_kernel = false;
    const uint64_t call = thread.call;
    if (call == SYS_mmap || call == SYS_mprotect || call == SYS_mremap || call == SYS_munmap) tell_mappings();
    if (call == SYS_sched_getaffinity) process_.pin(tid, true);
    if (is_fork(call) && --forking_ == 0) own_.guard();
    if (thread.core) arrive(*thread.core, thread.ip);
  }

  void got_signal(pid_t tid, Thread& thread, int signal) {
    if (thread.in_kernel) back_from_kernel(tid, thread);
    thread.ip = process_.ip(tid);
    if (signal == SIGSTOP && thread.halts != 0) {
      --thread.halts;
      return;
    }
    thread.signal = signal;
    if (effect_of_signal(process_.pid(), signal) != SignalEffect::deadly) return;
    if (thread.core && cores_[*thread.core].packets.enabled())
      cores_[*thread.core].packets.interrupt(tsc_, thread.ip);
    out_.failed_tid = tid;
    out_.fault_pc = thread.ip;
    if (const auto fault = process_.fault(tid); fault && fault->second > 0) out_.fault_address = fault->first;
    process_.go_on(tid, signal);
    thread.exiting = true;
    thread.in_kernel = true;
    thread.signal = 0;
    leave_core(tid);
  }

  void finish(int status) {
    ended_ = true;
    if (WIFSIGNALED(status)) out_.signal = WTERMSIG(status);
    out_.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  const EmulatorOptions& options_;
  SteppedProcess process_;
  std::optional<PerfMapping> code_mapping_;
  OwnCode own_;
  unsigned forking_ = 0;  // threads that make a process just now
  std::mt19937_64 random_;
  PtClock clock_;
  PerfTraceInfo info_;
  std::optional<PerfWriter> writer_;
  std::vector<Core> cores_;
  std::map<pid_t, Thread> threads_;
  std::set<std::pair<uint64_t, uint64_t>> told_;  // mappings
  uint64_t tsc_ = kFirstTsc;
  bool ended_ = false;
  EmulatedRun out_;
};

}  // namespace

Result<EmulatedRun> emulate(const EmulatorOptions& options) {
  return Emulator(options, HEDDLE_TRY(SteppedProcess::start(options.command, options.input))).run();
}

}  // namespace heddle
