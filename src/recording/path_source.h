// A thread's path that does not come from a log (decoder.h), such as one of the hardware. It tells a visitor
// the same things; what it does not know, it asks of who follows: an interpreter knows the arguments of calls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "recording/path_visitor.h"

namespace heddle {

class CallValues {
 public:
  virtual ~CallValues() = default;
  // Of a call that the thread is about to make. Nothing: not known, or an expression.
  virtual std::optional<uint64_t> argument_of(const llvm::CallBase& call, unsigned number) = 0;
  // What it points to, if that is a text that is known.
  virtual std::optional<std::string> text_of(const llvm::CallBase& call, unsigned number) = 0;
  virtual std::optional<uint64_t> word_behind(const llvm::CallBase& call, unsigned number) = 0;
  // A number as by argument_of; of an expression its likely value, which it has to have from then on.
  // `value`: what it is known to be for other reasons.
  virtual std::optional<uint64_t> settled_argument(const llvm::CallBase& call, unsigned number,
                                                   std::optional<uint64_t> value) = 0;
  // Where the block leads that the thread is in, or likely leads. Null: nothing says.
  virtual const llvm::BasicBlock* next_block(const llvm::BasicBlock& block) = 0;
  // Where a call through a pointer leads. Null: not to a function of the program, or nobody knows.
  virtual const llvm::Function* called_function(const llvm::CallBase& call) = 0;
};

class PathSource {
 public:
  virtual ~PathSource() = default;
  // The whole path, as often as asked for. `values`: null if nobody knows.
  virtual DecodeEnd run(PathVisitor& visitor, CallValues* values) = 0;
};

}  // namespace heddle
