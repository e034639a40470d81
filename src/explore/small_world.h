// For tests: random small programs, an operational machine of its own that runs them, as naive as can be, an
// executor over it that stands for the control runtime, and the enumeration of all its runs.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "abi/sync_kind.h"
#include "replay/executor.h"

namespace heddle {

struct SmallInstruction {
  enum class Kind : uint8_t { read, write, add, fence, lock, unlock, keep, skip_if, check };
  Kind kind = Kind::read;
  uint32_t place = 0;      // variable, mutex
  uint64_t number = 0;     // what is written, added, compared with
  bool with_last = false;  // write: the value read last is added
  bool with_kept = false;  // skip_if: the value that was kept is added, and only whether it is odd counts
  uint32_t skipped = 0;
};
using SmallThread = std::vector<SmallInstruction>;

struct SmallProgram {
  std::vector<SmallThread> threads;  // all created by main at its start, joined at its end
};

inline SmallProgram random_program(std::mt19937_64& random) {
  const auto below = [&](uint64_t bound) { return static_cast<uint32_t>(random() % bound); };
  SmallProgram program;
  program.threads.resize(2 + below(2));
  const uint32_t variables = 1 + below(3);
  bool skips = false;
  for (SmallThread& thread : program.threads) {
    // Now and then a pair of longer ones: what store buffers hold back longest.
    const uint32_t length = 1 + below(program.threads.size() > 2 ? 3 : below(8) == 0 ? 8 : 5);
    std::vector<uint32_t> held;
    for (uint32_t i = 0; i < length; ++i) {
      using Kind = SmallInstruction::Kind;
      SmallInstruction next{.place = below(variables), .number = 1 + below(2), .with_last = below(3) == 0};
      // One more, which some use only where a branch was taken: at first nobody seems to share it.
      if (below(skips ? 2 : 12) == 0) next.place = variables;
      const uint32_t dice = below(24);
      next.kind = dice < 7 ? Kind::read : dice < 14 ? Kind::write : dice < 16 ? Kind::add : Kind::fence;
      if (dice >= 17 && dice < 19) {  // two locks, in any order
        next = {.kind = Kind::lock, .place = below(2)};
        if (std::ranges::find(held, next.place) != held.end()) continue;
        held.push_back(next.place);
      }
      if (dice >= 19 && dice < 21 && !held.empty()) {
        next = {.kind = Kind::unlock, .place = held.back()};
        held.pop_back();
      }
      if ((dice == 21 || dice == 23) && held.empty())
        next = {.kind = Kind::skip_if, .number = below(3), .skipped = 1};
      skips = next.kind == Kind::skip_if;
      if (dice == 22) next = {.kind = Kind::check, .number = 1 + below(3)};
      thread.push_back(next);
    }
    for (; !held.empty(); held.pop_back())
      thread.push_back({.kind = SmallInstruction::Kind::unlock, .place = held.back()});
  }
  return program;
}

// Longer ones, whose threads look at what they read and mostly forget it: many histories have one future.
inline SmallProgram forgetful_program(std::mt19937_64& random) {
  using Kind = SmallInstruction::Kind;
  const auto below = [&](uint64_t bound) { return static_cast<uint32_t>(random() % bound); };
  SmallProgram program;
  program.threads.resize(2);
  for (SmallThread& thread : program.threads)
    for (uint32_t i = 0, length = 5 + below(4); i < length; ++i) {
      SmallInstruction next{.place = below(2), .number = below(3), .with_last = below(6) == 0};
      const uint32_t dice = below(20);
      next.kind = dice < 8 ? Kind::read : dice < 14 ? Kind::write : dice < 16 ? Kind::keep : Kind::skip_if;
      if (next.kind == Kind::skip_if) next.skipped = 1 + below(2), next.with_kept = below(2) == 0;
      thread.push_back(next);
    }
  return program;
}

// A run of it, as far as it has come. Thread 0 is main.
class SmallWorld {
 public:
  static constexpr uint64_t kVariables = 0x1000, kMutexes = 0x8000;

  SmallWorld(const SmallProgram& program, MemoryModel model) : program_(&program), model_(model) {
    threads_.resize(program.threads.size() + 1);
    threads_[0].there = true;
  }

  bool exited = false;
  std::optional<uint32_t> failed;                   // who
  std::map<uint32_t, std::vector<uint64_t>> reads;  // by thread

  size_t thread_count() const { return threads_.size(); }
  bool is_alive(uint32_t t) const { return threads_[t].there && !threads_[t].ended; }

  // What a thread does next: the event without its values.
  heddle_event next(uint32_t t) const {
    heddle_event event{.site = threads_[t].at, .thread = static_cast<uint16_t>(t), .order = HEDDLE_ORDER_plain};
    const auto sync = [&](int kind) { event.kind = static_cast<uint8_t>(HEDDLE_EVENT_sync + kind); };
    const Thread& self = threads_[t];
    if (t == 0) {
      const uint32_t others = static_cast<uint32_t>(threads_.size() - 1);
      sync(self.at < others       ? HEDDLE_SYNC_thread_create
           : self.at < 2 * others ? HEDDLE_SYNC_thread_join
                                  : HEDDLE_SYNC_process_exit);
      if (self.at >= others && self.at < 2 * others) event.second = self.at - others + 1;
      return event;
    }
    if (!self.begun) {
      sync(HEDDLE_SYNC_thread_begin);
      return event;
    }
    if (self.at == code(t).size()) {
      sync(HEDDLE_SYNC_thread_end);
      return event;
    }
    const SmallInstruction& instruction = code(t)[self.at];
    event.address = kVariables + 4 * instruction.place;  // two in a word
    event.size = 4;
    using Kind = SmallInstruction::Kind;
    switch (instruction.kind) {
      case Kind::read:
        event.kind = HEDDLE_EVENT_read;
        break;
      case Kind::write:
        event.kind = HEDDLE_EVENT_write;
        break;
      case Kind::add:
        event.kind = HEDDLE_EVENT_update;
        event.order = HEDDLE_ORDER_seq_cst;
        break;
      case Kind::fence:
        event.kind = HEDDLE_EVENT_fence;
        event.order = HEDDLE_ORDER_seq_cst;
        event.address = event.size = 0;
        break;
      default:
        sync(instruction.kind == Kind::lock ? HEDDLE_SYNC_mutex_lock : HEDDLE_SYNC_mutex_unlock);
        event.address = kMutexes + 64 * instruction.place;
        event.size = 0;
    }
    return event;
  }

  bool is_enabled(uint32_t t) const {
    if (exited || failed || !is_alive(t)) return false;
    const heddle_event event = next(t);
    if (event.kind == int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_thread_join) return threads_[event.second].ended;
    if (event.kind == int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_mutex_lock) return !mutexes_.contains(event.address);
    return true;
  }

  // Requires: is_enabled(). The event with its values; then goes on to the next one.
  heddle_event perform(uint32_t t) {
    heddle_event event = next(t);
    Thread& self = threads_[t];
    if (event.kind != HEDDLE_EVENT_read && event.kind != HEDDLE_EVENT_write) flush_all(t);
    switch (event.kind) {
      case HEDDLE_EVENT_read:
        event.value = self.last = value(t, event.address);
        reads[t].push_back(self.last);
        break;
      case HEDDLE_EVENT_write: {
        const SmallInstruction& instruction = code(t)[self.at];
        event.value = (instruction.number + (instruction.with_last ? self.last : 0)) & 0xffffffff;
        if (const auto found = memory_.find(event.address); found != memory_.end()) event.after = found->second;
        self.buffer.emplace_back(event.address, event.value);
        if (model_ == MemoryModel::sc) flush_all(t);
        break;
      }
      case HEDDLE_EVENT_update:
        event.value = self.last = memory_[event.address];
        reads[t].push_back(self.last);
        event.after = memory_[event.address] = self.last + code(t)[self.at].number;
        break;
      case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_mutex_lock:
        mutexes_.insert(event.address);
        break;
      case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_mutex_unlock:
        mutexes_.erase(event.address);
        break;
      case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_thread_create:
        threads_[self.at + 1].there = true;
        break;
      case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_thread_begin:
        self.begun = true;
        settle(t);
        return event;
      case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_thread_end:
        self.ended = true;
        return event;
      case int{HEDDLE_EVENT_sync} + HEDDLE_SYNC_process_exit:
        exited = true;
        break;
      default:
        break;
    }
    ++self.at;
    settle(t);
    return event;
  }

  // Stores that may become visible, by their place in the buffer.
  std::vector<size_t> flushable(uint32_t t) const {
    std::vector<size_t> out;
    std::set<uint64_t> seen;
    for (size_t i = 0; i < threads_[t].buffer.size(); ++i) {
      if (seen.insert(threads_[t].buffer[i].first).second) out.push_back(i);
      if (model_ == MemoryModel::tso) break;
    }
    return out;
  }
  bool is_buffered(uint32_t t, uint64_t address) const {
    return std::ranges::find(threads_[t].buffer, address, &std::pair<uint64_t, uint64_t>::first) !=
           threads_[t].buffer.end();
  }
  uint64_t address_in_buffer(uint32_t t, size_t i) const { return threads_[t].buffer[i].first; }
  void flush(uint32_t t, size_t i) {
    const auto at = threads_[t].buffer.begin() + static_cast<ptrdiff_t>(i);
    memory_[at->first] = at->second;
    threads_[t].buffer.erase(at);
  }

  // Everything, for remembering where one has been.
  std::string text() const {
    std::string out;
    for (const Thread& thread : threads_) {
      out += fmt::format("{},{},{},{},{},{};", thread.there, thread.begun, thread.ended, thread.at, thread.last,
                         thread.kept);
      for (const auto& [address, stored] : thread.buffer) out += fmt::format("{}={} ", address, stored);
    }
    for (const auto& [address, stored] : memory_) out += fmt::format("{}:{} ", address, stored);
    for (const uint64_t mutex : mutexes_) out += fmt::format("m{} ", mutex);
    return out + history();
  }
  std::string history() const {
    std::string out;
    for (const auto& [thread, values] : reads) {
      out += fmt::format("t{}", thread);
      for (const uint64_t each : values) out += fmt::format(",{}", each);
    }
    return out;
  }

 private:
  struct Thread {
    bool there = false, begun = false, ended = false;
    uint32_t at = 0;
    uint64_t last = 0, kept = 0;
    std::vector<std::pair<uint64_t, uint64_t>> buffer;
  };

  const SmallThread& code(uint32_t t) const { return program_->threads[t - 1]; }

  // What is no event happens at once.
  void settle(uint32_t t) {
    if (t == 0) return;
    Thread& self = threads_[t];
    while (self.at < code(t).size()) {
      const SmallInstruction& instruction = code(t)[self.at];
      if (instruction.kind == SmallInstruction::Kind::skip_if) {
        const bool skips = instruction.with_kept ? (self.last + self.kept + instruction.number) % 2 == 0
                                                 : self.last == instruction.number;
        self.at += 1 + (skips ? instruction.skipped : 0);
        self.at = std::min(self.at, static_cast<uint32_t>(code(t).size()));
      } else if (instruction.kind == SmallInstruction::Kind::keep) {
        self.kept = self.last;
        ++self.at;
      } else if (instruction.kind == SmallInstruction::Kind::check) {
        if (self.last == instruction.number) {
          failed = t;
          return;
        }
        ++self.at;
      } else {
        return;
      }
    }
  }

  uint64_t value(uint32_t t, uint64_t address) const {
    for (auto store = threads_[t].buffer.rbegin(); store != threads_[t].buffer.rend(); ++store)
      if (store->first == address) return store->second;
    const auto found = memory_.find(address);
    return found == memory_.end() ? 0 : found->second;
  }

  void flush_all(uint32_t t) {
    while (!threads_[t].buffer.empty()) flush(t, 0);
  }

  const SmallProgram* program_;
  MemoryModel model_;
  std::vector<Thread> threads_;
  std::map<uint64_t, uint64_t> memory_;
  std::set<uint64_t> mutexes_;
};

// All that can come out: the reads of runs that end well; whether runs fail, or stand still.
// Thread, instruction, what it returned: all that branches and checks can see.
using ReadValues = std::set<std::tuple<uint32_t, uint32_t, uint64_t>>;
inline void note_read(ReadValues& values, const heddle_event& event) {
  if (event.kind == HEDDLE_EVENT_read || event.kind == HEDDLE_EVENT_update)
    values.emplace(event.thread, event.site, event.value);
}

struct AllRuns {
  std::set<std::string> outcomes;
  ReadValues values;
  bool fails = false, stands = false;

  AllRuns(const SmallProgram& program, MemoryModel model) { visit(SmallWorld(program, model)); }

 private:
  void visit(const SmallWorld& world) {
    if (!seen_.insert(world.text()).second) return;
    if (world.failed) fails = true;
    if (world.exited) outcomes.insert(world.history());
    if (world.failed || world.exited) return;
    bool any = false;
    for (uint32_t t = 0; t < world.thread_count(); ++t) {
      if (world.is_enabled(t)) {
        any = true;
        SmallWorld after = world;
        note_read(values, after.perform(t));
        visit(after);
      }
      for (const size_t i : world.flushable(t)) {
        any = true;
        SmallWorld after = world;
        after.flush(t, i);
        visit(after);
      }
    }
    stands |= !any;
  }

  std::set<std::string> seen_;
};

// Follows the given schedule, then goes on without preemptions, as the control runtime.
class SmallExecutor : public Executor {
 public:
  explicit SmallExecutor(const SmallProgram& program) : program_(program) {}

  ReadValues values;  // of all executions

  Result<Execution> execute(const ExecutionPlan& plan) override {
    Execution out;
    SmallWorld world(program_, plan.rules.memory_model);
    for (uint32_t t = 0; t < world.thread_count(); ++t)
      out.schedule.threads.push_back({.name = t == 0 ? ThreadName() : ThreadName().child(t - 1)});
    out.schedule.header.identity = "small";
    uint32_t current = 0;
    const auto perform = [&](uint32_t t) {
      out.kept_events.push_back(world.perform(t));
      note_read(values, out.kept_events.back());
      out.schedule.steps.push_back(Step::run(ThreadIndex(t), 1));
      out.step_addresses.push_back(0);
      current = t;
    };
    const auto flush = [&](uint32_t t, size_t i) {
      out.step_addresses.push_back(world.address_in_buffer(t, i));
      out.schedule.steps.push_back(
          Step::flush(ThreadIndex(t), Location::address(out.step_addresses.back()), 1));
      world.flush(t, i);
    };
    if (plan.schedule != nullptr) {
      for (const Step& step : plan.schedule->steps) {
        const ThreadName& name = plan.schedule->name_of(step.thread);
        const uint32_t t = name.is_main() ? 0 : name.index_in_parent() + 1;
        for (uint64_t k = 0; k < step.count && !world.failed && !world.exited; ++k) {
          if (step.kind == StepKind::run) {
            if (!world.is_enabled(t)) return diverged();
            perform(t);
            continue;
          }
          while (world.is_buffered(t, step.location->offset)) {  // full flushes: replay/executor.h
            const std::vector<size_t> possible = world.flushable(t);
            const auto wanted = std::ranges::find(possible, step.location->offset,
                                                  [&](size_t i) { return world.address_in_buffer(t, i); });
            flush(t, wanted != possible.end() ? *wanted : 0);
            if (wanted != possible.end()) break;
          }
        }
      }
    }
    while (!world.failed && !world.exited) {
      uint32_t t = current;
      if (!world.is_enabled(t))
        for (t = 0; t < world.thread_count() && !world.is_enabled(t); ++t) {
        }
      if (t < world.thread_count()) {
        perform(t);
        continue;
      }
      for (t = 0; t < world.thread_count() && world.flushable(t).empty(); ++t) {
      }
      if (t == world.thread_count()) break;
      flush(t, 0);
    }
    for (uint32_t t = 0; t < world.thread_count(); ++t)
      if (world.is_alive(t) && world.failed != t && !(world.exited && t == 0))
        out.pending_events.push_back(world.next(t));
    if (world.failed) {
      out.outcome = Outcome::failed;
      out.failure = Failure{.kind = "assert", .identity = fmt::format("assert {}", *world.failed)};
      out.thread = out.schedule.threads[*world.failed].name;
    } else if (!world.exited) {
      out.outcome = Outcome::failed;
      out.failure = Failure{.kind = "deadlock", .identity = "deadlock"};
    }
    return out;
  }

 private:
  static Execution diverged() {
    Execution out;
    out.outcome = Outcome::diverged;
    out.text = "not possible here";
    return out;
  }

  const SmallProgram& program_;
};

}  // namespace heddle
