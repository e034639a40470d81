// What the files that model library functions share.
#pragma once

#include <optional>
#include <string>

#include "symex/machine.h"

namespace heddle {

// A call of which nothing is known: whatever it may write is not known any more.
void unknown_call(SymbolicMachine& machine, const Op& op);

// free and its like.
void release_call(SymbolicMachine& machine, const Op& op);

// __cxa_end_catch.
void end_catch(SymbolicMachine& machine, const Op& op);

// Of __cxa_allocate_exception.
void new_exception(SymbolicMachine& machine, uint64_t at, uint64_t size);

// Up to a zero byte or the limit; none if a byte is not concrete.
std::optional<std::string> string_at(SymbolicMachine& machine, uint64_t at, uint64_t limit);

// strtol and its kin; null for other names.
OpAction number_call_action(const std::string& name);

}  // namespace heddle
