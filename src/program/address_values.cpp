#include "program/address_values.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <vector>

#include "program/calls.h"
#include "program/minimum_cut.h"
#include "program/stored_bytes.h"

namespace heddle {
namespace {

// Room for one log entry directly behind it, and a size that can be kept.
bool loggable(const llvm::Value* value) {
  const auto* instruction = llvm::dyn_cast_or_null<llvm::Instruction>(value);
  if (instruction == nullptr || instruction->isTerminator() || stored_bytes(*value->getType()) == 0)
    return false;
  if (llvm::isa<llvm::PHINode>(instruction)) return false;
  return !llvm::isa<llvm::CallBase>(instruction) || llvm::isa<llvm::IntrinsicInst>(instruction);
}

bool is_unknown(const Access& access) {
  return access.sharing == Sharing::shared && !access.settled;
}

bool is_own(Sharing sharing) {
  return sharing == Sharing::private_stack || sharing == Sharing::private_heap ||
         sharing == Sharing::thread_local_store;
}

// What puts values into a class of memory, and what takes them out again by the thread alone.
struct Memory {
  std::vector<const llvm::Value*> written;
  std::vector<uint32_t> copied;  // from these classes
  bool unknown = false;          // copies of memory that others write
};

// The graph of the values that addresses follow from.
class Graph {
 public:
  Graph(const llvm::Module& module, const EffectsTable& effects, const SharingResult& sharing,
        llvm::function_ref<bool(const llvm::Function&)> recorded, ValuesFor wanted)
      : module_(module), effects_(effects), recorded_(recorded), wanted_(wanted) {
    for (const Access& access : sharing.accesses) {
      if (access.kind != AccessKind::write && is_unknown(access)) sources_.insert(access.instruction);
      if (access.kind != AccessKind::write && is_own(access.sharing))
        own_reads_[access.instruction] = access.memory;
    }
    for (const ArgumentAccess& access : sharing.argument_accesses)
      if (access.sharing == Sharing::shared && is_computed(*access.call)) sources_.insert(access.call);
    find_calls();
    find_memory(sharing);
    find_passed_memory(sharing);
    for (const llvm::Function& function : module_) {
      if (!followed(function)) continue;
      for (const llvm::Instruction& instruction : llvm::instructions(function)) add_roots(instruction);
    }
    for (size_t i = 0; i < values_.size(); ++i) {
      at_ = i;
      if (values_[i].value != nullptr) {
        follow(*values_[i].value);
      } else {
        follow_memory(memory_[values_[i].memory]);
      }
    }
  }

  llvm::DenseSet<const llvm::Instruction*> cheapest() {
    give_up_roots();
    MinimumCut cut;
    for (const Node& node : values_) cut.add(loggable(node.value) ? price(*node.value) : MinimumCut::kNoPrice);
    for (size_t i = 0; i < values_.size(); ++i) {
      const auto vertex = static_cast<MinimumCut::Vertex>(i);
      if (values_[i].is_root) cut.mark_sink(vertex);
      if (is_source(values_[i])) cut.mark_source(vertex);
      for (const uint32_t user : values_[i].users) cut.connect(vertex, user);
    }
    const std::vector<bool> chosen = cut.solve();
    llvm::DenseSet<const llvm::Instruction*> out;
    for (size_t i = 0; i < values_.size(); ++i)
      if (chosen[i]) out.insert(llvm::cast<llvm::Instruction>(values_[i].value));
    return out;
  }

 private:
  struct Node {
    const llvm::Value* value = nullptr;
    uint32_t memory = 0;  // without a value: this class of memory
    bool is_root = false;
    std::vector<uint32_t> users;  // that addresses follow from
  };

  bool followed(const llvm::Function& function) const {
    return !function.isDeclarationForLinker() && recorded_(function);
  }
  bool is_source(const llvm::Value& value) const {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value);
    return instruction != nullptr && sources_.contains(instruction);
  }

  bool is_source(const Node& node) const {
    return node.value != nullptr ? is_source(*node.value) : memory_.lookup(node.memory).unknown;
  }

  // What it gives follows from its arguments and from memory that it reads: it is not recorded.
  bool is_computed(const llvm::CallBase& call) const {
    const CallInfo info = classify_call(call, effects_);
    return info.cls == CallClass::known_external && info.effects->pure;
  }

  void find_calls() {
    for (const llvm::Function& function : module_)
      if (followed(function) && function.hasAddressTaken())
        reached_by_pointer_[function.getFunctionType()].push_back(&function);
    for (const llvm::Function& function : module_) {
      if (!followed(function)) continue;
      for (const llvm::Instruction& instruction : llvm::instructions(function)) {
        const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (call == nullptr) continue;
        for (const llvm::Function* callee : callees(*call)) calls_[callee].push_back(call);
      }
    }
  }

  // Functions of the program that the call may lead to.
  llvm::ArrayRef<const llvm::Function*> callees(const llvm::CallBase& call) {
    const CallInfo info = classify_call(call, effects_);
    if (info.cls == CallClass::indirect) return reached_by_pointer_[call.getFunctionType()];
    if (info.cls != CallClass::inside || !followed(*info.callee)) return {};
    return only_callee_ = info.callee;
  }

  // What is stored, and what is copied from one class to another: by the program and by known functions.
  void find_memory(const SharingResult& sharing) {
    for (size_t i = 0; i < sharing.accesses.size(); ++i) {
      const Access& access = sharing.accesses[i];
      if (access.kind == AccessKind::read) continue;
      Memory& memory = memory_[access.memory];
      if (llvm::isa<llvm::MemTransferInst>(access.instruction)) {
        const Access& from = sharing.accesses[i - 1];  // append_accesses(): the read, then the write
        copy(memory, is_unknown(from), from.memory);
      } else if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(access.instruction)) {
        memory.written.push_back(store->getValueOperand());
      } else if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(access.instruction)) {
        memory.written.push_back(update->getValOperand());
      } else if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(access.instruction)) {
        memory.written.push_back(exchange->getNewValOperand());
      }
    }
    const auto& arguments = sharing.argument_accesses;
    for (size_t begin = 0, end = 0; begin < arguments.size(); begin = end) {
      while (end < arguments.size() && arguments[end].call == arguments[begin].call) ++end;
      for (size_t to = begin; to < end; ++to) {
        if (arguments[to].effect == nullptr || !arguments[to].effect->writes) continue;
        for (size_t from = begin; from < end; ++from)
          if (from != to)
            copy(memory_[arguments[to].memory], arguments[from].sharing == Sharing::shared,
                 arguments[from].memory);
      }
    }
  }

  // Calls write to the callee's frame: what is passed by value, and what comes behind the named arguments.
  void find_passed_memory(const SharingResult& sharing) {
    const auto copy_to = [&](const ArgumentAccess& from, uint32_t to) {
      copy(memory_[to], from.sharing == Sharing::shared, from.memory);
    };
    for (const ArgumentAccess& access : sharing.argument_accesses) {
      if (access.effect != nullptr) continue;
      for (const llvm::Function* callee : callees(*access.call)) {
        const bool named = access.argument < callee->arg_size();
        if (!named && callee->isVarArg()) copy_to(access, sharing.variadic.at(callee));
        if (named && callee->getArg(access.argument)->hasByValAttr())
          copy_to(access, sharing.by_value.at(callee->getArg(access.argument)));
      }
    }
    for (const llvm::Function& callee : module_) {
      if (!callee.isVarArg() || !calls_.contains(&callee)) continue;
      Memory& area = memory_[sharing.variadic.at(&callee)];
      for (const llvm::CallBase* call : calls_[&callee])
        for (const llvm::Use& given :
             llvm::drop_begin(call->args(), std::min(size_t{callee.arg_size()}, size_t{call->arg_size()})))
          if (!call->isByValArgument(call->getArgOperandNo(&given))) area.written.push_back(given);
    }
  }

  static void copy(Memory& to, bool unknown, uint32_t from) {
    if (unknown) {
      to.unknown = true;
    } else {
      to.copied.push_back(from);
    }
  }

  Node* node(const llvm::Value& value) {
    if (!llvm::isa<llvm::Instruction, llvm::Argument>(value)) return nullptr;
    const auto [found, added] = numbers_.try_emplace(&value, static_cast<uint32_t>(values_.size()));
    if (added) values_.push_back({.value = &value});
    return &values_[found->second];
  }

  // ---- roots

  void add_root(const llvm::Value* value) {
    if (Node* root = node(*value)) root->is_root = true;
  }

  void add_roots(const llvm::Instruction& instruction) {
    if (wanted_ == ValuesFor::blocks) {
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) add_block_roots(*call);
      return;
    }
    if (const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&instruction)) return add_root(pointer);
    if (const auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction))
      return add_root(update->getPointerOperand());
    if (const auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
      return add_root(exchange->getPointerOperand());
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) add_call_roots(*call);
  }

  void add_call_roots(const llvm::CallBase& call) {
    const CallInfo info = classify_call(call, effects_);
    if (info.cls == CallClass::inside) return;
    add_root(call.getCalledOperand());
    if (const auto* memory = llvm::dyn_cast<llvm::MemIntrinsic>(&call)) add_root(memory->getLength());
    for (const llvm::Use& argument : call.args())
      if (argument->getType()->isPtrOrPtrVectorTy()) add_root(argument);
    if (info.effects == nullptr) return;
    add_extent_roots(call, info.effects->allocation_size);
    for (const MemoryEffect& effect : info.effects->memory) add_extent_roots(call, effect.extent);
  }

  void add_block_roots(const llvm::CallBase& call) {
    const CallInfo info = classify_call(call, effects_);
    if (info.effects == nullptr) return;
    add_extent_roots(call, info.effects->allocation_size);
    if (info.effects->allocation == AllocationKind::reallocate ||
        info.effects->allocation == AllocationKind::release)
      add_root(call.getArgOperand(static_cast<unsigned>(info.effects->allocation_pointer)));
  }

  void add_extent_roots(const llvm::CallBase& call, const Extent& extent) {
    const bool product = extent.kind == Extent::Kind::product;
    if (!product && extent.kind != Extent::Kind::argument) return;
    add_root(call.getArgOperand(static_cast<unsigned>(extent.first)));
    if (product) add_root(call.getArgOperand(static_cast<unsigned>(extent.second)));
  }

  // Vectors of addresses that follow from vectors of shared memory: nothing on the way can be logged.
  void give_up_roots() {
    std::vector<bool> hopeless(values_.size());
    std::vector<uint32_t> open;
    const auto reach = [&](uint32_t number) {
      if (hopeless[number] || loggable(values_[number].value)) return;
      hopeless[number] = true;
      values_[number].is_root = false;
      open.push_back(number);
    };
    for (uint32_t i = 0; i < values_.size(); ++i)
      if (is_source(values_[i])) reach(i);
    while (!open.empty()) {
      const uint32_t number = open.back();
      open.pop_back();
      for (const uint32_t user : values_[number].users) reach(user);
    }
  }

  // ---- from values to what they follow from

  // The value that is being followed uses this one.
  void want(const llvm::Value* value) {
    if (Node* used = node(*value)) used->users.push_back(static_cast<uint32_t>(at_));
  }

  void want_memory(uint32_t memory) {
    const auto [found, added] = memory_numbers_.try_emplace(memory, static_cast<uint32_t>(values_.size()));
    if (added) values_.push_back({.memory = memory});
    values_[found->second].users.push_back(static_cast<uint32_t>(at_));
  }

  void follow_memory(const Memory& memory) {
    for (const llvm::Value* value : memory.written) want(value);
    for (const uint32_t from : memory.copied) want_memory(from);
  }

  void follow(const llvm::Value& value) {
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(&value)) return follow(*argument);
    const auto& instruction = llvm::cast<llvm::Instruction>(value);
    if (is_source(value)) return;
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      const auto* slot = llvm::dyn_cast<llvm::AllocaInst>(load->getPointerOperand());
      if (slot != nullptr && is_variable(*slot)) return follow_slot(*slot);
    }
    if (const auto own = own_reads_.find(&instruction); own != own_reads_.end()) {
      want_memory(own->second);
    } else if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      follow_call(*call);
    } else if (!llvm::isa<llvm::LoadInst, llvm::AllocaInst, llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst,
                          llvm::LandingPadInst>(instruction)) {
      for (const llvm::Use& operand : instruction.operands()) want(operand);
    }
  }

  void follow(const llvm::Argument& argument) {
    const auto calls = calls_.find(argument.getParent());
    if (calls == calls_.end()) return;
    for (const llvm::CallBase* call : calls->second)
      if (argument.getArgNo() < call->arg_size()) want(call->getArgOperand(argument.getArgNo()));
  }

  // Nobody but these loads and stores knows where it is.
  static bool is_variable(const llvm::AllocaInst& slot) {
    return llvm::all_of(slot.users(), [&](const llvm::User* user) {
      const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
      return llvm::isa<llvm::LoadInst>(user) || (store != nullptr && store->getValueOperand() != &slot) ||
             llvm::isa<llvm::LifetimeIntrinsic>(user);
    });
  }

  void follow_slot(const llvm::AllocaInst& slot) {
    for (const llvm::User* user : slot.users())
      if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
          store && store->getPointerOperand() == &slot)
        want(store->getValueOperand());
  }

  void follow_call(const llvm::CallBase& call) {
    if (classify_call(call, effects_).cls == CallClass::intrinsic || is_computed(call))
      for (const llvm::Use& argument : call.args()) want(argument);
    for (const llvm::Function* callee : callees(call))
      for (const llvm::BasicBlock& block : *callee)
        if (const auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
            end && end->getReturnValue())
          want(end->getReturnValue());
  }

  // ---- prices

  int64_t price(const llvm::Value& value) {
    constexpr unsigned kDeepest = 10;  // so that the sum of all prices is small
    constexpr int64_t kWriting = 2;    // in bytes: what it costs to write anything
    const auto& instruction = llvm::cast<llvm::Instruction>(value);
    const llvm::BasicBlock* block = instruction.getParent();
    const llvm::Function* function = block->getParent();
    if (depths_of_.insert(function).second) {
      const llvm::DominatorTree dominators(const_cast<llvm::Function&>(*function));
      const llvm::LoopInfo loops(dominators);
      for (const llvm::BasicBlock& each : *function) depths_[&each] = loops.getLoopDepth(&each);
    }
    return (kWriting + stored_bytes(instruction)) << (3 * std::min(depths_.lookup(block), kDeepest));
  }

  const llvm::Module& module_;
  const EffectsTable& effects_;
  llvm::function_ref<bool(const llvm::Function&)> recorded_;
  const ValuesFor wanted_;
  llvm::DenseSet<const llvm::Instruction*> sources_;
  llvm::DenseMap<const llvm::Function*, std::vector<const llvm::CallBase*>> calls_;
  // Functions whose address is taken, by type: calls through pointers lead to those of their type.
  llvm::DenseMap<const llvm::FunctionType*, std::vector<const llvm::Function*>> reached_by_pointer_;
  const llvm::Function* only_callee_ = nullptr;                   // what callees() gave last
  llvm::DenseMap<const llvm::Instruction*, uint32_t> own_reads_;  // of the thread's own memory: its class
  llvm::DenseMap<uint32_t, Memory> memory_;
  llvm::DenseMap<uint32_t, uint32_t> memory_numbers_;  // in values_
  std::vector<Node> values_;
  llvm::DenseMap<const llvm::Value*, uint32_t> numbers_;
  size_t at_ = 0;
  llvm::DenseSet<const llvm::Function*> depths_of_;
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> depths_;
};

}  // namespace

llvm::DenseSet<const llvm::Instruction*> address_values(
    const llvm::Module& module, const EffectsTable& effects, const SharingResult& sharing,
    llvm::function_ref<bool(const llvm::Function&)> recorded, ValuesFor wanted) {
  return Graph(module, effects, sharing, recorded, wanted).cheapest();
}

}  // namespace heddle
