// Values of a pool's expressions, once those of the reads in them are known. Each node is evaluated at most
// once, and only if it is needed.
//
// A value may be uncertain: it depends on an `unknown`, or on a call of a function that cannot be evaluated. It
// is computed with 0 in their place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/expressions.h"

namespace heddle {

class ExprValues {
 public:
  struct Value {
    std::span<const uint64_t> words;  // the lowest first; until the next value is asked for
    bool certain = true;
    uint64_t bits() const { return words[0]; }
  };

  // The pool outlives this, and stays as it is unless grow() is called.
  ExprValues(const ExprPool& pool, size_t events);
  void grow(size_t events);  // the pool has more expressions, and there are so many events if not more

  // requires: it has none yet; as many words as the read's width needs
  void set_read(uint32_t event, std::span<const uint64_t> words, bool certain);
  // requires: all reads in it have values
  Value value(Expr e);

 private:
  enum State : uint8_t { kMissing, kUncertain, kCertain };

  const uint64_t* words(Expr e) const;
  bool is_certain(const ExprNode& node) const;
  void evaluate(Expr e);

  const ExprPool* pool_;
  std::vector<uint64_t> values_;  // by expression; wider than 64 bits: place in wide_
  std::vector<State> states_;
  std::vector<uint64_t> reads_;  // by event, the same
  std::vector<State> read_states_;
  std::vector<uint64_t> wide_;
  std::vector<uint32_t> stack_;
};

}  // namespace heddle
