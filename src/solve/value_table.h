// Values of any width as numbers, and expressions evaluated over them.
//
// The number 0 is a value that is not known (it depends on ExprOp::unknown); all of them are one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "trace/expressions.h"

namespace heddle {

using ValueNumber = uint32_t;
inline constexpr ValueNumber kUncertainValue = 0;

class ValueTable {
 public:
  ValueTable();
  // Words, the lowest first; zeros at the end do not count.
  ValueNumber number(std::span<const uint64_t> words);
  std::span<const uint64_t> words(ValueNumber value) const {
    return std::span(words_).subspan(begins_[value], begins_[value + 1] - begins_[value]);
  }
  uint64_t word(ValueNumber value, size_t index) const {
    const std::span<const uint64_t> all = words(value);
    return index < all.size() ? all[index] : 0;
  }

 private:
  std::vector<uint64_t> words_;
  std::vector<size_t> begins_;
  std::unordered_multimap<uint64_t, ValueNumber> by_hash_;
};

// Evaluates expressions of one pool again and again, with other values read each time.
class PoolEvaluator {
 public:
  using ReadValue = std::function<ValueNumber(uint32_t event)>;

  explicit PoolEvaluator(const ExprPool& pool)
      : pool_(&pool), stamps_(pool.size()), certain_(pool.size()), values_(pool.size()) {}

  ValueNumber value(Expr e, ValueTable& table, const ReadValue& read);
  // Events whose reads the expression depends on, growing.
  std::vector<uint32_t> reads_in(Expr e);

 private:
  template <class Visit>
  void visit(Expr e, const Visit& visit);  // each node once, operands first
  void evaluate(Expr e, const ValueTable& table, const ReadValue& read);
  uint64_t* place_for(Expr e);
  const uint64_t* words(Expr e) const;

  const ExprPool* pool_;
  uint32_t stamp_ = 0;
  std::vector<uint32_t> stamps_;
  std::vector<bool> certain_;
  std::vector<uint64_t> values_;  // wider than 64 bits: place in wide_
  std::vector<uint64_t> wide_;
  std::vector<uint32_t> stack_;
};

}  // namespace heddle
