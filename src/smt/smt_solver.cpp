#include "smt/smt_solver.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "smt/smt_inner.h"

namespace heddle {
namespace {

// Interrupts the solver when it should end; until it is gone.
class Interrupter {
 public:
  Interrupter(z3::context& context, const std::function<bool()>& should_end)
      : thread_([&context, &should_end](const std::stop_token& stop) {
          std::mutex mutex;
          std::condition_variable_any changed;
          std::unique_lock lock(mutex);
          while (!changed.wait_for(lock, stop, std::chrono::milliseconds(20),
                                   [&] { return stop.stop_requested(); }))
            if (should_end()) context.interrupt();
        }) {}

 private:
  std::jthread thread_;
};

}  // namespace

SmtSolver::SmtSolver() : inner_(std::make_unique<Inner>()) {}
SmtSolver::~SmtSolver() = default;

SmtTerm SmtSolver::truth_variable(const std::string& name) {
  return inner_->add(inner_->variable(name, inner_->context.bool_sort()));
}

SmtTerm SmtSolver::number_variable(const std::string& name) {
  return inner_->add(inner_->variable(name, inner_->context.int_sort()));
}

SmtTerm SmtSolver::bits_variable(const std::string& name, unsigned width) {
  return inner_->add(inner_->variable(name, inner_->context.bv_sort(width)));
}

SmtTerm SmtSolver::truth(bool value) {
  return inner_->add(inner_->context.bool_val(value));
}

SmtTerm SmtSolver::all(std::span<const SmtTerm> terms) {
  z3::expr_vector parts(inner_->context);
  for (const SmtTerm t : terms) parts.push_back(inner_->term(t));
  return inner_->add(z3::mk_and(parts));
}

SmtTerm SmtSolver::any(std::span<const SmtTerm> terms) {
  z3::expr_vector parts(inner_->context);
  for (const SmtTerm t : terms) parts.push_back(inner_->term(t));
  return inner_->add(z3::mk_or(parts));
}

SmtTerm SmtSolver::no(SmtTerm t) {
  return inner_->add(!inner_->term(t));
}

SmtTerm SmtSolver::at_most(std::span<const SmtTerm> terms, unsigned count) {
  if (terms.size() <= count) return truth(true);
  z3::expr_vector parts(inner_->context);
  for (const SmtTerm t : terms) parts.push_back(inner_->term(t));
  return inner_->add(z3::atmost(parts, count));
}

SmtTerm SmtSolver::equal(SmtTerm a, SmtTerm b) {
  return inner_->add(inner_->term(a) == inner_->term(b));
}

SmtTerm SmtSolver::choose(SmtTerm condition, SmtTerm yes, SmtTerm no) {
  return inner_->add(z3::ite(inner_->term(condition), inner_->term(yes), inner_->term(no)));
}

SmtTerm SmtSolver::number(int64_t value) {
  return inner_->add(inner_->context.int_val(value));
}

SmtTerm SmtSolver::plus(SmtTerm a, int64_t b) {
  return inner_->add(inner_->term(a) + inner_->context.int_val(b));
}

SmtTerm SmtSolver::less(SmtTerm a, SmtTerm b) {
  return inner_->add(inner_->term(a) < inner_->term(b));
}

SmtTerm SmtSolver::bits(std::span<const uint64_t> words, unsigned width) {
  z3::expr out = inner_->context.bv_val(words[0], std::min(width, 64u));
  for (size_t i = 1; i < words.size(); ++i) {
    const unsigned more = std::min<unsigned>(64, width - static_cast<unsigned>(i) * 64);
    out = z3::concat(inner_->context.bv_val(words[i], more), out);
  }
  return inner_->add(out);
}

SmtTerm SmtSolver::concat(SmtTerm high, SmtTerm low) {
  return inner_->add(z3::concat(inner_->term(high), inner_->term(low)));
}

SmtTerm SmtSolver::extract(SmtTerm t, unsigned from, unsigned width) {
  return inner_->add(inner_->term(t).extract(from + width - 1, from));
}

SmtTerm SmtSolver::at_most_unsigned(SmtTerm a, SmtTerm b) {
  return inner_->add(z3::ule(inner_->term(a), inner_->term(b)));
}

SmtTerm SmtSolver::minus(SmtTerm a, SmtTerm b) {
  return inner_->add(inner_->term(a) - inner_->term(b));
}

void SmtSolver::require(SmtTerm t) {
  inner_->solver.add(inner_->term(t));
}

void SmtSolver::require_different(std::span<const SmtTerm> terms) {
  if (terms.size() < 2) return;
  z3::expr_vector parts(inner_->context);
  for (const SmtTerm t : terms) parts.push_back(inner_->term(t));
  inner_->solver.add(z3::distinct(parts));
}

SmtSolver::Answer SmtSolver::check(std::span<const SmtTerm> assumptions,
                                   const std::function<bool()>& should_end) {
  inner_->model.reset();
  z3::expr_vector assumed(inner_->context);
  for (const SmtTerm t : assumptions) assumed.push_back(inner_->term(t));
  try {
    z3::check_result result = z3::unknown;
    {
      const Interrupter interrupter(inner_->context, should_end);
      result = inner_->solver.check(assumed);
    }
    if (result == z3::unsat) return Answer::unsatisfiable;
    if (result == z3::unknown) return Answer::unknown;
    inner_->model = inner_->solver.get_model();
    return Answer::satisfiable;
  } catch (const z3::exception&) {  // interrupted, or out of memory
    return Answer::unknown;
  }
}

bool SmtSolver::is_true(SmtTerm t) {
  return inner_->model->eval(inner_->term(t), true).is_true();
}

int64_t SmtSolver::number_of(SmtTerm t) {
  return inner_->model->eval(inner_->term(t), true).get_numeral_int64();
}

std::string SmtSolver::smt_lib() const {
  return inner_->solver.to_smt2();
}

}  // namespace heddle
