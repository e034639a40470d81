// How values of LLVM types lie in cells and in memory.
//
// A scalar of up to 64 bits has one cell, a wider one as many as its words; vectors, arrays and structures are
// their scalars one after the other (their leaves). So an operation on a vector is one on each of its lanes.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DerivedTypes.h>

#include <memory>
#include <mutex>
#include <vector>

#include "trace/expression.h"

namespace heddle {

// A value, or a part of one. With an expression the bits say nothing; that of a wide scalar is in its first
// cell.
struct Cell {
  uint64_t bits = 0;
  Expr expression{};
};

struct Leaf {
  uint32_t cell = 0;  // the first
  uint32_t bits = 0;
  FloatFormat format = FloatFormat::none;  // of floating point numbers
  uint64_t bit_offset = 0;                 // in memory
};

struct ValueLayout {
  std::vector<Leaf> leaves;
  uint32_t cells = 0;
  uint64_t bytes = 0;       // in memory
  bool whole_bytes = true;  // all leaves begin and end with bytes of memory
};

FloatFormat float_format(const llvm::Type& type);

// Threads may share it.
class ValueLayouts {
 public:
  explicit ValueLayouts(const llvm::DataLayout& layout) : layout_(layout) {}
  const llvm::DataLayout& data_layout() const { return layout_; }
  const ValueLayout& of(llvm::Type* type);

 private:
  void add(llvm::Type* type, uint64_t bit_offset, ValueLayout& out);

  const llvm::DataLayout& layout_;
  std::mutex mutex_;
  llvm::DenseMap<llvm::Type*, std::unique_ptr<ValueLayout>> layouts_;
};

}  // namespace heddle
