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
#include "pt/packet_writer.h"
#include "pt/perf_layout.h"
#include "pt/perf_writer.h"
#include "pt/stepped_process.h"
#include "pt/waited_process.h"

namespace heddle {
namespace {

using Stop = SteppedProcess::Stop;

constexpr uint64_t kFirstTsc = 1'000'000'000;
constexpr uint64_t kSwitchCost = 400;  // cycles of the kernel around a switch and in a system call
constexpr size_t kChunk = 64 << 10;    // of trace data
constexpr uint32_t kPtType = 8;        // of the PT event, as on many machines

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
         perf::kConfigBranch | uint64_t{clock.mtc_period} << perf::kConfigMtcPeriod;
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
      : options_(options), process_(std::move(process)), random_(options.seed) {}

  Result<EmulatedRun> run() {
    find_code();
    PerfWriterOptions file;
    file.info = machine_info(clock_);
    if (options_.own_code_only)
      file.info.filter =
          fmt::format("filter {:#x}/{:#x}@{}", code_offset_, code_end_ - code_begin_, process_.executable());
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
        if (options_.dying) options_.dying(out_.pid, 0, 0);
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
    bool exiting = false;
    std::optional<unsigned> core;
  };
  struct Core {
    explicit Core(const PtClock& clock) : packets(clock) {}
    PacketWriter packets;
    pid_t thread = 0;  // 0: idle
    uint64_t slice = 0;
    uint64_t taken = 0, position = 0;  // of the packets; with the padding
    uint64_t until_overflow = 0;
  };

  static uint32_t id(pid_t tid) { return static_cast<uint32_t>(tid); }
  std::string short_name() const { return fs::path(process_.executable()).filename().string().substr(0, 15); }
  uint64_t draw(uint64_t below) { return random_() % below; }
  bool traced(uint64_t ip) const { return !options_.own_code_only || (ip >= code_begin_ && ip < code_end_); }

  void find_code() {
    for (const PerfMapping& mapping : process_.mappings()) {
      if (mapping.file != process_.executable()) continue;
      code_begin_ = mapping.begin;
      code_end_ = mapping.begin + mapping.size;
      code_offset_ = mapping.file_offset;
      return;
    }
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
    for (uint64_t burst = 1 + draw(draw(4) == 0 ? 200 : 20); burst != 0 && here.slice != 0; --burst) {
      --here.slice;
      if (!run_instruction(core)) return;
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

  // ---- one instruction

  // False: the core's thread cannot go on at once.
  bool run_instruction(unsigned core) {
    Core& here = cores_[core];
    const pid_t tid = here.thread;
    Thread& thread = threads_[tid];
    if (thread.signal != 0) return deliver(core);
    const uint64_t ip = thread.ip;
    const BranchInstruction instruction = process_.instruction(ip);
    here.packets.between(tsc_, here.packets.enabled() ? ip : 0);
    if (here.packets.written() - here.taken > kChunk) keep_packets(core);
    if (options_.overflow_every != 0 && ++here.until_overflow >= options_.overflow_every &&
        here.packets.enabled()) {
      here.until_overflow = 0;
      here.packets.overflow(tsc_, ip);
    }
    tsc_ += 1 + draw(3);
    ++out_.instructions;
    if (instruction.kind == BranchKind::far) return enter_kernel(core, ip);
    process_.step(tid);
    const std::optional<Stop> stop = process_.wait(tid, true);
    if (!stop) return false;
    if (stop->kind != Stop::Kind::stepped) return handle(*stop), false;
    thread.ip = process_.ip(tid);
    tell_executed(tid, core, ip);
    tell_branch(here.packets, instruction, ip, thread.ip);
    return true;
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
    tsc_ += kSwitchCost + draw(kSwitchCost);
    call_ = process_.system_call(tid);
    thread.in_kernel = true;
    process_.step(tid);
    // Most calls come back soon; of the others the kernel says that they sleep.
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

  bool deliver(unsigned core) {
    Core& here = cores_[core];
    const pid_t tid = here.thread;
    Thread& thread = threads_[tid];
    if (here.packets.enabled()) here.packets.interrupt(tsc_, thread.ip);
    tsc_ += kSwitchCost;
    const int signal = std::exchange(thread.signal, 0);
    process_.step(tid, signal);
    const std::optional<Stop> stop = process_.wait(tid, true);
    if (!stop) return false;
    if (stop->kind != Stop::Kind::stepped) return handle(*stop), false;
    thread.ip = process_.ip(tid);
    arrive(core, thread.ip);
    return true;
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
        process_.step(stop.tid);
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
        process_.step(stop.tid);
        break;
    }
  }

  void back_from_kernel(pid_t tid, Thread& thread) {
    thread.ip = process_.ip(tid);
    if (!thread.in_kernel) return;
    thread.in_kernel = false;
    if (call_ == SYS_mmap || call_ == SYS_mprotect || call_ == SYS_mremap || call_ == SYS_munmap)
      tell_mappings();
    if (thread.core) arrive(*thread.core, thread.ip);
  }

  void got_signal(pid_t tid, Thread& thread, int signal) {
    if (thread.in_kernel) back_from_kernel(tid, thread);
    thread.ip = process_.ip(tid);
    thread.signal = signal;
    if (!is_deadly_signal(process_.pid(), signal)) return;
    if (thread.core && cores_[*thread.core].packets.enabled())
      cores_[*thread.core].packets.interrupt(tsc_, thread.ip);
    out_.failed_tid = tid;
    out_.fault_pc = thread.ip;
    if (const auto fault = process_.fault(tid); fault && fault->second > 0) out_.fault_address = fault->first;
    if (options_.dying) options_.dying(process_.pid(), tid, signal);
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
  std::mt19937_64 random_;
  PtClock clock_;
  PerfTraceInfo info_;
  std::optional<PerfWriter> writer_;
  std::vector<Core> cores_;
  std::map<pid_t, Thread> threads_;
  std::set<std::pair<uint64_t, uint64_t>> told_;  // mappings
  uint64_t code_begin_ = 0, code_end_ = 0, code_offset_ = 0;
  uint64_t tsc_ = kFirstTsc;
  uint64_t call_ = 0;  // the last system call
  bool ended_ = false;
  EmulatedRun out_;
};

}  // namespace

Result<EmulatedRun> emulate(const EmulatorOptions& options) {
  return Emulator(options, HEDDLE_TRY(SteppedProcess::start(options.command))).run();
}

}  // namespace heddle
