// Where the global things of a recorded program lay: variables and functions by the symbols of its record
// variant, and what memory held before anything ran, from the variables' initial values.
//
// What has no symbol there (variables and functions of libraries) gets an address of its own that nothing else
// has.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Module.h>

#include <map>
#include <span>
#include <vector>

#include "image/elf_file.h"
#include "symex/memory.h"
#include "symex/value_layout.h"

namespace heddle {

class ProgramImage {
 public:
  ProgramImage(const llvm::Module& module, const ElfFile& variant, uint64_t load_base);

  // Memory of the process that held this before main: its arguments.
  void add_memory(uint64_t address, std::vector<uint8_t> bytes) { memory_[address] = std::move(bytes); }

  uint64_t address_of(const llvm::GlobalValue& value) const;
  // From the thread pointer, wraps; of thread-local variables.
  uint64_t offset_of(const llvm::GlobalVariable& variable) const;
  // The place of the thing is not known; it is near one that stands for it.
  static bool is_made_up(uint64_t address);
  static Expr is_made_up(ExprPool& pool, Expr address);
  // glibc's byte that is 1 until the first thread is made, which libstdc++ asks; null: the program does not.
  const llvm::GlobalVariable* single_threaded() const { return single_threaded_; }
  const llvm::Function* function_at(uint64_t address) const;  // that begins there, or null
  // The variable that the address lies in, or null.
  const llvm::GlobalVariable* variable_at(uint64_t address) const;
  const std::vector<const llvm::GlobalVariable*>& thread_local_variables() const { return thread_locals_; }

  // The value of a constant, in the cells of its type.
  void evaluate(const llvm::Constant& constant, Cell* to) const;
  // Its bytes in memory.
  std::vector<uint8_t> bytes_of(const llvm::Constant& constant) const;
  // What memory holds at first.
  void fill(uint64_t page, std::span<uint8_t, SymbolicMemory::kPage> bytes,
            std::span<uint64_t, SymbolicMemory::kPage / 64> known) const;

 private:
  void evaluate_expression(const llvm::ConstantExpr& expression, Cell* to) const;
  void write_bytes(const llvm::Constant& constant, std::span<uint8_t> to) const;

  const llvm::Module& module_;
  mutable ValueLayouts layouts_;
  llvm::DenseMap<const llvm::GlobalValue*, uint64_t> addresses_;
  std::map<uint64_t, const llvm::GlobalVariable*> variables_;  // by address
  llvm::DenseMap<uint64_t, const llvm::Function*> functions_;  // by address
  std::map<uint64_t, std::vector<uint8_t>> memory_;            // by address
  std::vector<const llvm::GlobalVariable*> thread_locals_;
  const llvm::GlobalVariable* single_threaded_;
};

}  // namespace heddle
