#include "recording/function_code.h"

#include <algorithm>

namespace heddle {
namespace {

bool never_returns(const llvm::CallBase& call, const CallPlan& plan) {
  return call.doesNotReturn() || (plan.info.effects != nullptr && plan.info.effects->no_return);
}

bool told_at_entry(const RecordPlan& plan, const llvm::Instruction& instruction) {
  const auto* object = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
  return object != nullptr && object->isStaticAlloca() && plan.logged(instruction) != 0;
}

}  // namespace

FunctionCode::FunctionCode(const Program& program, const RecordPlan& plan, const llvm::Function& function)
    : function_(function), plan_(*plan.function(function)), id_(program.id_of(function)) {
  const Segments& segments = *plan_.segments;
  llvm::BasicBlock::const_iterator at;
  for (Piece p = 0; p < segments.piece_count(); ++p) add_piece(program, plan, p, at);
  for (const Segments::Edge& edge : segments.edges()) pieces_[edge.from].edge_writes |= edge.bits != 0;
  find_plain_rounds();
}

// `at` is behind the piece before, if that was of the same block.
void FunctionCode::add_piece(const Program& program, const RecordPlan& plan, Piece p,
                             llvm::BasicBlock::const_iterator& at) {
  const Segments& segments = *plan_.segments;
  const uint32_t number = segments.block_of(p);
  const llvm::BasicBlock& block = *plan_.flow.block(number);
  const llvm::CallBase* last = segments.cutting_call(p);
  PieceCode piece{.block = &block,
                  .id = program.id_of(block),
                  .first_action = static_cast<uint32_t>(actions_.size()),
                  .last_action = 0,
                  .starts_block = segments.first_piece(number) == p,
                  .has_phis = plan.policy() != RecordPolicy::clap && !plan.known().needed_phis(block).empty(),
                  .announced = segments.announces(p).has_value(),
                  .ends_block = last == nullptr,
                  .edge_writes = false,
                  .loop = segments.counted_loop_of(p),
                  .plain_round = -1};
  if (piece.starts_block) at = block.begin();
  if (p == 0)
    for (const llvm::Instruction& instruction : block)
      if (told_at_entry(plan, instruction)) add_value(plan, instruction);
  while (at != block.end()) {
    const llvm::Instruction& instruction = *at++;
    if (!told_at_entry(plan, instruction))
      add_action(plan, instruction, &instruction == last || instruction.isTerminator());
    if (&instruction == last) break;
  }
  piece.last_action = static_cast<uint32_t>(actions_.size());
  pieces_.push_back(piece);
}

void FunctionCode::add_value(const RecordPlan& plan, const llvm::Instruction& instruction) {
  actions_.push_back({.kind = Action::Kind::value,
                      .bytes = static_cast<uint8_t>(plan.logged(instruction)),
                      .instruction = &instruction});
}

void FunctionCode::add_action(const RecordPlan& plan, const llvm::Instruction& instruction, bool cuts) {
  if (plan.logged(instruction) != 0) return add_value(plan, instruction);
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  const CallPlan* of_call = call == nullptr ? nullptr : &plan.call(*call);
  if (of_call != nullptr && of_call->kind != CallPlan::Kind::quiet) {
    const auto kind = of_call->kind == CallPlan::Kind::inside    ? Action::Kind::inside
                      : of_call->kind == CallPlan::Kind::pointer ? Action::Kind::pointer
                                                                 : Action::Kind::loud;
    actions_.push_back({.kind = kind,
                        .cuts = cuts,
                        .can_return = !never_returns(*call, *of_call),
                        .last_of_all = call->isMustTailCall(),
                        .instruction = call,
                        .plan = of_call});
    return;
  }
  if (of_call != nullptr && never_returns(*call, *of_call)) {
    actions_.push_back({.kind = Action::Kind::no_return, .instruction = call, .plan = of_call});
    return;
  }
  if (plan.policy() != RecordPolicy::clap && !llvm::isa<llvm::PHINode>(instruction) &&
      plan.known().needed(instruction))
    actions_.push_back({.kind = Action::Kind::compute, .instruction = &instruction});
}

void FunctionCode::find_plain_rounds() {
  const Segments& segments = *plan_.segments;
  for (const Segments::CountedLoop& loop : segments.counted_loops()) {
    const bool plain = std::all_of(loop.pieces.begin(), loop.pieces.end(), [&](Piece p) {
      return pieces_[p].first_action == pieces_[p].last_action && !pieces_[p].has_phis && !segments.known(p);
    });
    if (!plain) continue;
    pieces_[loop.header].plain_round = static_cast<int32_t>(plain_rounds_.size());
    std::vector<BlockId>& round = plain_rounds_.emplace_back();
    Piece p = loop.header;
    do {
      p = *segments.inside(loop, p);
      round.push_back(pieces_[p].id);
    } while (p != loop.header);
  }
}

}  // namespace heddle
