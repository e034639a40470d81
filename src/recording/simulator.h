// For tests: runs a thread of a program that is given as IR text, and writes the log that the record variant of
// it would write, by the writing half of the contracts (Segments::edges, RecordPlan), with which the decoder
// has nothing to do.
//
// Integers and pointers of at most 64 bits only. What comes from outside (results of calls, loads of what was
// not stored) is taken from `input`. Some functions outside have a meaning:
//   throw()          throws                     call_back(f)     calls f
//   call_catch(f)    the same, and catches      long_jump(b)     returns again from set_jump(b)
//   stop()           ends the thread
#pragma once

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>

#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include "program/record_plan.h"
#include "program/stored_bytes.h"
#include "recording/log_writer.h"

namespace heddle {

class Simulator {
 public:
  Simulator(const Program& program, const RecordPlan& plan, std::function<uint64_t()> input)
      : program_(program), plan_(plan), input_(std::move(input)) {}

  LogWriter log;
  std::vector<BlockId> blocks;  // as they were entered
  uint64_t most_blocks = 20'000;
  uint64_t path = 0;  // of the thread's state
  // When so many blocks were entered, a handler interrupts the thread and jumps to the outermost place that is
  // marked, if there is one.
  uint64_t interrupt_at = UINT64_MAX;
  std::vector<SignalEntry> interruptions;

  struct Killed {};
  // False if it was killed: too many blocks, or stop().
  bool run(const llvm::Function& function) {
    try {
      call_from_outside(function);
      return true;
    } catch (const Killed&) {
      return false;
    } catch (const Unwind&) {
      return false;
    }
  }

 private:
  using Piece = Segments::Piece;
  struct Unwind {};
  struct Jump {
    uint64_t buffer;
  };
  struct Mark {  // of set_jump
    uint64_t frame, position, returns;
    const llvm::CallBase* call;
    Piece piece;
  };
  struct Frame {
    const llvm::Function& function;
    const Segments& segments;
    const ControlFlow& flow;
    uint64_t number;
    Piece piece = 0;
    std::map<const llvm::Value*, uint64_t> values;
  };
  struct OnStack {
    OnStack(std::set<uint64_t>& frames, uint64_t frame) : frames_(frames), frame_(frame) {
      frames.insert(frame);
    }
    ~OnStack() { frames_.erase(frame_); }
    OnStack(const OnStack&) = delete;
    OnStack& operator=(const OnStack&) = delete;

   private:
    std::set<uint64_t>& frames_;
    uint64_t frame_;
  };
  static constexpr uint64_t kFunctions = 0x400000, kBlocks = 0x500000, kOutside = 0x7f0000000000;

  void call_from_outside(const llvm::Function& function) {
    std::vector<std::pair<uint64_t, unsigned>> arguments;
    for (const llvm::Argument& argument : function.args())
      arguments.emplace_back(5, stored_bytes(*argument.getType()));
    log.enter_from_outside(program_.id_of(function).value, arguments);
    call(function, std::vector<uint64_t>(function.arg_size(), 5));
  }

  uint64_t call(const llvm::Function& function, const std::vector<uint64_t>& arguments) {
    const FunctionPlan& plan = *plan_.function(function);
    Frame frame{.function = function, .segments = *plan.segments, .flow = plan.flow, .number = ++frames_};
    const OnStack on_stack(active_, frame.number);
    for (const llvm::Argument& argument : function.args())
      frame.values[&argument] = arguments[argument.getArgNo()];
    if (plan_.policy() == RecordPolicy::clap) log.bits(program_.id_of(function).value + 1, 32);
    start(frame, 0);
    enter_block(frame, 0, nullptr);
    for (const llvm::Instruction& instruction : function.getEntryBlock()) {
      if (!llvm::isa<llvm::AllocaInst>(instruction)) continue;
      frame.values[&instruction] = slots_ += 16;
      if (const unsigned bytes = plan_.logged(instruction)) log.value(slots_, bytes);
    }
    const llvm::Instruction* at = &function.getEntryBlock().front();
    while (at != nullptr) {
      try {
        at = step(frame, *at);
      } catch (const Jump& jump) {
        Mark& mark = marks_.at(jump.buffer);
        if (mark.frame != frame.number) throw;
        log.twice(program_.id_of(*mark.call).value, ++mark.returns, log.position() - mark.position, 7);
        frame.values[mark.call] = 7;
        frame.piece = mark.piece;
        at = behind_call(frame, *mark.call);
      }
    }
    return result_;
  }

  // The instruction that comes next; null where the function returns.
  const llvm::Instruction* step(Frame& frame, const llvm::Instruction& at) {
    if (const auto* of_call = llvm::dyn_cast<llvm::CallBase>(&at)) return step_call(frame, *of_call);
    if (at.isTerminator()) return step_terminator(frame, at);
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&at)) {
      memory_[value(frame, *store->getPointerOperand())] = value(frame, *store->getValueOperand());
    } else if (!llvm::isa<llvm::PHINode, llvm::AllocaInst>(at)) {
      frame.values[&at] = truncated(compute(frame, at), *at.getType());
      if (const unsigned bytes = plan_.logged(at)) log.value(frame.values[&at], bytes);
    }
    return at.getNextNode();
  }

  const llvm::Instruction* step_terminator(Frame& frame, const llvm::Instruction& at) {
    if (llvm::isa<llvm::ReturnInst, llvm::ResumeInst>(at)) {
      if (at.getParent()->getTerminatingMustTailCall() == nullptr) write_end(frame);
      if (llvm::isa<llvm::ResumeInst>(at)) throw Unwind{};
      const auto& returns = llvm::cast<llvm::ReturnInst>(at);
      result_ = returns.getReturnValue() == nullptr ? 0 : value(frame, *returns.getReturnValue());
      return nullptr;
    }
    const llvm::BasicBlock* target = nullptr;
    if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&at)) {
      const bool first = branch->isUnconditional() || value(frame, *branch->getCondition()) != 0;
      target = branch->getSuccessor(first ? 0 : 1);
    } else if (const auto* choice = llvm::dyn_cast<llvm::SwitchInst>(&at)) {
      target = choice->getDefaultDest();
      for (const auto& way : choice->cases())
        if (way.getCaseValue()->getZExtValue() == value(frame, *choice->getCondition()))
          target = way.getCaseSuccessor();
    } else if (const auto* jump = llvm::dyn_cast<llvm::IndirectBrInst>(&at)) {
      target = &program_.block(BlockId(value(frame, *jump->getAddress()) - kBlocks));
    } else {
      throw std::logic_error("terminator");
    }
    return go(frame, frame.flow.number(target));
  }

  const llvm::Instruction* step_call(Frame& frame, const llvm::CallBase& at) {
    const CallPlan& plan = plan_.call(at);
    const bool at_end = llvm::isa<llvm::InvokeInst>(at);
    if (frame.segments.cutting_call(frame.piece) == &at)
      write(*frame.segments.find_edge(frame.piece, frame.piece + 1));
    if (const auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&at))
      write(*edge_to(frame, *invoke->getNormalDest()));
    if (at.isMustTailCall()) write_end(frame);
    try {
      frame.values[&at] = truncated(perform(frame, at, plan), *at.getType());
    } catch (const Unwind&) {
      const auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&at);
      if (invoke == nullptr) throw;
      return arrive(frame, *edge_to(frame, *invoke->getUnwindDest()), &at);
    }
    if (at_end)
      return arrive(frame, *edge_to(frame, *llvm::cast<llvm::InvokeInst>(at).getNormalDest()), nullptr);
    return behind_call(frame, at);
  }

  const llvm::Instruction* behind_call(Frame& frame, const llvm::CallBase& at) {
    if (const auto* invoke = llvm::dyn_cast<llvm::InvokeInst>(&at))
      return arrive(frame, *edge_to(frame, *invoke->getNormalDest()), nullptr);
    if (frame.segments.cutting_call(frame.piece) == &at) start(frame, ++frame.piece);
    return at.getNextNode();
  }

  uint64_t perform(Frame& frame, const llvm::CallBase& at, const CallPlan& plan) {
    std::vector<uint64_t> arguments;
    for (const llvm::Use& use : at.args()) arguments.push_back(value(frame, *use));
    switch (plan.kind) {
      case CallPlan::Kind::inside:
        return call(*plan.info.callee, arguments);
      case CallPlan::Kind::quiet:
        return at.getType()->isVoidTy() ? 0 : input_();
      case CallPlan::Kind::pointer: {
        const uint64_t target = value(frame, *at.getCalledOperand());
        if (target < kOutside) {
          const llvm::Function& function = program_.function(FunctionId(target - kFunctions));
          log.enter(program_.id_of(function).value);
          if (plan_.function(function)->tells_arguments)
            for (const llvm::Argument& argument : function.args())
              log.value(arguments[argument.getArgNo()], stored_bytes(*argument.getType()));
          return call(function, arguments);
        }
        log.foreign(target);
        const uint64_t result = truncated(input_(), *at.getType());
        if (!at.isMustTailCall()) log.returned(0, false, 0, result, plan.result_bytes);
        return result;
      }
      case CallPlan::Kind::loud:
        break;
    }
    if (plan.sync != HEDDLE_SYNC_none) {
      std::vector<uint64_t> objects;
      for (int argument : plan.info.effects->sync_objects)
        objects.push_back(arguments[static_cast<size_t>(argument)]);
      log.sync(plan.sync, objects, tsc_ += 100);
    }
    const uint64_t position = log.position();
    const uint64_t result = truncated(outside(at.getCalledFunction()->getName(), arguments), *at.getType());
    if (plan.returns_twice) {
      marks_[arguments[0]] = {frame.number, position, 0, &at, frame.piece};
      log.twice(program_.id_of(at).value, 0, 0, 0);
      return 0;
    }
    const bool stamped = plan.sync != HEDDLE_SYNC_none && !heddle_sync_releases(plan.sync);
    log.returned(plan.sets_errno ? 11 : 0, stamped, tsc_ += 100, result, plan.result_bytes);
    for (size_t i = 0; i < plan.ranges.size(); ++i) log.bytes("written");
    return result;
  }

  uint64_t outside(llvm::StringRef name, const std::vector<uint64_t>& arguments) {
    const auto called = [&]() -> const llvm::Function& {
      return program_.function(FunctionId(arguments[0] - kFunctions));
    };
    if (name == "stop") throw Killed{};
    if (name == "throw") throw Unwind{};
    if (name == "long_jump") throw Jump{arguments[0]};
    if (name == "call_back") call_from_outside(called());
    if (name == "call_catch") {
      try {
        call_from_outside(called());
      } catch (const Unwind&) {
      }
    }
    return input_();
  }

  uint64_t compute(Frame& frame, const llvm::Instruction& at) {
    const auto operand = [&](unsigned i) { return value(frame, *at.getOperand(i)); };
    switch (at.getOpcode()) {
      case llvm::Instruction::Add:
        return operand(0) + operand(1);
      case llvm::Instruction::Sub:
        return operand(0) - operand(1);
      case llvm::Instruction::Mul:
        return operand(0) * operand(1);
      case llvm::Instruction::And:
        return operand(0) & operand(1);
      case llvm::Instruction::ZExt:
      case llvm::Instruction::Trunc:
        return operand(0);
      case llvm::Instruction::Load: {
        const auto found = memory_.find(operand(0));
        return found != memory_.end() ? found->second : input_();
      }
      case llvm::Instruction::LandingPad:
        return 0;
      case llvm::Instruction::ICmp:
        switch (llvm::cast<llvm::ICmpInst>(at).getPredicate()) {
          case llvm::CmpInst::ICMP_EQ:
            return operand(0) == operand(1);
          case llvm::CmpInst::ICMP_NE:
            return operand(0) != operand(1);
          case llvm::CmpInst::ICMP_ULT:
            return operand(0) < operand(1);
          default:
            throw std::logic_error("predicate");
        }
      default:
        throw std::logic_error("instruction");
    }
  }

  uint64_t value(Frame& frame, const llvm::Value& of) {
    if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(&of)) return number->getZExtValue();
    if (const auto* function = llvm::dyn_cast<llvm::Function>(&of))
      return function->isDeclaration() ? kOutside + 8 : kFunctions + program_.id_of(*function).value;
    if (const auto* block = llvm::dyn_cast<llvm::BlockAddress>(&of))
      return kBlocks + program_.id_of(*block->getBasicBlock()).value;
    if (llvm::isa<llvm::GlobalVariable>(of))
      return globals_.try_emplace(&of, 0x600000 + 16 * globals_.size()).first->second;
    if (llvm::isa<llvm::Constant>(of)) return 0;
    return frame.values.at(&of);
  }

  static uint64_t truncated(uint64_t number, const llvm::Type& type) {
    return type.isIntegerTy() && type.getIntegerBitWidth() < 64
               ? number & ((uint64_t{1} << type.getIntegerBitWidth()) - 1)
               : number;
  }

  // ---- what the pass adds
  const Segments::Edge* edge_to(const Frame& frame, const llvm::BasicBlock& block) const {
    return frame.segments.find_edge(frame.piece, frame.segments.first_piece(frame.flow.number(&block)));
  }

  void write(const Segments::Edge& edge) {
    if (edge.leaves_loop) {
      log.leave_loop(0, edge.exit, edge.exit_bits);
      return;
    }
    const uint64_t number = edge.fresh ? edge.value : path + edge.value;
    if (edge.bits != 0) {
      log.bits(number, edge.bits);
    } else if (edge.value != 0) {
      path = number;
    }
  }

  void write_end(const Frame& frame) {
    log.bits(path, frame.segments.end_bits(frame.piece));
    if (plan_.policy() == RecordPolicy::clap) log.bits(0xff, 8);
  }

  void start(const Frame& frame, Piece p) {
    if (frame.segments.clears_path(p)) path = 0;
  }

  const llvm::Instruction* go(Frame& frame, uint32_t block) {
    const Segments::Edge& edge = *frame.segments.find_edge(frame.piece, frame.segments.first_piece(block));
    if (edge.next_round) log.rounds(1);
    write(edge);
    return arrive(frame, edge, nullptr);
  }

  const llvm::Instruction* arrive(Frame& frame, const Segments::Edge& edge, const llvm::CallBase* landed_from) {
    const llvm::BasicBlock* from = frame.flow.block(frame.segments.block_of(frame.piece));
    frame.piece = edge.to;
    const llvm::BasicBlock& block = *frame.flow.block(frame.segments.block_of(edge.to));
    if (landed_from != nullptr) log.landed(program_.id_of(*landed_from).value);
    enter_block(frame, frame.flow.number(&block), from);
    if (edge.cut) start(frame, edge.to);
    return &block.front();
  }

  void enter_block(Frame& frame, uint32_t number, const llvm::BasicBlock* from) {
    const llvm::BasicBlock& block = *frame.flow.block(number);
    if (blocks.size() == most_blocks) throw Killed{};
    if (const auto index = frame.segments.announces(frame.piece))
      log.bits(*index, frame.segments.announce_bits());
    blocks.push_back(program_.id_of(block));
    if (blocks.size() == interrupt_at) interrupt();
    std::map<const llvm::Value*, uint64_t> phis;
    for (const llvm::PHINode& phi : block.phis())
      phis[&phi] = value(frame, *phi.getIncomingValueForBlock(from));
    for (const auto& [phi, number_of] : phis) frame.values[phi] = number_of;
  }

  void interrupt() {
    const auto is_active = [this](const auto& mark) { return active_.contains(mark.second.frame); };
    auto outermost = marks_.end();
    for (auto mark = marks_.begin(); mark != marks_.end(); ++mark)
      if (is_active(*mark) && (outermost == marks_.end() || mark->second.frame < outermost->second.frame))
        outermost = mark;
    if (outermost == marks_.end()) return;
    interruptions.push_back({.signal = 11,
                             .path_words = log.words_completed(),
                             .word = log.word(),
                             .pending_path = path,
                             .data_bytes = log.position()});
    throw Jump{outermost->first};
  }

  const Program& program_;
  const RecordPlan& plan_;
  std::function<uint64_t()> input_;
  std::map<uint64_t, uint64_t> memory_;
  std::map<uint64_t, Mark> marks_;
  std::set<uint64_t> active_;  // numbers of frames
  std::map<const llvm::Value*, uint64_t> globals_;
  uint64_t frames_ = 0, slots_ = 0x10000, tsc_ = 1000, result_ = 0;
};

}  // namespace heddle
