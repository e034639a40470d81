// What SmtSolver is made of; for the sources of this folder.
#pragma once

#include <z3++.h>

#include <optional>
#include <vector>

#include "smt/smt_solver.h"

namespace heddle {

struct SmtSolver::Inner {
  z3::context context;
  z3::solver solver{context, "ALL"};
  std::vector<z3::expr> terms;
  std::optional<z3::model> model;
  uint64_t names = 0;

  SmtTerm add(const z3::expr& e) {
    terms.push_back(e);
    return {static_cast<uint32_t>(terms.size() - 1)};
  }
  const z3::expr& term(SmtTerm t) const { return terms[t.number]; }
  z3::symbol name(const std::string& text) {
    return context.str_symbol((text + "#" + std::to_string(names++)).c_str());
  }
  z3::expr variable(const std::string& text, const z3::sort& sort) {
    return context.constant(name(text), sort);
  }
};

// smt_floats.cpp: none if the machine's result cannot be said in the theory. What is not said in some cases
// only (which NaN, numbers that do not fit) is `free` there, a variable of the result's sort.
std::optional<z3::expr> float_term(const ExprNode& node, const std::array<z3::expr, 3>& operands,
                                   const z3::expr& free, bool& approximated);

}  // namespace heddle
