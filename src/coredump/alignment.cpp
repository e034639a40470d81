#include "coredump/alignment.h"

#include <llvm/IR/InstrTypes.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace heddle {
namespace {

class Follower {
 public:
  Follower(const ExecutionIndex& index, std::span<const heddle_move> moves, uint32_t thread,
           const ProgramRegions& regions)
      : index_(index), moves_(moves), thread_(thread), regions_(regions), program_(regions.program()) {}

  std::vector<Alignment> run() {
    const bool unknown = any_unknown();
    for (at_ = 0; at_ < moves_.size() && !(best_ && best_->exact && !unknown); ++at_) {
      const heddle_move& move = moves_[at_];
      if (move.thread != thread_) continue;
      if (move.kind == HEDDLE_MOVE_block && move.id < program_.block_count()) enter(BlockId(move.id));
      if (move.kind == HEDDLE_MOVE_return && move.id < program_.function_count()) leave(FunctionId(move.id));
    }
    return std::move(all_);
  }

 private:
  struct Frame {
    FunctionId function;
    uint32_t block = 0;
    std::vector<std::pair<uint32_t, uint64_t>> loops;  // header, how often entered; outermost first
    std::map<uint32_t, uint32_t> calls;                // functions called from here since the block was entered
    bool matches = false;                              // this frame and all around it are those of the index
    bool lost = false;
  };

  bool any_unknown() const {
    return std::ranges::any_of(index_.frames, [](const IndexFrame& frame) {
      return !frame.at || std::ranges::any_of(frame.counts, [](const auto& count) { return !count; });
    });
  }

  // Where the n-th frame of the index stands, is the run's frame there, in the same iterations?
  bool stands_at(const Frame& frame, const IndexFrame& wanted) const {
    if (!wanted.at) return true;
    if (regions_.block_of(*wanted.at) != frame.block) return false;
    for (size_t i = 0; i < wanted.counts.size() && i < frame.loops.size(); ++i)
      if (wanted.counts[i] && *wanted.counts[i] != frame.loops[i].second) return false;
    return true;
  }

  // The call of the index can be the n-th call of this function since the block was entered.
  bool is_call(const IndexFrame& wanted, FunctionId callee, uint32_t number) const {
    if (!wanted.at) return true;
    const llvm::Instruction& at = program_.instruction(*wanted.at);
    const llvm::Function* function = &program_.function(callee);
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&at);
    if (call == nullptr || call->getCalledFunction() != function)
      return true;  // by a pointer, or through foreign code
    uint32_t before = 0;
    for (const llvm::Instruction& instruction : *at.getParent()) {
      const auto* other = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (other == nullptr || other->getCalledFunction() != function) continue;
      ++before;
      if (other == call) break;
    }
    return before == number;
  }

  void enter(BlockId id) {
    const llvm::BasicBlock& block = program_.block(id);
    const FunctionId function = program_.id_of(*block.getParent());
    if (regions_.is_library_model(function)) return;
    const FunctionRegions& regions = regions_.of(function);
    const uint32_t number = regions.flow().number(&block);
    if (number == 0)
      push(function);
    else
      go_on(function, number);
    if (stack_.empty()) return;
    Frame& top = stack_.back();
    if (top.matches && !top.lost && stack_.size() == index_.frames.size() &&
        stands_at(top, index_.frames.back()))
      found_exact();
  }

  void push(FunctionId function) {
    Frame frame{.function = function, .loops = {}, .calls = {}};
    const size_t depth = stack_.size();
    if (depth == 0) {
      frame.matches = !index_.frames.empty() && index_.frames[0].function == function;
    } else {
      Frame& caller = stack_.back();
      const uint32_t number = ++caller.calls[function.value];
      frame.matches = caller.matches && !caller.lost && depth < index_.frames.size() &&
                      index_.frames[depth].function == function &&
                      stands_at(caller, index_.frames[depth - 1]) &&
                      is_call(index_.frames[depth - 1], function, number);
    }
    if (frame.matches) came_to(depth + 1, std::nullopt, at_);
    stack_.push_back(std::move(frame));
    update_loops(stack_.back(), 0);
  }

  void go_on(FunctionId function, uint32_t number) {
    // What lies above was left without a return: by an exception or a jump.
    size_t keep = stack_.size();
    while (keep > 0) {
      const Frame& frame = stack_[keep - 1];
      const auto& next = regions_.of(function).flow().successors(frame.block);
      if (frame.function == function && std::ranges::find(next, number) != next.end()) break;
      --keep;
    }
    if (keep == 0) return;
    stack_.resize(keep);
    Frame& frame = stack_.back();
    const uint32_t from = frame.block;
    const std::vector<std::pair<uint32_t, uint64_t>> before = frame.loops;
    update_loops(frame, number);
    if (frame.matches && !frame.lost && !still_possible(frame, index_.frames[stack_.size() - 1])) {
      frame.lost = true;
      const FunctionRegions& regions = regions_.of(function);
      came_to(stack_.size(), program_.id_of(*regions.flow().block(from)->getTerminator()), at_);
    }
  }

  void update_loops(Frame& frame, uint32_t number) const {
    const std::vector<uint32_t>& headers = regions_.of(frame.function).loops_of(number);
    std::vector<std::pair<uint32_t, uint64_t>> loops;
    for (const uint32_t header : headers) {
      const auto known = std::ranges::find(frame.loops, header, [](const auto& loop) { return loop.first; });
      loops.emplace_back(header, known != frame.loops.end() ? known->second : 0);
    }
    for (auto& [header, count] : loops)
      if (header == number) ++count;
    frame.loops = std::move(loops);
    frame.block = number;
    frame.calls.clear();
  }

  bool still_possible(const Frame& frame, const IndexFrame& wanted) const {
    if (!wanted.at) return true;
    const FunctionRegions& regions = regions_.of(frame.function);
    const uint32_t target = regions_.block_of(*wanted.at);
    const std::vector<uint32_t>& headers = regions.loops_of(target);
    for (size_t i = 0; i < headers.size(); ++i) {
      const auto known =
          std::ranges::find(frame.loops, headers[i], [](const auto& loop) { return loop.first; });
      if (known == frame.loops.end()) return regions.may_reach(frame.block, headers[i]);
      if (i >= wanted.counts.size() || !wanted.counts[i])
        return true;  // any iteration: nothing is lost inside the loop
      if (known->second > *wanted.counts[i]) return false;
      if (known->second < *wanted.counts[i]) return true;  // there will be another round, or the loop is left
    }
    return regions.may_reach(frame.block, target);
  }

  void leave(FunctionId function) {
    if (regions_.is_library_model(function)) return;
    for (size_t i = stack_.size(); i > 0; --i) {
      if (stack_[i - 1].function != function) continue;
      const Frame& frame = stack_[i - 1];
      // With an unknown count nothing was lost before, and the point never came.
      if (frame.matches && !frame.lost && i >= (best_ ? best_->frames : 0) && !(best_ && best_->exact)) {
        const FunctionRegions& regions = regions_.of(function);
        came_to(i, program_.id_of(*regions.flow().block(frame.block)->getTerminator()), at_);
      }
      stack_.resize(i - 1);
      return;
    }
  }

  void came_to(size_t frames, std::optional<InstructionId> predicate, uint64_t move) {
    if (best_ && (best_->exact || best_->frames > frames)) return;
    is_best({.exact = false, .move = move, .thread = thread_, .frames = frames, .predicate = predicate});
  }

  // The thread is in the block; it is looked at where the instruction comes: before its event, or when the
  // block is left.
  void found_exact() {
    uint64_t move = at_ + 1;
    const IndexFrame& last = index_.frames.back();
    size_t depth = 0;
    size_t calls = calls_before(last);
    for (; move < moves_.size(); ++move) {
      const heddle_move& next = moves_[move];
      if (next.thread != thread_) continue;
      if (next.kind == HEDDLE_MOVE_return) {
        if (depth == 0) break;
        --depth;
      } else if (next.kind == HEDDLE_MOVE_block) {
        const llvm::BasicBlock& block = program_.block(BlockId(next.id));
        // What the call itself does comes behind the point.
        if (depth == 0 && (!block.isEntryBlock() || calls-- == 0)) break;
        if (block.isEntryBlock()) ++depth;
      } else if (depth == 0 && last.at && next.id != HEDDLE_NO_SITE && next.id >= last.at->value) {
        break;
      }
    }
    is_best({.exact = true,
             .move = std::min<uint64_t>(move, moves_.size() - 1),
             .thread = thread_,
             .frames = index_.frames.size(),
             .predicate = std::nullopt});
  }

  // Of functions of the program, in the block of a frame before the instruction where it stands; of one that is
  // no call, more than there are.
  size_t calls_before(const IndexFrame& frame) const {
    const auto enters = [](const llvm::Instruction& instruction) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      return call != nullptr && !call->isInlineAsm() &&
             (call->getCalledFunction() == nullptr || !call->getCalledFunction()->isDeclaration());
    };
    if (!frame.at || !enters(program_.instruction(*frame.at))) return SIZE_MAX;
    const llvm::Instruction& at = program_.instruction(*frame.at);
    return static_cast<size_t>(std::count_if(at.getParent()->begin(), at.getIterator(),
                                             [&](const llvm::Instruction& i) { return enters(i); }));
  }

  void is_best(const Alignment& found) {
    const auto measure = [](const Alignment& alignment) {
      return std::tuple(alignment.exact, alignment.frames, alignment.predicate.has_value());
    };
    if (best_ && measure(found) < measure(*best_)) return;
    if (best_ && measure(found) > measure(*best_)) all_.clear();
    best_ = found;
    all_.push_back(found);
  }

  const ExecutionIndex& index_;
  const std::span<const heddle_move> moves_;
  const uint32_t thread_;
  const ProgramRegions& regions_;
  const Program& program_;
  uint64_t at_ = 0;
  std::vector<Frame> stack_;
  std::optional<Alignment> best_;
  std::vector<Alignment> all_;  // as good as that
};

}  // namespace

std::vector<Alignment> alignments(const ExecutionIndex& index, std::span<const heddle_move> moves,
                                  uint32_t thread, const ProgramRegions& regions) {
  return Follower(index, moves, thread, regions).run();
}

void visit_calls(std::span<const heddle_move> moves, const ProgramRegions& regions, const CallVisitor& visit) {
  const Program& program = regions.program();
  std::map<uint32_t, std::vector<FunctionId>> stacks;  // by thread
  // What lies above was left, also by an exception or a jump.
  const auto unwind_to = [](std::vector<FunctionId>& stack, FunctionId function) {
    for (size_t i = stack.size(); i > 0; --i)
      if (stack[i - 1] == function) return stack.resize(i);
  };
  for (const heddle_move& move : moves) {
    std::vector<FunctionId>& stack = stacks[move.thread];
    if (move.kind == HEDDLE_MOVE_return && move.id < program.function_count()) {
      const FunctionId function(move.id);
      unwind_to(stack, function);
      if (!stack.empty() && stack.back() == function) stack.pop_back();
    } else if (move.kind == HEDDLE_MOVE_block && move.id < program.block_count()) {
      const llvm::BasicBlock& block = program.block(BlockId(move.id));
      const FunctionId function = program.id_of(*block.getParent());
      if (regions.is_library_model(function)) continue;
      if (!block.isEntryBlock()) {
        unwind_to(stack, function);
        continue;
      }
      visit(move.thread, stack.empty() ? std::nullopt : std::optional(stack.back()), function);
      stack.push_back(function);
    }
  }
}

std::set<FunctionId> functions_that_begin(std::span<const heddle_move> moves, const ProgramRegions& regions) {
  std::set<FunctionId> out;
  visit_calls(moves, regions, [&](uint32_t, std::optional<FunctionId> caller, FunctionId callee) {
    if (!caller) out.insert(callee);
  });
  return out;
}

std::vector<uint32_t> threads_that_begin_with(FunctionId function, std::span<const heddle_move> moves,
                                              const ProgramRegions& regions) {
  std::set<uint32_t> begun, first, later;
  visit_calls(moves, regions, [&](uint32_t thread, std::optional<FunctionId> caller, FunctionId callee) {
    const bool begins = begun.insert(thread).second;
    if (!caller && callee == function) (begins ? first : later).insert(thread);
  });
  const std::set<uint32_t>& found = first.empty() ? later : first;
  return {found.begin(), found.end()};
}

}  // namespace heddle
