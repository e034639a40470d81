// Groups of accesses of variant "flow": those of one block that are looked at together, before the first of
// them (instrument/flow_accesses.h).
//
// All of them must be known by then: an access belongs to the group before it if its addresses do not depend on
// what that reads. Arithmetic between the accesses that makes the addresses is moved before the first; that
// changes nothing, since it touches no memory. Atomic and volatile accesses are groups of their own: who else
// accesses the memory is likely, and an access of a group that needs its hook makes all of them take theirs.
#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/ValueHandle.h>

#include "program/access.h"

namespace heddle {

struct HookedAccess {
  Access access;
  llvm::WeakTrackingVH pointer;  // loaded pointers become other values while their loads get hooks
};

// A load, store, atomic update or copy that touches so few granules that each is looked at.
bool is_inline_access(const llvm::Instruction& instruction);

// Bytes of a load or store that stays inside one granule and that the hooks for single accesses can perform; 0
// for all others.
unsigned small_size(const llvm::Instruction& access);

// Bytes that an access touches.
struct Touched {
  llvm::Value* pointer;
  uint64_t size, align;
  bool writes;
};

// What is written first.
llvm::SmallVector<Touched, 2> touched_by(llvm::Instruction& access, llvm::ArrayRef<HookedAccess> hooked);

// A granule: the one at `offset` bytes from the pointer, which is where it begins if `aligned`.
struct FlowGranule {
  llvm::Value* pointer;
  int64_t offset;
  bool aligned, writes;
};
using FlowGranules = llvm::SmallVector<FlowGranule, 8>;

// Each once, as far as that can be told.
FlowGranules granules_of(llvm::ArrayRef<Touched> touched, const llvm::DataLayout& layout);

struct FlowAccess {
  llvm::Instruction* instruction;
  llvm::ArrayRef<HookedAccess> hooked;
};

struct FlowGroup {
  llvm::SmallVector<FlowAccess, 4> accesses;
  bool opens = false;   // a stretch begins with it
  bool closes = false;  // a stretch ends with it; else on the edges that lead out, or with a later group
};

// Grows a group while the instructions of a block are gone through.
class FlowGroupBuilder {
 public:
  bool is_empty() const { return group_.accesses.empty(); }
  // Whether the access belongs to the group so far. Moves what makes its addresses.
  bool fits(const FlowAccess& access);
  void add(const FlowAccess& access);
  // Another instruction, or an access that was added.
  void pass(llvm::Instruction& instruction);
  FlowGroup take();

 private:
  bool is_known(llvm::Value* value, llvm::SmallVectorImpl<llvm::Instruction*>& moved) const;

  FlowGroup group_;
  llvm::SmallPtrSet<const llvm::Instruction*, 16> inside_;  // behind the beginning of the first access
  size_t granules_ = 0;
};

}  // namespace heddle
