#include "solve/smt_encoding.h"

#include <fmt/format.h>

#include <algorithm>

#include "trace/node_value.h"

namespace heddle {

SmtEncoding::SmtEncoding(const Problem& problem, SmtSolver& solver, std::function<bool()> should_end)
    : problem_(problem),
      solver_(solver),
      should_end_(std::move(should_end)),
      needs_(problem),
      known_(problem, needs_) {
  for (const ThreadTrace& thread : problem.trace->threads) {
    reads_.emplace_back(thread.events.size());
    values_.emplace_back(thread.pool.size());
  }
  find_pieces();
}

bool SmtEncoding::encode() {
  make_moments();
  find_sync();
  encode_program_order();
  encode_steps();
  encode_facts();
  encode_flushes();
  if (!encode_accesses() || !encode_sync()) return false;
  encode_path();
  encode_failure();
  return true;
}

bool SmtEncoding::is_buffered(EventRef ref) const {
  return problem_.model != MemoryModel::sc && event(ref).kind == EventKind::write &&
         !needs_empty_buffer(event(ref));
}

void SmtEncoding::make_moments() {
  std::vector<SmtTerm> times;
  const auto make = [&](const std::string& name) {
    const Moment moment{.done = solver_.truth_variable("done." + name),
                        .when = solver_.number_variable("when." + name)};
    times.push_back(moment.when);
    return moment;
  };
  for (uint32_t t = 0; t < threads(); ++t) {
    moments_.emplace_back();
    for (uint32_t e = 0; e < events(t).size(); ++e) {
      moments_[t].push_back(make(fmt::format("{}.{}", t, e)));
      if (is_buffered({t, e})) flushes_[{t, e}] = make(fmt::format("flush.{}.{}", t, e));
    }
  }
  solver_.require_different(times);
}

// `own`: whose moment it is; a point behind an event has that event behind it.
SmtTerm SmtEncoding::happened(const Moment& moment, EventRef own, const Point& point) {
  if (point.kind == Point::Kind::end) return moment.done;
  if (own == point.event) return point.kind == Point::Kind::behind ? moment.done : solver_.truth(false);
  return solver_.all({moment.done, is_before(moment, this->moment(point.event))});
}

SmtTerm SmtEncoding::is_at_end(uint32_t thread) {
  return moments_[thread].empty() ? solver_.truth(true) : moments_[thread].back().done;
}

// ---- Φmo of events

void SmtEncoding::encode_program_order() {
  for (uint32_t t = 0; t < threads(); ++t)
    for (uint32_t e = 0; e + 1 < events(t).size(); ++e) {
      solver_.require(solver_.implies(moment({t, e + 1}).done, moment({t, e}).done));
      solver_.require(is_before(moment({t, e}), moment({t, e + 1})));
    }
}

// Nothing of other threads comes between the events of a step; if the order ends within one, nothing comes
// after.
void SmtEncoding::encode_steps() {
  for (uint32_t t = 0; t < threads(); ++t)
    for (uint32_t e = 0; e + 1 < events(t).size(); ++e) {
      if (events(t)[e].step != events(t)[e + 1].step) continue;
      const Moment &begin = moment({t, e}), &end = moment({t, e + 1});
      const auto keep_out = [&](const Moment& other) {
        const SmtTerm inside = solver_.all({begin.done, other.done, is_before(begin, other),
                                            solver_.any({solver_.no(end.done), is_before(other, end)})});
        solver_.require(solver_.no(inside));
      };
      for (uint32_t other = 0; other < threads(); ++other)
        for (const Moment& moment : moments_[other])
          if (other != t) keep_out(moment);
      for (const auto& [write, flush] : flushes_)
        if (write.thread != t) keep_out(flush);
    }
}

void SmtEncoding::encode_facts() {
  for (uint32_t t = 0; t < threads(); ++t)
    for (uint32_t e = 0; e < events(t).size(); ++e)
      for (const OrderNeed& need : needs_.of({t, e})) {
        const Moment& before = moment({need.thread, need.events - 1});
        solver_.require(solver_.implies(moment({t, e}).done,
                                        solver_.all({before.done, is_before(before, moment({t, e}))})));
      }
}

// ---- Φpath, Φbug

SmtEncoding::Value SmtEncoding::expression(uint32_t thread, Expr e) {
  std::optional<Value>& known = values_[thread][e.number];
  if (known) return *known;
  const ExprPool& pool = problem_.trace->threads[thread].pool;
  const ExprNode& node = pool.node(e);
  Value value{.certain = solver_.truth(true)};
  if (node.op == ExprOp::constant) {
    value.bits = solver_.bits(pool.constant_words(e), node.width);
  } else if (node.op == ExprOp::read) {
    value = *reads_[thread][node.a];
  } else if (node.op == ExprOp::unknown || (node.op == ExprOp::call && pool.called(node) == nullptr)) {
    // As the evaluator has it: 0, but not certain.
    value = {.bits = solver_.bits(std::vector<uint64_t>(words_of(node.width)), node.width),
             .certain = solver_.truth(false)};
  } else {
    std::array<SmtTerm, 3> operands;
    std::vector<SmtTerm> certain;
    const std::array<Expr, 3> from = operands_of(node);
    for (unsigned i = 0; i < 3; ++i) {
      if (!from[i]) continue;
      const Value operand = expression(thread, from[i]);
      operands[i] = operand.bits;
      certain.push_back(operand.certain);
    }
    value.bits = solver_.node(node, operands, approximated_);
    value.certain = solver_.all(certain);
    if (node.op == ExprOp::ite) {
      const SmtTerm yes = solver_.equal(operands[0], solver_.bits(std::array{uint64_t{1}}, 1));
      value.certain = solver_.all({certain[0], solver_.choose(yes, certain[1], certain[2])});
    }
  }
  known = value;
  return value;
}

SmtTerm SmtEncoding::holds(uint32_t thread, Expr condition) {
  const Value value = expression(thread, condition);
  return solver_.any(
      {solver_.no(value.certain), solver_.equal(value.bits, solver_.bits(std::array{uint64_t{1}}, 1))});
}

void SmtEncoding::encode_path() {
  for (uint32_t t = 0; t < threads(); ++t)
    for (const Constraint& constraint : problem_.trace->threads[t].constraints) {
      const SmtTerm reached =
          constraint.events == 0 ? solver_.truth(true) : moment({t, constraint.events - 1}).done;
      solver_.require(solver_.implies(reached, holds(t, constraint.condition)));
    }
}

void SmtEncoding::encode_failure() {
  const FailurePredicate& failure = problem_.trace->failure;
  const Point end;
  switch (failure.kind) {
    case FailurePredicate::Kind::none:
      return;
    case FailurePredicate::Kind::reached:
      return solver_.require(is_at_end(failure.thread));
    case FailurePredicate::Kind::condition:
      solver_.require(is_at_end(failure.thread));
      return solver_.require(holds(failure.thread, failure.condition));
    case FailurePredicate::Kind::freed:
      solver_.require(is_at_end(failure.thread));
      return solver_.require(SmtObjects(solver_).is_released(blocks_at(end), failure.address));
    case FailurePredicate::Kind::deadlock:
      for (const FailurePredicate::Waiting& waiting : failure.waiting) {
        const auto position = static_cast<uint32_t>(events(waiting.thread).size());
        solver_.require(is_at_end(waiting.thread));
        solver_.require(solver_.no(is_enabled(waiting.thread, waiting.operation, position, end)));
      }
      return;
  }
}

std::vector<OrderItem> SmtEncoding::order() {
  std::vector<std::pair<int64_t, OrderItem>> items;
  const auto add = [&](const Moment& moment, OrderItem item) {
    if (solver_.is_true(moment.done)) items.push_back({solver_.number_of(moment.when), item});
  };
  for (uint32_t t = 0; t < threads(); ++t)
    for (uint32_t e = 0; e < events(t).size(); ++e) add(moment({t, e}), {.thread = t, .event = e});
  for (const auto& [write, flush] : flushes_)
    add(flush, {.thread = write.thread, .event = write.event, .flush = true});
  std::ranges::sort(items, {}, &std::pair<int64_t, OrderItem>::first);
  std::vector<OrderItem> order;
  for (const auto& [when, item] : items) order.push_back(item);
  return order;
}

}  // namespace heddle
