#include "trace/trace_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace heddle {
namespace {

class ThreadChecker {
 public:
  ThreadChecker(const Trace& trace, const ThreadTrace& thread) : trace_(trace), thread_(thread) {}

  Result<void> check() {
    HEDDLE_TRY(check_places());
    HEDDLE_TRY(check_expressions());
    for (uint32_t i = 0; i < thread_.events.size(); ++i)
      if (const char* why = problem(thread_.events[i], i)) return wrong(fmt::format("event {}", i), why);
    uint32_t last = 0;
    for (size_t i = 0; i < thread_.constraints.size(); ++i) {
      if (const char* why = problem(thread_.constraints[i], last))
        return wrong(fmt::format("constraint {}", i), why);
      last = thread_.constraints[i].events;
    }
    return {};
  }

  // A condition of one bit, over all the thread read.
  bool is_condition(Expr e) const { return e && fits(e, 1, static_cast<uint32_t>(thread_.events.size())); }

  const char* problem(const Event& event, uint32_t number) const {
    if (static_cast<unsigned>(event.kind) >= kEventKinds) return "there is no such kind";
    if (event.order > AccessOrder::seq_cst) return "there is no such order";
    if (event.place >= thread_.places.size()) return "its place does not exist";
    const bool thread = event.kind == EventKind::create || event.kind == EventKind::join;
    if (thread && event.address >= trace_.threads.size()) return "the thread does not exist";
    if (event.address_expression && !(is_access(event.kind) && fits(event.address_expression, 64, number)))
      return "its address expression";
    if (is_access(event.kind) || event.kind == EventKind::semaphore_value) {
      if (event.size == 0 || event.size > kLargestAccess) return "its size";
      if (event.address + event.size < event.address) return "its address";
    }
    if (!writes_value(event.kind)) return event.value ? "it has a value" : nullptr;
    // Its own read, too: only an update has one.
    return event.value && fits(event.value, event.size * 8, number + 1) ? nullptr : "its value";
  }

 private:
  Error wrong(std::string_view what, std::string_view why) const {
    return Error{.what = fmt::format("the trace does not fit together: {} of thread {}", what, thread_.name),
                 .why = std::string(why)};
  }

  Result<void> check_places() {
    if (thread_.places.empty() || thread_.places[0] != TracePlace{})
      return wrong("place 0", "it is to be nowhere");
    for (uint32_t i = 1; i < thread_.places.size(); ++i)
      if (thread_.places[i].caller >= i) return wrong(fmt::format("place {}", i), "its caller comes later");
    return {};
  }

  Result<void> check_expressions() {
    const ExprPool& pool = thread_.pool;
    needs_.assign(pool.size(), 0);
    for (uint32_t i = 1; i < pool.size(); ++i) {
      const ExprNode& node = pool.node(Expr{i});
      for (const Expr operand : operands_of(node)) needs_[i] = std::max(needs_[i], needs_[operand.number]);
      if (node.op == ExprOp::unknown && node.a != ExprPool::kDecidedByPath &&
          node.a >= trace_.approximations.size())
        return wrong(fmt::format("expression {}", i), "its approximation does not exist");
      if (node.op != ExprOp::read) continue;
      // Reads behind the last event may be left over from what the failure cut off: nothing can use them.
      if (node.a >= thread_.events.size()) {
        needs_[i] = std::numeric_limits<uint32_t>::max();
        continue;
      }
      if (!reads_value(thread_.events[node.a].kind) || node.width != uint64_t{thread_.events[node.a].size} * 8)
        return wrong(fmt::format("expression {}", i), "there is no such read");
      needs_[i] = node.a + 1;
    }
    return {};
  }

  bool fits(Expr e, unsigned width, uint32_t before) const {
    return e.number < thread_.pool.size() && thread_.pool.width(e) == width && needs_[e.number] <= before;
  }

  const char* problem(const Constraint& constraint, uint32_t last) const {
    if (constraint.kind > Constraint::Kind::other) return "there is no such kind";
    if (constraint.events < last || constraint.events > thread_.events.size()) return "its number of events";
    if (constraint.place >= thread_.places.size()) return "its place does not exist";
    return constraint.condition && fits(constraint.condition, 1, constraint.events) ? nullptr : "its condition";
  }

  const Trace& trace_;
  const ThreadTrace& thread_;
  std::vector<uint32_t> needs_;  // by expression: how many events must be done before it has a value
};

Error wrong_failure(const char* why) {
  return Error{.what = "the trace does not fit together: its failure", .why = why};
}

Result<void> check_failure(const Trace& trace, const std::vector<ThreadChecker>& checkers) {
  const FailurePredicate& failure = trace.failure;
  if (failure.kind > FailurePredicate::Kind::deadlock) return wrong_failure("there is no such kind");
  const bool of_thread =
      failure.kind != FailurePredicate::Kind::none && failure.kind != FailurePredicate::Kind::deadlock;
  if (of_thread && failure.thread >= trace.threads.size()) return wrong_failure("its thread does not exist");
  const bool has_condition = failure.kind == FailurePredicate::Kind::condition;
  if (has_condition ? !checkers[failure.thread].is_condition(failure.condition) : bool(failure.condition))
    return wrong_failure("its condition");
  for (const FailurePredicate::Waiting& waiting : failure.waiting) {
    if (waiting.thread >= trace.threads.size()) return wrong_failure("a thread that waits does not exist");
    const auto events = static_cast<uint32_t>(trace.threads[waiting.thread].events.size());
    if (is_access(waiting.operation.kind)) return wrong_failure("accesses do not wait");
    if (const char* why = checkers[waiting.thread].problem(waiting.operation, events))
      return wrong_failure(why);
  }
  return {};
}

}  // namespace

Result<void> check_trace(const Trace& trace) {
  std::vector<ThreadChecker> checkers;
  std::vector<bool> created(trace.threads.size());
  for (const ThreadTrace& thread : trace.threads) {
    HEDDLE_TRY(checkers.emplace_back(trace, thread).check());
    for (const Event& event : thread.events) {
      if (event.kind != EventKind::create) continue;
      if (created[event.address])
        return Error{.what = "the trace does not fit together: a thread is created twice",
                     .why = trace.threads[event.address].name};
      created[event.address] = true;
    }
  }
  const auto exists = [&](uint32_t thread, uint32_t event) {
    return thread < trace.threads.size() && event < trace.threads[thread].events.size();
  };
  for (const OrderOnCore& order : trace.core_order)
    if (!exists(order.before_thread, order.before) || !exists(order.after_thread, order.after))
      return Error{.what = "the trace does not fit together: an order of a core",
                   .why = "its events do not exist"};
  for (const Approximation& approximation : trace.approximations)
    if (approximation.thread >= trace.threads.size() ||
        approximation.place >= trace.threads[approximation.thread].places.size())
      return Error{.what = "the trace does not fit together: an approximation",
                   .why = "its place does not exist"};
  return check_failure(trace, checkers);
}

}  // namespace heddle
