#include "pt/program_path.h"

#include <fmt/core.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "program/source_place.h"

namespace heddle {
namespace {

constexpr uint64_t kLongestInstruction = 15;

// Is behind a call that begins at `call`?
bool is_behind(uint64_t address, uint64_t call) {
  return address > call && address - call <= kLongestInstruction;
}

bool is_real_call(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call != nullptr && !llvm::isa<llvm::IntrinsicInst>(call) && !call->isInlineAsm();
}

}  // namespace

ProgramPath PathFollower::follow(const PtThread& thread, uint64_t stopped_at, bool ended) {
  out_ = {};
  stack_.clear();
  interrupted_.clear();
  lost_ = false;
  order_ = 0;
  const PtSpan* before = nullptr;
  for (const PtSpan& span : thread.spans) {
    if (span.begin_tsc >= thread.usable_to || span.begins_in_gap) {
      lose("trace data is missing from here on");
      break;
    }
    core_ = span.core;
    tsc_ = span.begin_tsc;
    span_end_ = span.end_tsc;
    if (before != nullptr) continue_from(*before, span);
    auto value = span.values.begin();
    for (size_t i = 0; i < span.blocks.size() && !lost_; ++i) {
      const PtBlock& block = span.blocks[i];
      run(block, block.begin - load_base_, block.last() - load_base_);
      for (; !lost_ && value != span.values.end() && value->behind <= i + 1; ++value)
        note_value(value->ip - load_base_, value->value);
    }
    if (lost_) break;
    if (span.end == PtSpan::End::left && !stack_.empty() &&
        (stack_.back().calls || span.blocks.empty() || span.blocks.back().end == PtBlock::End::jump))
      go_outside();
    if (lost_) break;
    if (span.end == PtSpan::End::lost) {
      lose("trace data is missing from here on");
      break;
    }
    before = &span;
  }
  if (ended && !lost_ && interrupted_.empty()) return_from_tails();
  const bool in_handler = !interrupted_.empty();
  while (!interrupted_.empty()) end_handler();
  if (in_handler && out_.trouble.empty()) out_.trouble = "the thread ends in a signal handler";
  // By a call that ends it (pthread_exit), or that it was cancelled in, functions may be left running.
  out_.ended = stack_.empty() || (ended && !lost_ && !in_handler && stack_.back().outside);
  for (auto each = stack_.rbegin(); each != stack_.rend(); ++each) {
    const llvm::Instruction* at = each->call;
    if (!each->calls && each == stack_.rbegin())
      if (const auto id = code_.instruction_at(stopped_at != 0 ? stopped_at - load_base_ : last_))
        at = &program_.instruction(*id);
    out_.stack.push_back(at);
  }
  return std::move(out_);
}

// After a span at the end of which the program was interrupted: by a handler, or by nothing but another thread.
// A handler that returns does so to code outside, which gives control back where it was taken.
void PathFollower::continue_from(const PtSpan& before, const PtSpan& span) {
  if (span.blocks.empty() && span.end != PtSpan::End::interrupted) return;
  const uint64_t begin = span.blocks.empty() ? span.target : span.blocks.front().begin;
  if (before.end == PtSpan::End::interrupted && begin != before.target)
    begin_handler(before.target);
  else if (!interrupted_.empty() && stack_.empty() && begin == interrupted_.back().address)
    end_handler();
}

void PathFollower::begin_handler(uint64_t interrupted_at) {
  interrupted_.push_back({.stack = std::exchange(stack_, {}),
                          .path = {std::exchange(out_.steps, {}), std::exchange(out_.values, {})},
                          .address = interrupted_at,
                          .last = last_});
}

void PathFollower::end_handler() {
  if (out_.handlers.size() < interrupted_.size()) out_.handlers.resize(interrupted_.size());
  ProgramSteps& handlers = out_.handlers[interrupted_.size() - 1];
  Interrupted before = std::move(interrupted_.back());
  interrupted_.pop_back();
  for (ToldValue& value : out_.values) value.steps += handlers.steps.size();
  handlers.steps.insert(handlers.steps.end(), out_.steps.begin(), out_.steps.end());
  handlers.values.insert(handlers.values.end(), out_.values.begin(), out_.values.end());
  out_.steps = std::move(before.path.steps);
  out_.values = std::move(before.path.values);
  stack_ = std::move(before.stack);
  last_ = before.last;
}

void PathFollower::step(ProgramStep::Kind kind, const llvm::Value& what, EnteredBy by) {
  out_.blocks += kind == ProgramStep::Kind::block ? 1 : 0;
  out_.steps.push_back({.kind = kind, .by = by, .core = core_, .order = order_++, .what = &what, .tsc = tsc_});
}

void PathFollower::lose(std::string why) {
  if (out_.trouble.empty()) out_.trouble = std::move(why);
  lost_ = true;
}

void PathFollower::run(const PtBlock& block, uint64_t begin, uint64_t last) {
  const MachineFunction* code = code_.code_at(begin);
  if (code == nullptr || blocks_.of(code->function).empty()) {
    if (!lost_) go_outside();
    return;
  }
  arrive(begin);
  if (lost_ || stack_.empty()) return;
  const std::vector<MachineBlock>& machine = blocks_.of(stack_.back().code->function);
  const FunctionBlocks& named = blocks_of(*stack_.back().function);
  // Where ends of blocks were merged with the next one, that begins in the middle, behind their calls.
  const auto comes_later = [&](const MachineBlock& each) {
    const auto entry = named.entries.find(each.address);
    return block.end == PtBlock::End::call && entry != named.entries.end() && entry->second > last;
  };
  if (const MachineBlock* later = stack_.back().later; later != nullptr && !comes_later(*later)) {
    stack_.back().later = nullptr;
    pass_machine_block(*later);
  }
  for (auto each = std::ranges::lower_bound(machine, begin, {}, &MachineBlock::address);
       each != machine.end() && each->address <= last; ++each) {
    stack_.back().later = comes_later(*each) ? &*each : nullptr;
    if (stack_.back().later == nullptr) pass_machine_block(*each);
    if (lost_) return;
  }
  last_ = last;
  if (block.end == PtBlock::End::call) make_call(last, false);
  if (block.end == PtBlock::End::ret) leave();
}

// The thread is where a PTWRITE instruction stands, as certainly as where a call does.
void PathFollower::note_value(uint64_t address, uint64_t value) {
  const PtwriteSite site = code_.ptwrite_at(address);
  if (site.kind == PtwriteKind::none || stack_.empty()) return;
  const llvm::Instruction& of = program_.instruction(*code_.instruction_at(address));
  Activation& top = stack_.back();
  const auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&of);
  const llvm::BasicBlock& block = invoke != nullptr ? *invoke->getNormalDest() : *of.getParent();
  if (top.function != block.getParent()) return;
  if (top.block != &block) move_for_certain(block);
  out_.values.push_back({.steps = out_.steps.size(), .of = &of, .site = site, .value = value});
}

// A jump from the program to there is its last call.
void PathFollower::go_outside() {
  if (stack_.empty()) return;
  if (!stack_.back().calls) make_call(last_, true);
  if (lost_ || stack_.back().outside) return;
  if (stack_.back().call != nullptr) step(ProgramStep::Kind::call, *stack_.back().call);
  if (stack_.back().model) step(ProgramStep::Kind::model, *stack_.back().function);
  if (stack_.back().call != nullptr || stack_.back().model) out_.steps.back().tsc = span_end_;
  stack_.back().outside = true;
}

void PathFollower::come_back(Activation& from) {
  if (!from.outside) return;
  if (from.call != nullptr) step(ProgramStep::Kind::back, *from.call);
  if (from.model) step(ProgramStep::Kind::model_back, *from.function);
}

// Control is at `begin`, in code of the program.
void PathFollower::arrive(uint64_t begin) {
  const MachineFunction& code = *code_.code_at(begin);
  const bool at_entry = begin == code.range.begin;
  if (stack_.empty()) {
    if (!at_entry)
      return lose(fmt::format("the thread is in the middle of a function that nobody has called: {} at {:#x}",
                              program_.function(code.function).getName().str(), begin));
    return enter(code, EnteredBy::outside);
  }
  if (at_entry && has_returned_outside()) {
    return_from_tails();
    if (lost_) return;
    if (stack_.empty()) return enter(code, EnteredBy::outside);
  }
  Activation& top = stack_.back();
  if (!top.calls) {
    if (top.code == &code && !at_entry) return;
    if (!at_entry) return lose("a jump into the middle of another function");
    make_call(last_, true);  // a jump to the beginning of a function is a call that is the last
    if (lost_) return;
    return enter(code, EnteredBy::call);
  }
  if (!top.outside && at_entry && !is_behind(begin, top.call_address))
    return enter(code, top.call != nullptr && top.call->getCalledFunction() == nullptr ? EnteredBy::pointer
                                                                                       : EnteredBy::call);
  // By way of the procedure linkage table.
  if (top.outside && at_entry && top.call != nullptr &&
      top.call->getCalledFunction() == &program_.function(code.function) &&
      out_.steps.back().kind == ProgramStep::Kind::call) {
    out_.steps.pop_back();
    top.outside = false;
    return enter(code, EnteredBy::call);
  }
  if (resume(begin)) return;
  if (at_entry) return enter(code, EnteredBy::callback);
  if (jump_back(begin)) return;
  if (jump_out_of_handler(begin)) return;
  lose(fmt::format("control is where no call leads to: {} at {:#x}",
                   program_.function(code.function).getName().str(), begin));
}

// To a function that the handler has interrupted, or another one before it.
bool PathFollower::jump_out_of_handler(uint64_t begin) {
  const auto is_marked = [&](const Interrupted& each) {
    return std::ranges::any_of(each.stack, [&](const Activation& activation) {
      return std::ranges::any_of(activation.marks,
                                 [&](const Activation::Mark& mark) { return is_behind(begin, mark.address); });
    });
  };
  const auto to = std::ranges::find_if(interrupted_.rbegin(), interrupted_.rend(), is_marked);
  const llvm::CallBase* jump = stack_.back().call;
  if (to == interrupted_.rend() || jump == nullptr) return false;
  const auto level = static_cast<size_t>(interrupted_.rend() - to) - 1;
  while (interrupted_.size() > level) {
    step(ProgramStep::Kind::jumped_out, *jump);
    const uint64_t address = interrupted_.back().address - load_base_;
    end_handler();
    if (const auto id = code_.instruction_at(address))
      step(ProgramStep::Kind::interrupted, program_.instruction(*id));
  }
  step(ProgramStep::Kind::jumped_out, *jump);
  return jump_back(begin);
}

bool PathFollower::jump_back(uint64_t begin) {
  for (size_t depth = stack_.size(); depth != 0; --depth) {
    Activation& activation = stack_[depth - 1];
    for (const Activation::Mark& mark : activation.marks) {
      if (!is_behind(begin, mark.address)) continue;
      stack_.resize(depth);
      step(ProgramStep::Kind::jumped, *mark.call);
      out_.steps.back().depth = static_cast<uint32_t>(depth);
      activation.block = mark.call->getParent();
      activation.begun = true;
      activation.last_call = mark.call;
      activation.hints.clear();
      activation.calls = activation.outside = activation.model = activation.tail = false;
      activation.call = nullptr;
      return true;
    }
  }
  return false;
}

bool PathFollower::is_landing_pad(const llvm::InvokeInst& invoke, uint64_t begin) {
  const llvm::BasicBlock& pad = *invoke.getUnwindDest();
  // Blocks without any code (unreachable ones) stand at the same address.
  const auto here = std::ranges::equal_range(blocks_.of(program_.id_of(*invoke.getFunction())), begin, {},
                                             &MachineBlock::address);
  return std::ranges::any_of(here, [&](const MachineBlock& each) {
    // One without code of its own is part of what comes behind it.
    return each.block == &pad || (each.block != nullptr && is_silent(pad) && is_way(pad, *each.block));
  });
}

// A call has come back, or an exception has come to one that waits for it.
bool PathFollower::resume(uint64_t begin) {
  for (size_t depth = stack_.size(); depth != 0; --depth) {
    Activation& activation = stack_[depth - 1];
    const bool here = begin >= activation.code->range.begin && begin < activation.code->range.end;
    if (!here || !activation.calls) continue;
    // Behind one that throws the landing pad may stand.
    const bool returned = is_behind(begin, activation.call_address) && !activation.tail &&
                          (activation.call == nullptr || !activation.call->doesNotReturn());
    const auto* invoke = llvm::dyn_cast_or_null<llvm::InvokeInst>(activation.call);
    if (!returned && invoke == nullptr) continue;
    // To the landing pad, if it is one: so it is where it stands behind a call that cannot have come back.
    if (!returned && !is_behind(begin, activation.call_address) && !is_landing_pad(*invoke, begin)) continue;
    // Activations above that end with a call outside ended with it.
    while (stack_.size() > depth) {
      const bool tail = stack_.back().tail;
      if (tail) come_back(stack_.back());
      if (!returned || !tail) {
        if (returned) return false;
        stack_.pop_back();
        continue;
      }
      return_from_top();
      if (lost_) return true;
    }
    if (!returned) {
      step(ProgramStep::Kind::landed, *invoke);
      out_.steps.back().depth = static_cast<uint32_t>(stack_.size());
    } else {
      come_back(activation);
      if (activation.call != nullptr && activation.call->hasFnAttr(llvm::Attribute::ReturnsTwice) &&
          std::ranges::find(activation.marks, activation.call_address, &Activation::Mark::address) ==
              activation.marks.end())
        activation.marks.push_back({activation.call_address, activation.call});
    }
    activation.calls = activation.outside = activation.model = false;
    activation.call = nullptr;
    if (!returned) move_to(*invoke->getUnwindDest());
    return true;
  }
  // The outermost one may have ended by a call outside.
  return false;
}

void PathFollower::enter(const MachineFunction& code, EnteredBy by) {
  const llvm::Function& function = program_.function(code.function);
  step(ProgramStep::Kind::enter, function, by);
  stack_.push_back({.code = &code, .function = &function});
}

// Functions whose last act was a call that has left the program: nothing of them is seen again when it comes
// back to code outside.
void PathFollower::return_from_tails() {
  while (!lost_ && !stack_.empty() && stack_.back().tail && stack_.back().calls) {
    come_back(stack_.back());
    stack_.back().outside = false;
    return_from_top();
  }
}

// The function on top ended with a call outside, which has come back to code outside: what it called calls
// nothing, and who waits for it is not in the program, else control would have come there.
bool PathFollower::has_returned_outside() const {
  const Activation& top = stack_.back();
  if (!top.tail || !top.outside || top.call == nullptr || top.call->getCalledFunction() == nullptr ||
      may_call_back_(*top.call))
    return false;
  const auto waits = std::ranges::find(stack_.rbegin(), stack_.rend(), false, &Activation::tail);
  return waits == stack_.rend() || waits->outside;
}

// The function on top returns, and with it those that ended with calling it.
void PathFollower::leave() {
  do {
    return_from_top();
  } while (!lost_ && !stack_.empty() && stack_.back().tail);
}

void PathFollower::return_from_top() {
  Activation& top = stack_.back();
  if (top.block != nullptr && !llvm::isa<llvm::ReturnInst>(top.block->getTerminator())) {
    // To a block that returns, through such as left no code.
    const llvm::BasicBlock* end = nullptr;
    std::deque<const llvm::BasicBlock*> queue = {top.block};
    llvm::DenseSet<const llvm::BasicBlock*> seen = {top.block};
    const auto look = [&](const llvm::BasicBlock& from, bool silent_only) {
      for (const llvm::BasicBlock* next : llvm::successors(&from)) {
        if (end != nullptr || (silent_only && !is_silent(*next)) || !seen.insert(next).second) continue;
        if (llvm::isa<llvm::ReturnInst>(next->getTerminator())) end = next;
        queue.push_back(next);
      }
    };
    while (!queue.empty() && end == nullptr) {
      const llvm::BasicBlock* block = queue.front();
      queue.pop_front();
      look(*block, true);
    }
    if (end == nullptr) look(*top.block, false);  // copies of the last block stand behind others
    queue = {top.block};
    seen = {top.block};
    while (!queue.empty() && end == nullptr) {
      const llvm::BasicBlock* block = queue.front();
      queue.pop_front();
      look(*block, false);
    }
    if (end != nullptr) move_for_certain(*end);
    if (end == nullptr || top.block != end) return lose("a function returns where the program does not");
  }
  step(ProgramStep::Kind::leave, *top.function);
  stack_.pop_back();
}

const PathFollower::FunctionBlocks& PathFollower::blocks_of(const llvm::Function& function) {
  const auto [found, added] = function_blocks_.try_emplace(&function);
  FunctionBlocks& out = found->second;
  if (!added) return out;
  const std::vector<MachineBlock>& machine = blocks_.of(program_.id_of(function));
  const auto machine_block_at = [&](uint64_t address) -> const MachineBlock* {
    const auto after = std::ranges::upper_bound(machine, address, {}, &MachineBlock::address);
    return after == machine.begin() ? nullptr : &*std::prev(after);
  };
  for (const MachineBlock& each : machine)
    if (each.block != nullptr) out.named.insert(each.block);
  for (const llvm::BasicBlock& block : function) {
    // Computations may be moved; accesses and calls keep their order.
    llvm::DenseMap<uint64_t, uint64_t> first;
    for (const bool memory : {true, false})
      for (const llvm::Instruction& instruction : block) {
        if (!first.empty() || instruction.mayReadOrWriteMemory() != memory) continue;
        for (const CodeRange& range : code_.code_of(program_.id_of(instruction)))
          if (const MachineBlock* there = machine_block_at(range.begin);
              there != nullptr && there->block == &block)
            first.try_emplace(there->address, range.begin);
      }
    for (const auto& [machine_block, begin] : first) out.entries[machine_block] = begin;
    if (!first.empty()) continue;
    for (const MachineBlock& each : machine)
      if (each.block == &block) out.entries[each.address] = each.address;
  }
  return out;
}

// Through silent blocks.
bool PathFollower::is_way(const llvm::BasicBlock& from, const llvm::BasicBlock& to) {
  llvm::DenseSet<const llvm::BasicBlock*> seen;
  std::vector<const llvm::BasicBlock*> open = {&from};
  while (!open.empty()) {
    const llvm::BasicBlock* block = open.back();
    open.pop_back();
    for (const llvm::BasicBlock* next : llvm::successors(block)) {
      if (next == &to) return true;
      if (is_silent(*next) && seen.insert(next).second) open.push_back(next);
    }
  }
  return false;
}

void PathFollower::move_to(const llvm::BasicBlock& to) {
  Activation& top = stack_.back();
  if (top.block == nullptr) {  // the entry block is always first
    const llvm::BasicBlock& entry = top.function->getEntryBlock();
    step(ProgramStep::Kind::block, entry);
    top.block = &entry;
    if (&entry == &to) return;
  }
  std::vector<const llvm::BasicBlock*> way;
  if (find_way(to, way)) go(way);  // else merged code: no evidence
}

void PathFollower::go(const std::vector<const llvm::BasicBlock*>& way) {
  Activation& top = stack_.back();
  for (const llvm::BasicBlock* block : way) step(ProgramStep::Kind::block, *block);
  top.block = way.back();
  top.begun = false;
  top.last_call = nullptr;
  top.hints.clear();
}

// Through silent blocks, or also through those that the hints name.
bool PathFollower::find_way(const llvm::BasicBlock& to, std::vector<const llvm::BasicBlock*>& way) {
  const Activation& top = stack_.back();
  if (is_way(*top.block, to)) {
    way = {&to};
    return true;
  }
  const llvm::BasicBlock* at = top.block;
  for (const llvm::BasicBlock* hint : top.hints)
    if (hint != &to && is_way(*at, *hint)) {
      way.push_back(hint);
      at = hint;
    }
  way.push_back(&to);
  return at != top.block && is_way(*at, to);
}

// The thread is there. If the code that it came through does not say how, copies of blocks have no names.
void PathFollower::move_for_certain(const llvm::BasicBlock& to) {
  move_to(to);
  Activation& top = stack_.back();
  if (top.block == &to) return;
  llvm::DenseMap<const llvm::BasicBlock*, const llvm::BasicBlock*> before;
  std::deque<const llvm::BasicBlock*> queue = {top.block};
  while (!queue.empty() && !before.contains(&to)) {
    const llvm::BasicBlock* block = queue.front();
    queue.pop_front();
    for (const llvm::BasicBlock* next : llvm::successors(block))
      if (!next->isLandingPad() && before.try_emplace(next, block).second) queue.push_back(next);
  }
  if (!before.contains(&to)) return;
  std::vector<const llvm::BasicBlock*> way;
  for (const llvm::BasicBlock* block = &to;;) {
    way.push_back(block);
    block = before.lookup(block);
    if (block == top.block) break;
  }
  std::ranges::reverse(way);
  go(way);
}

void PathFollower::pass_machine_block(const MachineBlock& block) {
  Activation& top = stack_.back();
  if (top.block == nullptr) move_to(top.function->getEntryBlock());
  if (block.block == nullptr) return;
  if (!blocks_of(*top.function).entries.contains(block.address)) {
    constexpr size_t kMostHints = 64;
    if (block.block != top.block && top.hints.size() < kMostHints) top.hints.push_back(block.block);
    return;
  }
  if (block.block != top.block || top.begun) move_to(*block.block);  // also another round of the same
  if (block.block == top.block) top.begun = true;
}

const llvm::CallBase* PathFollower::call_at(uint64_t address) {
  const Activation& top = stack_.back();
  if (const auto id = address != 0 ? code_.instruction_at(address) : std::nullopt) {
    const llvm::Instruction& instruction = program_.instruction(*id);
    if (is_real_call(instruction)) return llvm::cast<llvm::CallBase>(&instruction);
    return nullptr;  // made by the back end for something else
  }
  // Merged: the next call of the block.
  bool behind = top.last_call == nullptr;
  for (const llvm::Instruction& instruction : *top.block) {
    if (behind && is_real_call(instruction)) return llvm::cast<llvm::CallBase>(&instruction);
    behind |= &instruction == top.last_call;
  }
  return nullptr;
}

void PathFollower::make_call(uint64_t address, bool tail) {
  Activation& top = stack_.back();
  if (top.block == nullptr) move_to(top.function->getEntryBlock());
  const bool model = address != 0 && code_.is_replaced_call(address);
  const llvm::CallBase* call = model ? nullptr : call_at(address);
  if (call != nullptr && call->getParent() != top.block) {
    move_for_certain(*call->getParent());
    if (top.block != call->getParent())
      return lose(fmt::format("a call that does not lie on the way: {}", source_place(*call).text()));
  }
  top.calls = true;
  top.outside = false;
  top.tail = tail;
  top.call = call;
  top.call_address = address;
  top.model = model;
  if (call != nullptr) top.last_call = call;
}

}  // namespace heddle
