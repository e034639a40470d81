#include "comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "program/source_place.h"

namespace heddle {
namespace {

constexpr uint64_t kShown = 10;

// The number of a block is written on the edge that leads to it, and the block is logged when it is entered: a
// thread that is stopped between the two has told one more than it executed.
constexpr int64_t kOnTheEdge = 1;

// So many blocks at most, where control was lost.
constexpr uint64_t kUnknown = 100;

}  // namespace

void Comparison::block(BlockId id) {
  ends_lost_ = false;
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

// What was told by then must have been executed as far as it is certain; the decoder goes on behind what was.
// Before control was lost the thread may have executed some blocks more than the decoder could know of.
void Comparison::control_lost(uint64_t certain_blocks) {
  const uint64_t place = times_lost_ < lost_.size() ? lost_[times_lost_] : executed();
  ++times_lost_;
  ends_lost_ = true;
  const uint64_t wrong = std::min(place, difference_ ? difference_->position : place);
  if (told_ > wrong &&
      static_cast<int64_t>(wrong) + taken_back_ + kOnTheEdge < static_cast<int64_t>(certain_blocks)) {
    if (!too_certain_) too_certain_ = wrong;
    return;
  }
  if (told_ + kUnknown < place) return;  // what comes will be told as wrong
  difference_.reset();
  beyond_.clear();
  taken_back_ += static_cast<int64_t>(told_) - static_cast<int64_t>(place);
  told_ = place;
}

std::string Comparison::verdict(bool whole) const {
  using Kind = DecodeEnd::Kind;
  if (difference_) {
    return fmt::format("block {}: executed {}, decoded {}\n{}", difference_->position,
                       name(executed_[difference_->position]), name(difference_->decoded),
                       around(difference_->position));
  }
  if (too_certain_) {
    return fmt::format(
        "a handler did not come back when {} blocks had been executed, but the decoder was certain of more\n{}",
        *too_certain_, around(*too_certain_));
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
  if (static_cast<int64_t>(end_.certain_blocks) > static_cast<int64_t>(executed()) + taken_back_ + kOnTheEdge) {
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
