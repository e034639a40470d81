// Formulas and a solver for them. The only folder that sees Z3: terms are numbers here.
//
// Terms are made, never changed, and live as long as the solver. Truth values, whole numbers and bit strings
// are different sorts; an operation on the wrong sort is our own bug.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/expression.h"

namespace heddle {

struct SmtTerm {
  uint32_t number = 0;
};

class SmtSolver {
 public:
  SmtSolver();
  ~SmtSolver();

  // Names are for people; equal ones are different variables.
  SmtTerm truth_variable(const std::string& name);
  SmtTerm number_variable(const std::string& name);
  SmtTerm bits_variable(const std::string& name, unsigned width);

  // ---- truth
  SmtTerm truth(bool value);
  SmtTerm all(std::span<const SmtTerm> terms);
  SmtTerm any(std::span<const SmtTerm> terms);
  SmtTerm all(std::initializer_list<SmtTerm> terms) { return all(std::span(terms.begin(), terms.size())); }
  SmtTerm any(std::initializer_list<SmtTerm> terms) { return any(std::span(terms.begin(), terms.size())); }
  SmtTerm no(SmtTerm term);
  SmtTerm implies(SmtTerm condition, SmtTerm term) { return any({no(condition), term}); }
  SmtTerm at_most(std::span<const SmtTerm> terms, unsigned count);
  // ---- any sort
  SmtTerm equal(SmtTerm a, SmtTerm b);
  SmtTerm choose(SmtTerm condition, SmtTerm yes, SmtTerm no);
  // ---- numbers
  SmtTerm number(int64_t value);
  SmtTerm plus(SmtTerm a, int64_t b);
  SmtTerm less(SmtTerm a, SmtTerm b);
  // ---- bit strings
  SmtTerm bits(std::span<const uint64_t> words, unsigned width);
  SmtTerm concat(SmtTerm high, SmtTerm low);
  SmtTerm extract(SmtTerm term, unsigned from, unsigned width);
  SmtTerm at_most_unsigned(SmtTerm a, SmtTerm b);
  SmtTerm minus(SmtTerm a, SmtTerm b);
  // The value of an expression's node; operands as operands_of() has them. Where the theory does not say what
  // the machine does, it is not constrained, and `approximated` becomes true.
  SmtTerm node(const ExprNode& node, const std::array<SmtTerm, 3>& operands, bool& approximated);

  void require(SmtTerm term);
  void require_different(std::span<const SmtTerm> terms);  // all of them from each other

  enum class Answer : uint8_t { satisfiable, unsatisfiable, unknown };
  // With the assumptions. `should_end` is asked by another thread, often.
  Answer check(std::span<const SmtTerm> assumptions, const std::function<bool()>& should_end);
  // In the last answer, if it was satisfiable.
  bool is_true(SmtTerm term);
  int64_t number_of(SmtTerm term);

  std::string smt_lib() const;  // everything required so far, as an SMT-LIB file

 private:
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

}  // namespace heddle
