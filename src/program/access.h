// Accesses: the places of the program that read or write memory, and whether another thread can reach that
// memory.
#pragma once

#include <llvm/IR/Instruction.h>
#include <llvm/Support/AtomicOrdering.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace heddle {

enum class AccessKind { read, write, read_modify_write };
std::string_view access_kind_name(AccessKind kind);

// Why an access needs no attention. `shared` is the answer "it does".
enum class Sharing {
  shared,              // memory that another thread may reach
  private_stack,       // stack object whose address never leaves the thread
  private_heap,        // heap object whose address never leaves the thread
  thread_local_store,  // thread-local variable whose address never leaves the thread
  constant_memory,     // never written after the program has started
  unreachable_code,    // pointer is null or undefined: the access cannot happen
};
constexpr size_t kSharings = 6;
std::string_view sharing_name(Sharing sharing);

// One load, store, read-modify-write, or one side of a memory intrinsic (memcpy is a read and a write).
// Calls of library functions that touch memory are not here: their effects are in the effects table.
struct Access {
  const llvm::Instruction* instruction = nullptr;
  const llvm::Value* pointer = nullptr;  // a vector of pointers for gather and scatter
  AccessKind kind = AccessKind::read;
  Sharing sharing = Sharing::shared;
  uint64_t size = 0;  // bytes, the most that is touched; 0: known only at run time
  bool atomic = false;
  // Private, but code that reaches the same memory by another way takes it for shared: a callee to whom the
  // address is lent, the constructor of what is constant afterwards. Matters where shared accesses are
  // redirected.
  bool lent = false;
  // A shared read whose value was written while there was one thread (settled_memory.h).
  bool settled = false;
  uint32_t memory = 0;  // its class of memory: what accesses of different classes write and read does not meet
};

// Appends the accesses of one instruction, unjudged (`shared`). memcpy and memmove give the read, then the
// write.
void append_accesses(const llvm::Instruction& instruction, std::vector<Access>& out);

// What a fence orders, an instruction or what <immintrin.h> makes of it; nothing for everything else, and for
// fences that are for the compiler only.
std::optional<llvm::AtomicOrdering> fence_ordering(const llvm::Instruction& instruction);

}  // namespace heddle
