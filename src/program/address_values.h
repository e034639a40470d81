// Values that decide where the program accesses memory, and which of them the default policy of recording logs
// so that every address is concrete for whoever follows the path of a thread (D4).
//
// Followed backwards from every address, and from sizes of copies and allocations (or, for policies
// under which addresses stay expressions, only from sizes of allocations and from what is released or
// reallocated: a block must begin and end, and what is read behind its end be told from what it held): through
// arithmetic, casts, phis, selects, members, arguments and results of calls inside the program (through a
// pointer: of every function of that type whose address is taken), stack slots whose address a load or store
// uses directly (local variables at -O0), and memory of the thread's own, by its class (sharing.h): a read of
// it follows from everything that is stored or copied into the class, also by code that takes it for shared. (A
// pointer that is copied from a shared object to one of the thread, as every copy of a std::shared_ptr does, is
// often used from there only.)
//
// What begins at a read of shared memory that is not settled (settled_memory.h), also by a library function
// whose result is computed from it (memcmp), is unknown; so on every way from such a read to an address
// something must be logged. A value is known if it is logged, or if all that it follows from is known (phis
// too, along the path). The cheapest set is a minimum vertex cut of the graph of values, where a value costs
// its bytes in the log (stored_bytes.h) and a little for being written at all, times 8 for each loop around it:
// an index that a loop computes from many bytes is logged once behind the loop, a remainder and not the number
// it is taken of, a comparison that decides which of two pointers goes on and not what it compares, a pointer
// whose fields are used often and not the addresses of the fields. Among equals those nearest to the reads are
// taken. The cut is found by maximum flow (Ford and Fulkerson 1956; Dinic 1970), over the whole program.
#pragma once

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "program/effects.h"
#include "program/sharing.h"

namespace heddle {

enum class ValuesFor { addresses, blocks };

// The instructions to be logged, each directly behind itself: never phis, ends of blocks, or calls other than
// intrinsics. `recorded`: the functions in which something can be logged.
llvm::DenseSet<const llvm::Instruction*> address_values(
    const llvm::Module& module, const EffectsTable& effects, const SharingResult& sharing,
    llvm::function_ref<bool(const llvm::Function&)> recorded, ValuesFor wanted);

}  // namespace heddle
