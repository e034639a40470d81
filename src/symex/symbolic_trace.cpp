#include "symex/symbolic_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

#include "program/source_place.h"
#include "symex/failure_predicate.h"
#include "symex/pointer_targets.h"
#include "symex/signal_handlers.h"
#include "symex/thread_interpreter.h"
#include "symex/thread_signals.h"
#include "symex/uncertain_addresses.h"
#include "symex/unseen_blocks.h"

namespace heddle {
namespace {

std::string maker_of(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? "" : name.substr(0, dot);
}

// Everything of one thread in one pass.
struct ThreadRun {
  std::optional<SymbolicMemory> memory;
  ThreadOrigin origin;
  std::unique_ptr<SymbolicMachine> machine;
  std::string error;
  DecodeEnd end;
  std::optional<SyncEntry> pending;
  bool made = false;      // its maker has come to where it makes it
  bool finished = false;  // the thread came to its end
  bool exits = false;     // and ended the process
};

class Pass {
 public:
  using Ends = std::vector<std::optional<DecodeEnd>>;  // of logs, once they are known
  Pass(const SymbolicInput& input, CodeCache& code, const SymbolicMachine::Known& known, Ends& ends,
       unsigned jobs)
      : input_(input), code_(code), known_(known), ends_(ends), jobs_(jobs), runs_(input.logs.size()) {
    for (const RecordedThreadLog& each : input.logs) {
      const heddle_record_log& head = each.log.head();
      // Beside stamps that are no times only whether it has ended counts.
      const uint64_t end = head.sync_order != 0 ? std::min<uint64_t>(head.end_tsc, 1) : head.end_tsc;
      lives_.push_back({.maker = maker_of(each.name), .handle = head.tls, .begin = head.begin_tsc, .end = end});
    }
  }

  void run() {
    SymbolicMemory first(
        [this](uint64_t page, auto bytes, auto known) { input_.image.fill(page, bytes, known); });
    for (size_t i = 0; i < runs_.size(); ++i) {
      if (maker_of(input_.logs[i].name).empty() || index_of(maker_of(input_.logs[i].name)) == runs_.size()) {
        runs_[i].memory = first;
        ready_.push_back(i);
      }
    }
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < jobs_; ++i) workers.emplace_back([this] { work(); });
    for (std::thread& worker : workers) worker.join();
    // Threads whose creation was not seen.
    for (size_t i = 0; i < runs_.size(); ++i) {
      if (runs_[i].machine != nullptr) continue;
      runs_[i].memory = first;
      interpret(i);
    }
  }

  std::vector<ThreadRun>& runs() { return runs_; }
  ApproximationList& approximations() { return approximations_; }

 private:
  size_t index_of(const std::string& name) const {
    for (size_t i = 0; i < input_.logs.size(); ++i)
      if (input_.logs[i].name == name) return i;
    return input_.logs.size();
  }

  // A thread that failed in a call that does not come back stands there; one that died of a signal stands
  // somewhere behind what is certain.
  std::optional<ThreadInterpreter::Surroundings::Death> death_of(size_t thread, const DecodeEnd& end) const {
    const std::optional<RecordedFailure>& failure = input_.info.failure;
    if (!has_failed(thread) || end.kind == DecodeEnd::Kind::in_call) return std::nullopt;
    ThreadInterpreter::Surroundings::Death death;
    if (!failure->address.empty()) death.address = std::strtoull(failure->address.c_str(), nullptr, 0);
    death.of_stack = failure->text == "stack overflow";  // as the runtime tells it
    if (failure->place) {
      death.file = failure->place->file;
      death.line = failure->place->line;
    }
    const auto stood = std::ranges::find(input_.info.threads, failure->thread, &RecordedThread::name);
    if (stood != input_.info.threads.end()) death.depth = running_functions(stood->stack);
    return death;
  }

  // What was inlined stands at the same address as what it was inlined into.
  static size_t running_functions(const std::vector<RecordedFrame>& stack) {
    size_t out = 0;
    uint64_t last = 0;
    for (const RecordedFrame& frame : stack) {
      if (frame.library.empty() && frame.line != 0 && frame.pc != last) ++out;
      last = frame.pc;
    }
    return out;
  }

  bool has_failed(size_t thread) const {
    return input_.info.failure && input_.info.failure->thread == input_.logs[thread].name;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return !ready_.empty() || busy_ == 0; });
      if (ready_.empty()) return;
      const size_t thread = ready_.front();
      ready_.pop_front();
      ++busy_;
      lock.unlock();
      interpret(thread);
      lock.lock();
      --busy_;
      changed_.notify_all();
    }
  }

  DecodeEnd follow(size_t thread, PathVisitor& visitor, CallValues* values) const {
    const RecordedThreadLog& each = input_.logs[thread];
    if (each.source != nullptr) return each.source->run(visitor, values);
    return ThreadDecoder(input_.program, input_.plan, each.log, visitor, each.jumps).run();
  }

  // Only where the thread is found again by setjmp: what unwinds a thread, as its cancellation does, began in
  // the call that was told last.
  std::vector<ToldInVain> told_in_vain(size_t thread) const {
    struct Finder : PathVisitor {
      void block(BlockId) override {
        lost.reset();
        ++told;
      }
      void landed(const llvm::InvokeInst&) override { lost.reset(); }
      void returned_twice(const llvm::CallBase&, const TwiceEntry&) override {
        if (lost) out.push_back(*lost);
        lost.reset();
      }
      void control_lost(uint64_t certain) override { lost = {certain, told}; }
      uint64_t told = 0;
      std::optional<ToldInVain> lost;
      std::vector<ToldInVain> out;
    } finder;
    if (!input_.logs[thread].jumps.empty()) follow(thread, finder, nullptr);
    return std::move(finder.out);
  }

  // How a log ends must be known before: a thread that was stopped may have been told more blocks than it is
  // sure to have entered. Most were not, so the others are interpreted again when that has come out.
  void interpret(size_t thread) {
    // Where a path says nothing, what is known of others decides: it may be another one in each pass.
    if (input_.logs[thread].source != nullptr) ends_[thread].reset();
    std::optional<DecodeEnd>& end = ends_[thread];
    if (!end && has_failed(thread) && input_.logs[thread].source == nullptr) {
      PathVisitor nobody;
      end = follow(thread, nobody, nullptr);
    }
    if (!end) {
      SymbolicMemory before = runs_[thread].memory->snapshot();
      interpret(thread, {.blocks = UINT64_MAX, .certain_blocks = UINT64_MAX});
      end = runs_[thread].end;
      if (end->certain_blocks == end->blocks && !has_failed(thread)) return;
      runs_[thread].memory = std::move(before);
    }
    interpret(thread, *end);
  }

  void interpret(size_t thread, const DecodeEnd& end) {
    ThreadRun& run = runs_[thread];
    const LogFile& log = input_.logs[thread].log;
    run.error.clear();
    run.pending.reset();
    run.machine = std::make_unique<SymbolicMachine>(code_, std::move(*run.memory), known_, approximations_,
                                                    static_cast<uint32_t>(thread));
    run.memory.reset();
    SymbolicMachine& machine = *run.machine;
    machine.trace.name = input_.logs[thread].name;
    machine.thread_pointer = log.head().tls;
    machine.stack_high = log.head().stack_high;
    if (input_.logs[thread].source != nullptr) machine.begin_likely();
    if (run.origin.maker != ThreadOrigin::kNone) machine.add_event(EventKind::start, nullptr);
    if (thread == 0) {
      machine.make_nowhere();
      forget_unwritten(machine);
    }
    for (const llvm::GlobalVariable* variable : input_.image.thread_local_variables()) {
      if (!variable->hasInitializer()) continue;
      const uint64_t at = machine.thread_pointer + input_.image.offset_of(*variable);
      const std::vector<uint8_t> bytes = input_.image.bytes_of(*variable->getInitializer());
      machine.note_stack_object(at, bytes.size());
      machine.write_from_outside(at, bytes, false);
    }
    const bool in_call = has_failed(thread) && end.kind == DecodeEnd::Kind::in_call;
    ThreadInterpreter interpreter(machine,
                                  {.read_file = input_.read_file,
                                   .made = [&](NewThread made) { add_thread(thread, std::move(made)); },
                                   .joined = JoinedThreads(lives_, input_.logs[thread].name),
                                   .exit_code = input_.info.exit_code,
                                   .last_block = in_call ? end.blocks : end.certain_blocks,
                                   .told_in_vain = told_in_vain(thread),
                                   .death = death_of(thread, end)});
    run.end = follow(thread, interpreter, &interpreter);
    if (interpreter.pending_sync()) run.pending = interpreter.pending_sync()->entry;
    run.exits = interpreter.exits();
    if (run.pending && has_failed(thread)) machine.drop_unfinished();
    run.finished = log.head().end_tsc != 0;
    if (run.finished) interpreter.finish_thread();
    if (run.finished) {
      ++machine.step;  // others may go on between the last access and the end: buffered stores wait until then
      machine.add_event(EventKind::exit, nullptr);
    }
    if (interpreter.lost()) run.error = interpreter.why();
  }

  // The first thread finds memory as it was before the program.
  void forget_unwritten(SymbolicMachine& machine) {
    for (auto first = known_.unwritten.begin(); first != known_.unwritten.end();) {
      uint64_t end = *first + 1;
      auto last = std::next(first);
      for (; last != known_.unwritten.end() && *last == end && end % 8 != 0; ++last) ++end;
      machine.forget(*first, end - *first, std::string(kNeverWritten));
      first = last;
    }
  }

  void add_thread(size_t maker, NewThread made) {
    const std::string name = fmt::format("{}.{}", input_.logs[maker].name, made.number);
    const size_t index = index_of(name);
    if (index == runs_.size()) return;  // it has no log
    Event& event = runs_[maker].machine->add_event(EventKind::create, runs_[maker].machine->current());
    event.address = index;
    const std::lock_guard lock(mutex_);
    if (runs_[index].made) return;  // its maker is interpreted again
    runs_[index].made = true;
    runs_[index].memory = std::move(made.memory);
    runs_[index].origin = {.maker = static_cast<uint32_t>(maker), .epoch = made.epoch};
    ready_.push_back(index);
    changed_.notify_one();
  }

  const SymbolicInput& input_;
  CodeCache& code_;
  const SymbolicMachine::Known& known_;
  Ends& ends_;
  unsigned jobs_;
  std::vector<ThreadRun> runs_;
  std::vector<ThreadLife> lives_;
  ApproximationList approximations_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<size_t> ready_;
  unsigned busy_ = 0;
};

// What the program began with, byte by byte.
class ImageBytes {
 public:
  explicit ImageBytes(const ProgramImage& image) : image_(image) {}

  uint8_t byte(uint64_t at) {
    std::vector<uint8_t>& page = pages_[at / SymbolicMemory::kPage];
    if (page.empty()) {
      page.resize(SymbolicMemory::kPage);
      std::array<uint64_t, SymbolicMemory::kPage / 64> known{};
      image_.fill(at / SymbolicMemory::kPage, std::span<uint8_t, SymbolicMemory::kPage>(page), known);
    }
    return page[at % SymbolicMemory::kPage];
  }
  uint64_t word(uint64_t at) {
    uint64_t out = 0;
    for (unsigned i = 0; i < 8; ++i) out |= uint64_t{byte(at + i)} << 8 * i;
    return out;
  }

 private:
  const ProgramImage& image_;
  std::unordered_map<uint64_t, std::vector<uint8_t>> pages_;
};

// `more`: objects that are accessed at addresses which are known later only.
void add_initial_bytes(ImageBytes& image, const SymbolicMachine::Objects& more, Trace& trace) {
  const auto add = [&](uint64_t begin, uint64_t size) {
    for (uint64_t at = begin; at < begin + size; ++at)
      if (const uint8_t byte = image.byte(at)) trace.initial[at] = byte;
  };
  for (const ThreadTrace& thread : trace.threads)
    for (const Event& event : thread.events)
      if (event.address_expression) {
        add(event.object, event.object_size);
      } else if (is_access(event.kind)) {
        add(event.address, event.size);
      }
  for (const auto& [begin, size] : more) add(begin, size);
}

std::vector<const ThreadTrace*> traces_of(std::span<const ThreadRun> runs) {
  std::vector<const ThreadTrace*> out;
  for (const ThreadRun& run : runs) out.push_back(&run.machine->trace);
  return out;
}

// Objects that may have lain at an address, of any time and thread.
class ObjectIndex {
 public:
  explicit ObjectIndex(const SymbolicMachine::Objects& objects) {
    uint64_t last = 0;
    for (const auto& [begin, size] : objects) {
      last = std::max(last, begin + size);
      objects_.push_back({{begin, size}, last});
    }
  }
  std::vector<TargetObject> at(uint64_t address) const {
    std::vector<TargetObject> out;
    auto next =
        std::ranges::upper_bound(objects_, address, {}, [](const Each& each) { return each.object.begin; });
    while (next != objects_.begin() && (--next)->last_end > address)
      if (address - next->object.begin < next->object.size) out.push_back(next->object);
    return out;
  }

 private:
  struct Each {
    TargetObject object;
    uint64_t last_end;  // of those up to this one
  };
  std::vector<Each> objects_;
};

PointerTargets pointer_targets(const ProgramImage& program, ImageBytes& image, const ObjectIndex& objects,
                               const ApproximationList& approximations,
                               std::span<const ThreadTrace* const> threads) {
  constexpr uint64_t kLargest = 1 << 20;
  const auto objects_at = [&](uint64_t address) {
    std::vector<TargetObject> out = objects.at(address);
    if (const llvm::GlobalVariable* variable = program.variable_at(address)) {
      const llvm::DataLayout& layout = variable->getParent()->getDataLayout();
      out = {{program.address_of(*variable), layout.getTypeAllocSize(variable->getValueType())}};
    }
    std::erase_if(out, [](const TargetObject& object) { return object.size > kLargest; });
    return out;
  };
  const auto is_elsewhere = [&program, objects_at](uint64_t address) {
    constexpr uint64_t kLowest = uint64_t{1} << 40, kHighest = uint64_t{1} << 47;
    return kLowest < address && address < kHighest && program.function_at(address) == nullptr &&
           objects_at(address - 1).empty();  // the end of an object
  };
  return {threads,
          {.objects_at = objects_at,
           .initial_word = [&](uint64_t at) { return image.word(at); },
           .is_elsewhere = is_elsewhere,
           .is_garbage = [&](uint32_t number) { return approximations.is_garbage(number); }}};
}

// Of writes through pointers that may lead anywhere. Whether there are any.
bool register_stray_writes(Trace& trace) {
  bool found = false;
  for (uint32_t t = 0; t < trace.threads.size(); ++t) {
    std::set<uint32_t> places;
    for (const Event& event : trace.threads[t].events)
      if (writes_value(event.kind) && event.address_expression && event.object_size == 0 &&
          places.insert(event.place).second) {
        trace.approximations.push_back(
            {.what = "a write at an address of which nothing is known", .thread = t, .place = event.place});
        found = true;
      }
  }
  return found;
}

// A text whose last byte became known to be shared goes on behind it, nobody knows how far: as much again as
// there is already, so that a long one does not take a pass for each byte.
void share_texts(const std::map<uint64_t, uint64_t>& ends, const SharedBytes& before, SharedBytes& shared) {
  for (const auto& [end, size] : ends)
    if (shared.contains(end, 1) && !before.contains(end, 1)) shared.add(end + 1, size);
}

Error damaged(const std::string& thread, const std::string& where, const std::string& why) {
  return {.what = fmt::format("the recording of thread {} is damaged or cut short", thread),
          .where = where,
          .why = why,
          .next = "record again; heddle show tells what is left",
          .exit = ExitCode::environment};
}

}  // namespace

Result<Trace> make_trace(const SymbolicInput& input, const SymbolicOptions& options,
                         SymbolicStatistics& statistics) {
  for (const RecordedThreadLog& each : input.logs)
    if (each.source == nullptr && !each.log.damage().empty())
      return damaged(each.name, each.log.damage().front().text(), "");
  CodeCache code(input.program, input.plan, input.image);
  const HandlerEffects handlers = effects_of_handlers(input, code);
  SymbolicMachine::Known known{.shared = handlers.written, .by_handlers = handlers.written};
  Pass::Ends log_ends(input.logs.size());
  ImageBytes image(input.image);
  while (true) {
    Pass pass(input, code, known, log_ends, std::max(options.jobs, 1u));
    pass.run();
    ++statistics.passes;
    std::vector<const AccessNotes*> notes;
    std::vector<ThreadOrigin> origins;
    for (const ThreadRun& run : pass.runs()) {
      notes.push_back(&run.machine->notes);
      origins.push_back(run.origin);
      const heddle_record_log& head = input.logs[origins.size() - 1].log.head();
      origins.back().stack_low = head.stack_low;
      origins.back().stack_high = head.stack_high;
    }
    SymbolicMachine::Known next = known;
    next.blocks.clear();
    add_shared(notes, origins, next.shared);
    bool missed = false, asked = false, asked_targets = false, guessed = false, missed_release = false;
    next.likely.clear();
    for (const ThreadRun& run : pass.runs()) {
      next.shared.add(run.machine->also_share);
      run.machine->add_objects(next.objects);
      missed_release |= run.machine->misses_release;
      for (const auto& [at, sizes] : run.machine->allocated) next.blocks[at].add(sizes);
      next.unwritten.insert(run.machine->unwritten.begin(), run.machine->unwritten.end());
      missed |= run.machine->misses_object();
      asked |= run.machine->asks_for_blocks();
      asked_targets |= run.machine->asks_for_targets();
      guessed |= run.machine->asked_likely;
      if (run.machine->likely)
        add_likely_writes(run.machine->trace, static_cast<uint32_t>(&run - pass.runs().data()),
                          *run.machine->likely, next.likely);
    }
    if (known.pointers) next.releases &= !missed_release;
    if (known.pointers || missed_release)
      next.pointers = written_pointers(traces_of(pass.runs()), [&](uint64_t at) { return image.word(at); });
    for (const ThreadRun& run : pass.runs()) share_texts(run.machine->text_ends, known.shared, next.shared);
    sort_by_time(next.likely);
    const std::vector<const ThreadTrace*> threads = traces_of(pass.runs());
    const ObjectIndex objects(next.objects);
    PointerTargets pointers = pointer_targets(input.image, image, objects, pass.approximations(), threads);
    const SymbolicMachine::Objects targets = pointers.find();
    constexpr uint64_t kOfLibrary = 64;  // bytes behind a pointer to a library's memory that are unknown
    for (const uint64_t begin : pointers.elsewhere())
      for (uint64_t at = begin; at < begin + kOfLibrary; ++at) {
        next.shared.add(at, 1);
        next.unwritten.insert(at);
      }
    UncertainAddresses uncertain(threads);
    next.nowhere = std::max(next.nowhere, uncertain.nowhere());
    for (const auto& [begin, size] : targets) {
      next.shared.add(begin, size);
      next.largest_target = std::max(next.largest_target, size);
    }
    constexpr unsigned kMostGuesses = 6;  // passes: guesses need not come to rest
    const bool more = (guessed && statistics.passes < kMostGuesses && next.likely != known.likely) ||
                      next.shared.count() != known.shared.count() || next.releases != known.releases ||
                      next.pointers != known.pointers || next.unwritten.size() != known.unwritten.size() ||
                      (missed && next.objects != known.objects) || (asked && next.blocks != known.blocks) ||
                      (asked_targets && next.largest_target != known.largest_target) ||
                      next.nowhere != known.nowhere;
    if (more && statistics.passes < options.most_passes) {
      known = std::move(next);
      continue;
    }
    Trace trace{
        .program = input.info.program, .identity = input.info.identity, .policy = input.info.options.policy};
    statistics.shared_bytes = known.shared.count();
    statistics.instructions = 0;
    std::vector<ThreadEnd> ends;
    for (ThreadRun& run : pass.runs())
      ends.push_back(
          {.trace = run.machine->trace, .pending = run.pending, .finished = run.finished, .exits = run.exits});
    trace.failure = failure_predicate(input.info, ends);
    std::vector<std::vector<CoreStay>> stays;
    std::vector<uint32_t> event_counts;
    for (const ThreadRun& run : pass.runs()) {
      stays.push_back(run.machine->stays);
      event_counts.push_back(static_cast<uint32_t>(run.machine->trace.events.size()));
    }
    trace.core_order = core_orders(stays, event_counts);
    trace.sync_order = input.info.options.sync_order;
    for (size_t i = 0; i < pass.runs().size(); ++i) {
      ThreadRun& run = pass.runs()[i];
      if (!run.error.empty())
        return Error{
            .what = fmt::format("the recording of thread {} does not fit the program", input.logs[i].name),
            .where = run.error,
            .why = "the log is damaged, or it is of another program",
            .next = "record again",
            .exit = ExitCode::environment};
      if (run.end.kind == DecodeEnd::Kind::damaged || run.end.kind == DecodeEnd::Kind::begins_late)
        return damaged(input.logs[i].name, input.logs[i].log.file(), run.end.text);
      SymbolicMachine& machine = *run.machine;
      statistics.instructions += machine.instructions;
      statistics.mismatches += machine.mismatches;
      if (statistics.first_mismatch.empty()) statistics.first_mismatch = machine.first_mismatch;
      trace.accesses += machine.notes.count();
      for (const Event& event : machine.trace.events) trace.shared_accesses += is_access(event.kind);
      for (const TracePlace& place : machine.trace.places)
        if (!trace.instruction_texts.contains(place.instruction))
          trace.instruction_texts[place.instruction] =
              source_place(input.program.instruction(InstructionId(place.instruction))).text();
      trace.threads.push_back(std::move(machine.trace));
    }
    trace.approximations = pass.approximations().take();
    // A thread that was interpreted twice has had places behind its end.
    for (Approximation& each : trace.approximations)
      if (each.place >= trace.threads[each.thread].places.size()) each.place = 0;
    if (more)
      trace.approximations.push_back(
          {.what = fmt::format("memory that threads share: after {} passes more of it was found",
                               statistics.passes)});
    // A path that is not of a log comes without values: what stands for them was assumed.
    const bool assumed =
        std::ranges::any_of(input.logs, [](const auto& each) { return each.source != nullptr; });
    bool astray =
        std::ranges::any_of(pass.runs(), [](const ThreadRun& run) { return run.machine->wrote_anywhere; });
    if (!pointers.is_complete()) astray |= register_stray_writes(trace);
    trace.exact = !more && statistics.mismatches == 0 && !assumed && !astray && !missed_release;
    uncertain.lead_nowhere(trace);
    forget_signals_from_outside(trace);
    forget_posts_of_handlers(handlers, trace);
    forget_unseen_blocks(
        trace, trace.failure.kind == FailurePredicate::Kind::freed ? DoubleFrees::one : DoubleFrees::none);
    forget_reused_flags(trace);
    add_initial_bytes(image, targets, trace);
    return trace;
  }
}

}  // namespace heddle
