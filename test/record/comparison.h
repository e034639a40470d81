// Follows the decoder of one thread's log and compares each block that it tells with the one that was executed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "executed_blocks.h"
#include "program/program.h"
#include "recording/path_visitor.h"

namespace heddle {

class Comparison : public PathVisitor {
 public:
  Comparison(const Program& program, ExecutedBlocks executed)
      : program_(program), executed_(std::move(executed.blocks)), lost_(std::move(executed.lost)) {}

  void block(BlockId id) override;
  void repeated_blocks(std::span<const BlockId> round, uint64_t times) override;
  void control_lost(uint64_t certain_blocks) override;
  void end(const DecodeEnd& end) override { end_ = end; }

  uint64_t executed() const { return executed_.size(); }
  uint64_t told() const { return told_; }
  const DecodeEnd& decode_end() const { return end_; }
  bool ends_lost() const { return ends_lost_; }  // the last thing was that control was lost

  // What is wrong; empty if nothing is. `whole`: every block must have been told; else those that were told
  // must be the first of them, and those that are certain must have been executed.
  std::string verdict(bool whole) const;

 private:
  std::string around(uint64_t position) const;
  std::string name(uint32_t block) const;

  const Program& program_;
  std::vector<uint32_t> executed_;
  std::vector<uint64_t> lost_;
  size_t times_lost_ = 0;
  bool ends_lost_ = false;
  uint64_t told_ = 0;
  int64_t taken_back_ = 0;  // blocks that were told and are not in told_, minus those in it that were not told
  struct Difference {
    uint64_t position;
    uint32_t decoded;
  };
  std::optional<Difference> difference_;
  std::optional<uint64_t> too_certain_;  // how many were executed where control was lost, and more were certain
  std::vector<uint32_t> beyond_;         // the first ones that were told behind the last that was executed
  DecodeEnd end_;
};

}  // namespace heddle
