// Random small problems, for tests of the engines: a random program, carried out once in a random order, which
// says what branches were taken, what failed, when it was and what came first. Now and then one of these is
// wrong, so that about half of the problems have no answer.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include "solve/problem.h"
#include "trace/execution.h"
#include "trace/trace_fixture.h"

namespace heddle {

struct RandomProblem {
  std::unique_ptr<const Trace> trace;
  Problem problem;
};

class RandomProblemMaker {
 public:
  struct Size {
    uint32_t threads = 2;
    uint32_t operations = 4;  // of a thread, about
  };

  RandomProblemMaker(uint64_t seed, MemoryModel model, Size size) : random_(seed), model_(model), size_(size) {}

  RandomProblem make() {
    choose_features();
    programs_.resize(size_.threads);
    for (uint32_t t = 0; t < size_.threads; ++t) make_program(t);
    make_threads_start();
    std::vector<size_t> all;
    for (const Program& program : programs_) all.push_back(program.size());
    const Trace whole = build(all);
    run(whole);

    // Threads end where the run ended, as in a recording; or some of them have more than is needed.
    std::vector<size_t> ends = done_;
    const bool with_more = number(3) == 0;
    for (uint32_t t = 0; t < ends.size(); ++t)
      if (with_more && number(2) == 0) ends[t] = all[t];
    auto trace = std::make_unique<Trace>(build(ends));
    add_constraints(*trace);
    add_failure(*trace, whole);
    RandomProblem out{.problem = {.model = model_}};
    add_clocks(*trace);
    out.problem.clocks = number(3) == 0;
    add_facts(out.problem);
    out.trace = std::move(trace);
    out.problem.trace = out.trace.get();
    return out;
  }

 private:
  static constexpr uint64_t kMemory = 0x1000, kMutex = 0x2000, kLock = 0x2100, kCondition = 0x2200,
                            kSemaphore = 0x2300, kBarrier = 0x2400, kOnce = 0x2500, kNever = 0x2600,
                            kBlock = 0x3000;

  // An event, with its expressions as a recipe: a constant, and reads of the thread (by event) that are added.
  struct Operation {
    Event event;
    bool same_step = false;
    uint64_t constant = 0;
    std::vector<uint32_t> terms;
    bool exchange = false;  // update: writes only if it read `expected`
    uint64_t expected = 0;
    bool unknown = false;
    std::optional<uint32_t> index;  // the address depends on this read
  };
  using Program = std::vector<Operation>;

  uint64_t number(uint64_t below) { return random_() % below; }
  bool chance(uint64_t of) { return number(of) == 0; }

  void choose_features() {
    variables_ = 1 + number(3);
    with_sync_ = number(4);  // 0: none, 1: locks, 2: all, 3: mostly one family
    constexpr uint64_t kFamilies[] = {0, 3, 5, 7, 8, 9, 10};
    focus_ = kFamilies[number(std::size(kFamilies))];
    mixed_sizes_ = chance(4);
    with_unknown_ = chance(8);
    with_symbolic_ = chance(5);
    with_steps_ = chance(4);
    with_threads_ = chance(3);
    with_fences_ = chance(2);
    different_values_ = chance(2);  // so that what was read tells from whom
  }

  // ---- programs

  AccessOrder random_order() {
    return with_fences_ && chance(2) ? static_cast<AccessOrder>(number(7)) : AccessOrder::plain;
  }

  void add(Program& program, EventKind kind, uint64_t address = 0, uint64_t second = 0,
           bool recursive = false) {
    program.push_back({.event = {.kind = kind, .recursive = recursive, .address = address, .second = second}});
  }

  void add_access(Program& program) {
    Operation operation;
    Event& event = operation.event;
    const uint64_t choice = number(7);
    event.kind = choice < 3 ? EventKind::read : choice < 6 ? EventKind::write : EventKind::update;
    event.order = random_order();
    event.direct = event.kind == EventKind::write && chance(12);
    event.size = mixed_sizes_ ? uint32_t{1} << number(3) : 1;
    event.address = kMemory + (mixed_sizes_ ? number(4) : 4 * number(variables_));
    operation.constant = number(different_values_ ? 100 : 3);
    std::vector<uint32_t> reads;
    for (uint32_t i = 0; i < program.size(); ++i)
      if (reads_value(program[i].event.kind)) reads.push_back(i);
    for (uint64_t terms = number(3); terms > 0 && !reads.empty(); --terms)
      operation.terms.push_back(reads[number(reads.size())]);
    if (event.kind == EventKind::update) {
      operation.exchange = chance(2);
      operation.expected = number(3);
      if (chance(2)) operation.terms.push_back(static_cast<uint32_t>(program.size()));
    }
    operation.unknown = with_unknown_ && chance(4);
    if (with_symbolic_ && !reads.empty() && chance(3)) operation.index = reads[number(reads.size())];
    operation.same_step = with_steps_ && chance(3);
    program.push_back(operation);
  }

  void add_accesses(Program& program) {
    for (uint64_t count = 1 + number(2); count > 0; --count) add_access(program);
  }

  // One of the cases below. Where one family is in focus, its operations meet.
  uint64_t sync_family() {
    if (with_sync_ == 1) return number(3);
    if (with_sync_ == 2 || chance(4)) return number(11);
    return focus_ + (focus_ == 3 || focus_ == 5 ? number(2) : 0);  // waits and signals, posts and waits
  }

  void add_sync(Program& program) {
    const uint64_t mutex = kMutex + 8 * number(2);
    const bool recursive = mutex != kMutex;
    switch (sync_family()) {
      case 0:
      case 1:
        add(program, EventKind::lock, mutex, 0, recursive);
        if (recursive && chance(3)) {
          add(program, EventKind::lock, mutex, 0, recursive);
          add(program, EventKind::unlock, mutex, 0, recursive);
        }
        add_accesses(program);
        if (!chance(6)) add(program, EventKind::unlock, mutex, 0, recursive);
        break;
      case 2:
        if (chance(2)) {
          add(program, EventKind::lock_failed, mutex, 0, recursive);
        } else {  // in the other order, so that there are deadlocks
          add(program, EventKind::lock, kMutex + 8, 0, true);
          add(program, EventKind::lock, kMutex);
          add(program, EventKind::unlock, kMutex);
          add(program, EventKind::unlock, kMutex + 8, 0, true);
        }
        break;
      case 3:
        add(program, EventKind::lock, kMutex);
        add(program, EventKind::wait_begin, kCondition, kMutex);
        add(program, chance(4) ? EventKind::wait_timeout : EventKind::wait_end, kCondition, kMutex);
        add(program, EventKind::unlock, kMutex);
        break;
      case 4:
        add(program, chance(2) ? EventKind::signal : EventKind::broadcast, kCondition);
        break;
      case 5:
        add(program, EventKind::semaphore_post, kSemaphore);
        break;
      case 6:
        add(program, chance(3) ? EventKind::semaphore_failed : EventKind::semaphore_wait, kSemaphore);
        if (chance(3)) {
          add(program, EventKind::semaphore_value, kSemaphore);
          program.back().event.size = 4;
        }
        break;
      case 7:
        if (chance(2)) {
          add(program, chance(4) ? EventKind::read_lock_failed : EventKind::read_lock, kLock);
          if (program.back().event.kind == EventKind::read_lock_failed) break;
          add_accesses(program);
          add(program, EventKind::read_unlock, kLock);
        } else {
          add(program, chance(4) ? EventKind::write_lock_failed : EventKind::write_lock, kLock);
          if (program.back().event.kind == EventKind::write_lock_failed) break;
          add_accesses(program);
          add(program, EventKind::write_unlock, kLock);
        }
        break;
      case 8:
        add(program, EventKind::barrier_arrive, kBarrier, number(2));
        add(program, EventKind::barrier_leave, kBarrier, program.back().event.second);
        break;
      case 9:
        if (chance(2)) {
          add(program, EventKind::once_begin, kOnce);
          add(program, EventKind::once_done, kOnce, chance(4));
        } else {
          add(program, EventKind::once_passed, kOnce);
        }
        break;
      default:
        add(program, chance(2) ? EventKind::allocate : EventKind::release, kBlock + 8 * number(2));
        program.back().event.size = chance(3) ? 16 : 8;
        break;
    }
  }

  void make_program(uint32_t thread) {
    Program& program = programs_[thread];
    if (thread == 0 && with_sync_ > 1) {
      if (chance(2)) add(program, EventKind::init, kSemaphore, number(2));
      if (chance(2)) add(program, EventKind::init, kBarrier, 2);
    }
    const uint64_t length = program.size() + size_.operations;
    while (program.size() < length) {
      if (with_fences_ && chance(6)) {
        add(program, EventKind::fence);
        program.back().event.order = static_cast<AccessOrder>(number(7));
      } else if (with_sync_ > 0 && (chance(3) || (with_sync_ == 3 && chance(2)))) {
        add_sync(program);
      } else {
        add_access(program);
      }
    }
  }

  // The first thread creates some of the others.
  void make_threads_start() {
    if (!with_threads_) return;
    Program creates, joins;
    for (uint32_t t = 1; t < size_.threads; ++t) {
      if (chance(3)) continue;
      add(creates, EventKind::create, t);
      Operation start{.event = {.kind = EventKind::start}};
      shift(programs_[t], 1);
      programs_[t].insert(programs_[t].begin(), start);
      if (chance(2)) continue;
      add(programs_[t], EventKind::exit);
      if (chance(2)) add(joins, EventKind::join, t);
    }
    Program& first = programs_[0];
    const size_t at = chance(2) ? 0 : std::min<size_t>(first.size(), number(3));
    shift(first, static_cast<uint32_t>(creates.size()), static_cast<uint32_t>(at));
    first.insert(first.begin() + static_cast<ptrdiff_t>(at), creates.begin(), creates.end());
    first.insert(first.end(), joins.begin(), joins.end());
    if (!joins.empty()) add_access(first);
  }

  // Events from `at` on get larger numbers.
  static void shift(Program& program, uint32_t by, uint32_t at = 0) {
    for (Operation& operation : program) {
      for (uint32_t& term : operation.terms) term += term >= at ? by : 0;
      if (operation.index && *operation.index >= at) *operation.index += by;
    }
  }

  // ---- traces

  Expr term(ExprPool& pool, const std::vector<Event>& events, uint32_t read, unsigned width) {
    const unsigned bits = events[read].size * 8;
    const Expr e = pool.read(read, bits);
    return bits == width ? e : bits > width ? pool.extract(e, 0, width) : pool.zext(e, width);
  }

  Trace build(const std::vector<size_t>& ends) {
    TraceBuilder builder(size_.threads);
    builder.trace.approximations.push_back({.what = "something unknown"});
    for (uint32_t t = 0; t < size_.threads; ++t) {
      ExprPool& pool = builder.pool(t);
      for (uint32_t i = 0; i < ends[t]; ++i) {
        const Operation& operation = programs_[t][i];
        Event event = operation.event;
        const uint32_t added = builder.add(t, event, operation.same_step && i > 0);
        const std::vector<Event>& events = builder.trace.threads[t].events;
        if (operation.index) {
          event.object = kMemory;
          event.object_size = 4 * variables_ + 8;
          const Expr index = pool.binary(ExprOp::bit_and, term(pool, events, *operation.index, 64),
                                         pool.constant(variables_ > 1 ? 1 : 4, 64));
          event.address_expression = pool.binary(
              ExprOp::add, pool.binary(ExprOp::mul, index, pool.constant(4, 64)), pool.constant(kMemory, 64));
        }
        if (writes_value(event.kind)) {
          const unsigned width = event.size * 8;
          event.value = pool.constant(operation.constant, width);
          for (const uint32_t read : operation.terms)
            event.value = pool.binary(ExprOp::add, event.value, term(pool, events, read, width));
          const uint64_t kept = different_values_ ? 0x7f7f7f7f7f7f7f7f : 0x0303030303030303;
          event.value = pool.binary(ExprOp::bit_and, event.value, pool.constant(kept, width));
          if (operation.unknown) event.value = pool.binary(ExprOp::add, event.value, pool.unknown(0, width));
          if (operation.exchange) {
            const Expr old = pool.read(added, width);
            event.value = pool.ite(pool.binary(ExprOp::eq, old, pool.constant(operation.expected, width)),
                                   event.value, old);
          }
        }
        event.step = events[added].step;
        builder.trace.threads[t].events[added] = event;
      }
    }
    return std::move(builder.trace);
  }

  // ---- the run

  void run(const Trace& trace) {
    values_.resize(size_.threads);
    done_.assign(size_.threads, 0);
    TraceExecution execution(
        trace, model_,
        [&](uint32_t thread, uint32_t event, std::span<const uint64_t> read, std::span<const uint64_t>, bool) {
          if (!read.empty()) values_[thread][event] = read[0];
        });
    uint64_t left = chance(2) ? 1000 : 1 + number(size_.threads * size_.operations);
    uint32_t running = 0;
    for (unsigned refused = 0; refused < 40 && left > 0;) {
      if (refused > 0 || chance(4)) running = static_cast<uint32_t>(number(size_.threads));
      OrderItem item{.thread = running, .event = execution.next_event(running)};
      if (model_ != MemoryModel::sc && item.event > 0 && chance(refused > 0 ? 2 : 4))
        item = {.thread = running, .event = static_cast<uint32_t>(number(item.event)), .flush = true};
      if (execution.refusal(item)) {
        ++refused;
        continue;
      }
      if (execution.perform(item)) break;  // an address outside
      refused = 0;
      if (item.flush) continue;
      order_.push_back({item.thread, item.event});
      done_[item.thread] = item.event + 1;
      --left;
    }
  }

  // ---- what is known of it

  bool happened(uint32_t thread, uint32_t event) const { return event < done_[thread]; }

  // A condition over reads, so that it held in the run; or any, if one of them did not happen.
  Expr condition(ThreadTrace& thread, uint32_t t, const std::vector<uint32_t>& reads) {
    ExprPool& pool = thread.pool;
    Expr sum = pool.constant(number(2), 8);
    bool all_happened = true;
    uint64_t value = pool.constant_bits(sum);
    for (uint64_t terms = 1 + number(2); terms > 0; --terms) {
      const uint32_t read = reads[number(reads.size())];
      sum = pool.binary(ExprOp::add, sum, term(pool, thread.events, read, 8));
      all_happened &= happened(t, read);
      if (happened(t, read)) value += values_[t][read];
    }
    value &= 0xff;
    const uint64_t with = different_values_ || chance(2) ? value : number(4);
    const bool equal = different_values_ ? !chance(4) : chance(2);
    const Expr comparison = pool.binary(equal ? ExprOp::eq : ExprOp::ult, sum, pool.constant(with, 8));
    const bool held = equal ? value == with : value < with;
    const bool wrong = chance(all_happened ? 12 : 2);
    return held != wrong ? comparison : pool.logical_not(comparison);
  }

  void add_constraints(Trace& trace) {
    for (uint32_t t = 0; t < size_.threads; ++t) {
      ThreadTrace& thread = trace.threads[t];
      std::vector<uint32_t> reads;
      for (uint32_t i = 0; i < thread.events.size(); ++i) {
        if (reads_value(thread.events[i].kind)) reads.push_back(i);
        if (!reads.empty() && chance(reads.back() == i ? 1 : 4))
          thread.constraints.push_back({.condition = condition(thread, t, reads), .events = i + 1});
      }
    }
  }

  void add_failure(Trace& trace, const Trace& whole) {
    FailurePredicate& failure = trace.failure;
    failure.thread = static_cast<uint32_t>(number(size_.threads));
    failure.text = "fails";
    ThreadTrace& thread = trace.threads[failure.thread];
    std::vector<uint32_t> reads;
    for (uint32_t i = 0; i < thread.events.size(); ++i)
      if (reads_value(thread.events[i].kind)) reads.push_back(i);
    const uint64_t choice = number(8);
    if (choice == 0) {
      failure.kind = FailurePredicate::Kind::freed;
      failure.address = kBlock + number(24);
    } else if (choice < 3) {
      failure.kind = FailurePredicate::Kind::deadlock;
      for (uint32_t t = 0; t < size_.threads; ++t) {
        const size_t end = trace.threads[t].events.size();
        if (end == whole.threads[t].events.size() || is_access(whole.threads[t].events[end].kind)) continue;
        if (end == done_[t] && !chance(4)) failure.waiting.push_back({t, whole.threads[t].events[end]});
      }
      if (failure.waiting.empty()) failure.kind = FailurePredicate::Kind::reached;
    } else if (choice < 5) {  // all threads are at their ends, and wait for what nobody does
      failure.kind = FailurePredicate::Kind::deadlock;
      for (uint32_t t = 0; t < size_.threads; ++t)
        failure.waiting.push_back({t, {.kind = EventKind::once_passed, .address = kNever}});
    } else if (choice < 7 && !reads.empty()) {
      failure.kind = FailurePredicate::Kind::condition;
      failure.condition = condition(thread, failure.thread, reads);
    } else {
      failure.kind = FailurePredicate::Kind::reached;
    }
  }

  void add_clocks(Trace& trace) {
    for (size_t i = 0; i < order_.size(); ++i) {
      if (chance(3)) continue;
      Event& event = trace.threads[order_[i].thread].events[order_[i].event];
      const uint64_t time = 100 + 10 * i;
      event.tsc_low = time - number(30);
      event.tsc_high = time + 1 + number(30);
      if (chance(60)) event.tsc_low += 40, event.tsc_high += 40;  // wrong
    }
  }

  void add_facts(Problem& problem) {
    if (!chance(3) || order_.empty()) return;
    for (uint64_t facts = 1 + number(4); facts > 0; --facts) {
      EventRef before = order_[number(order_.size())], after = order_[number(order_.size())];
      if (before.thread == after.thread) continue;
      const auto at = [&](EventRef event) { return std::ranges::find(order_, event); };
      if (at(after) < at(before) && !chance(30)) std::swap(before, after);
      problem.facts.push_back({.before = before, .after = after});
    }
  }

  std::mt19937_64 random_;
  MemoryModel model_;
  Size size_;
  uint64_t variables_ = 1, with_sync_ = 0, focus_ = 0;
  bool mixed_sizes_ = false, with_unknown_ = false, with_symbolic_ = false, with_steps_ = false;
  bool with_threads_ = false, with_fences_ = false, different_values_ = false;
  std::vector<Program> programs_;
  std::vector<std::map<uint32_t, uint64_t>> values_;  // read in the run, by thread and event; the low 64 bits
  std::vector<EventRef> order_;                       // of the run
  std::vector<size_t> done_;                          // events of each thread
};

inline RandomProblem random_problem(uint64_t seed, MemoryModel model) {
  std::mt19937_64 random(seed);
  RandomProblemMaker::Size size;
  size.threads = static_cast<uint32_t>(2 + random() % 3);
  size.operations = static_cast<uint32_t>(4 + random() % (size.threads == 2 ? 6 : size.threads == 3 ? 3 : 2));
  return RandomProblemMaker(seed * 3 + static_cast<uint64_t>(model), model, size).make();
}

}  // namespace heddle
