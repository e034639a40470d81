#include "comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "program/source_place.h"

namespace heddle {
namespace {

constexpr uint64_t kShown = 10;

// The number of a block is written on the edge that leads to it, and the block is logged when it is entered: a
// thread that is stopped between the two has told one more than it executed.
constexpr uint64_t kOnTheEdge = 1;

// So many blocks at most, where control was lost.
constexpr ptrdiff_t kUnknown = 100;

}  // namespace

void Comparison::block(BlockId id) {
  if (lost_) find_again(id);
  const uint64_t position = told_++;
  if (position >= executed_.size()) {
    if (beyond_.size() < kShown) beyond_.push_back(id.value);
    return;
  }
  if (!difference_ && executed_[position] != id.value) difference_ = {position, id.value};
}

void Comparison::repeated_blocks(std::span<const BlockId> round, uint64_t times) {
  uint64_t done = 0;
  for (; done < times && told_ <= executed_.size(); ++done)
    for (BlockId id : round) block(id);
  told_ += (times - done) * round.size();  // beyond all that was executed
}

// The thread left at the first block that was told and not executed, if that one was not certain.
void Comparison::control_lost(uint64_t certain_blocks) {
  lost_ = true;
  if (!difference_ || difference_->position + taken_back_ + kOnTheEdge < certain_blocks) return;
  taken_back_ += told_ - difference_->position;
  told_ = difference_->position;
  difference_.reset();
}

// Before control was lost the thread may have executed some blocks more than the decoder could know of.
void Comparison::find_again(BlockId id) {
  lost_ = false;
  const auto from = executed_.begin() + static_cast<ptrdiff_t>(std::min(told_, executed()));
  const auto to = from + std::min<ptrdiff_t>(kUnknown, executed_.end() - from);
  if (const auto found = std::find(from, to, id.value); found != to)
    told_ += static_cast<uint64_t>(found - from);
}

std::string Comparison::verdict(bool whole) const {
  using Kind = DecodeEnd::Kind;
  if (difference_) {
    return fmt::format("block {}: executed {}, decoded {}\n{}", difference_->position,
                       name(executed_[difference_->position]), name(difference_->decoded),
                       around(difference_->position));
  }
  if (end_.kind == Kind::damaged || end_.kind == Kind::trouble || end_.kind == Kind::begins_late) {
    return fmt::format("not decoded to its end: {}\n{}", end_.text, around(std::min(told_, executed())));
  }
  // Who is outside has written everything before the call.
  if (told_ < executed() && (whole || end_.kind != Kind::stopped)) {
    return fmt::format("block {}: executed {}, decoded none more\n{}", told_, name(executed_[told_]),
                       around(told_));
  }
  if (told_ > executed() && whole) {
    return fmt::format("block {}: executed none more, decoded {}\n{}", executed(), name(beyond_.front()),
                       around(executed()));
  }
  if (end_.certain_blocks > executed() + taken_back_ + kOnTheEdge) {
    return fmt::format("{} blocks are certain, but only {} were executed; the first one too many is {}\n{}",
                       end_.certain_blocks, executed(), name(beyond_.front()), around(executed()));
  }
  return "";
}

std::string Comparison::around(uint64_t position) const {
  std::string text = "  the last blocks before it:\n";
  for (uint64_t i = position - std::min(position, kShown); i < position; ++i)
    text += fmt::format("    {:>8}  {}\n", i, name(executed_[i]));
  if (position < executed_.size()) {
    text += "  executed then:\n";
    for (uint64_t i = position; i < std::min(position + kShown, executed()); ++i)
      text += fmt::format("    {:>8}  {}\n", i, name(executed_[i]));
  }
  return text;
}

std::string Comparison::name(uint32_t block) const {
  if (block >= program_.block_count()) return fmt::format("{} (no block)", block);
  const llvm::BasicBlock& of_program = program_.block(BlockId(block));
  const llvm::Instruction* at = &of_program.front();
  while (at != nullptr && !at->getDebugLoc()) at = at->getNextNode();
  const uint32_t first = program_.id_of(of_program.getParent()->front()).value;
  return fmt::format("{} ({} block {}, {})", block, readable_name(*of_program.getParent()), block - first,
                     at == nullptr ? "?" : source_place(*at).text());
}

}  // namespace heddle
