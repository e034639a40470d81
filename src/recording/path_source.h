// A thread's path that does not come from a log (decoder.h), such as one of the hardware. It tells a visitor
// the same things; what it does not know, it asks of who follows: an interpreter knows the arguments of calls.
#pragma once

#include <cstdint>
#include <optional>

#include "recording/path_visitor.h"

namespace heddle {

class CallValues {
 public:
  virtual ~CallValues() = default;
  // Of a call that the thread is about to make. Nothing: not known, or an expression.
  virtual std::optional<uint64_t> argument_of(const llvm::CallBase& call, unsigned number) = 0;
};

class PathSource {
 public:
  virtual ~PathSource() = default;
  // The whole path, as often as asked for. `values`: null if nobody knows.
  virtual DecodeEnd run(PathVisitor& visitor, CallValues* values) = 0;
};

}  // namespace heddle
