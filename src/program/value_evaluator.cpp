#include "program/value_evaluator.h"

#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Support/raw_ostream.h>

#include "base/result.h"
#include "program/source_place.h"
#include "program/word_operations.h"

namespace heddle {
namespace {

std::string text_of(const llvm::Value& value) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (llvm::isa<llvm::Instruction>(value))
    value.print(out);
  else
    value.printAsOperand(out);
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

std::string where_is(const llvm::Value& value) {
  if (const auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value)) {
    const SourcePlace place = source_place(*instruction);
    const std::string function = readable_name(*instruction->getFunction());
    return place.known() ? fmt::format("{} in {}", place.text(), function) : function;
  }
  return readable_name(*llvm::cast<llvm::Argument>(value).getParent());
}

}  // namespace

ValueEvaluator::ValueEvaluator(const KnownValues& known) : known_(known) {}

void ValueEvaluator::enter(const llvm::Function& function, const llvm::CallBase* call) {
  const size_t first = cells_.size();
  cells_.resize(first + known_.places(function));
  if (call != nullptr && call->getFunctionType() == function.getFunctionType()) {
    HEDDLE_CHECK(!activations_.empty());
    for (const llvm::Argument& argument : function.args()) {
      const std::optional<uint32_t> place = known_.place(argument);
      if (place) cells_[first + *place] = read(operand(*call->getArgOperand(argument.getArgNo())));
    }
  }
  activations_.push_back({.function = &function, .call = call, .first_cell = first});
}

void ValueEvaluator::leave(const llvm::ReturnInst* returned) {
  HEDDLE_CHECK(!activations_.empty());
  const Activation top = activations_.back();
  const bool wanted = returned != nullptr && top.call != nullptr && known_.needed(*top.call);
  const Cell result = wanted ? read(operand(*returned->getReturnValue())) : Cell{};
  cells_.resize(top.first_cell);
  activations_.pop_back();
  if (wanted) write(*known_.place(*top.call), result);
}

size_t ValueEvaluator::depth() const {
  return activations_.size();
}

void ValueEvaluator::enter_block(const llvm::BasicBlock& block, const llvm::BasicBlock* from) {
  if (!llvm::isa<llvm::PHINode>(block.front())) return;
  const auto [found, added] = moves_.try_emplace(Edge(&block, from));
  if (added) found->second = make_moves(block, from);
  // All of them read before any of them is written.
  llvm::SmallVector<Cell, 8> values;
  for (const Move& move : found->second) values.push_back(read(move.from));
  for (size_t i = 0; i < values.size(); ++i) write(found->second[i].to, values[i]);
}

std::vector<ValueEvaluator::Move> ValueEvaluator::make_moves(const llvm::BasicBlock& block,
                                                             const llvm::BasicBlock* from) const {
  std::vector<Move> moves;
  for (const llvm::Instruction* instruction : known_.needed_phis(block)) {
    const auto* phi = llvm::cast<llvm::PHINode>(instruction);
    const int edge = from == nullptr ? -1 : phi->getBasicBlockIndex(from);
    HEDDLE_CHECK(edge >= 0);
    moves.push_back({*known_.place(*phi), operand(*phi->getIncomingValue(static_cast<unsigned>(edge)))});
  }
  return moves;
}

void ValueEvaluator::execute(const llvm::Instruction& instruction) {
  const auto [found, added] = step_numbers_.try_emplace(&instruction, 0);
  if (added) {
    Step made = make_step(instruction);
    if (made.kind != Step::nothing) {
      found->second = static_cast<uint32_t>(steps_.size());
      steps_.push_back(std::move(made));
    }
  }
  const Step& step = steps_[found->second];
  switch (step.kind) {
    case Step::nothing:
      return;
    case Step::copy:
      return write(step.to, read(step.inputs[0]));
    case Step::choose:
      return write(step.to, choose(step));
    case Step::compute:
      return write(step.to, compute(step));
  }
}

ValueEvaluator::Step ValueEvaluator::make_step(const llvm::Instruction& instruction) const {
  if (!known_.needed(instruction) || known_.logged(instruction) || llvm::isa<llvm::PHINode>(instruction))
    return {};
  Step step{.kind = Step::compute, .instruction = &instruction};
  const llvm::Value* to = &instruction;
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
    step.kind = Step::copy;
    to = store->getPointerOperand();
    step.inputs.push_back(operand(*store->getValueOperand()));
  } else if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
    step.kind = Step::copy;
    step.inputs.push_back(operand(*load->getPointerOperand()));
  } else {
    const std::optional<WordInputs> inputs = word_inputs(instruction, known_.layout());
    if (!inputs) return {};  // a call of a function of the program: leave() writes its result
    for (const llvm::Value* input : *inputs) step.inputs.push_back(operand(*input));
    if (llvm::isa<llvm::SelectInst>(instruction)) step.kind = Step::choose;
  }
  step.to = *known_.place(*to);
  return step;
}

void ValueEvaluator::set(const llvm::Value& value, uint64_t bits) {
  const std::optional<uint32_t> place = known_.place(value);
  if (!place) return;
  write(*place, {.bits = truncate_word(bits, *value.getType(), known_.layout()), .fault = {nullptr, none}});
}

ValueEvaluator::Operand ValueEvaluator::operand(const llvm::Value& value) const {
  if (const std::optional<uint64_t> constant = constant_word(value, known_.layout()))
    return {.value = &value, .place = kNoPlace, .constant = *constant};
  const std::optional<uint32_t> place = known_.place(value);
  HEDDLE_CHECK(place.has_value());
  return {.value = &value, .place = *place, .constant = 0};
}

ValueEvaluator::Cell ValueEvaluator::read(const Operand& operand) const {
  if (operand.place == kNoPlace) return {.bits = operand.constant, .fault = {nullptr, none}};
  Cell cell = cells_[activations_.back().first_cell + operand.place];
  if (cell.fault.getInt() == unset && cell.fault.getPointer() == nullptr) cell.fault.setPointer(operand.value);
  return cell;
}

void ValueEvaluator::write(uint32_t place, const Cell& cell) {
  cells_[activations_.back().first_cell + place] = cell;
}

// A fault in the value that is not chosen does no harm.
ValueEvaluator::Cell ValueEvaluator::choose(const Step& step) const {
  const Cell condition = read(step.inputs[0]);
  Cell chosen = read(step.inputs[condition.bits != 0 ? 1 : 2]);
  if (condition.fault.getInt() > chosen.fault.getInt()) chosen.fault = condition.fault;
  return chosen;
}

ValueEvaluator::Cell ValueEvaluator::compute(const Step& step) const {
  Cell result{.bits = 0, .fault = {nullptr, none}};
  llvm::SmallVector<uint64_t, 4> words;
  for (const Operand& input : step.inputs) {
    const Cell cell = read(input);
    words.push_back(cell.bits);
    if (cell.fault.getInt() > result.fault.getInt()) result.fault = cell.fault;
  }
  if (result.fault.getInt() != none) return result;
  const std::optional<uint64_t> word = compute_word(*step.instruction, words, known_.layout());
  if (!word) return {.bits = 0, .fault = {step.instruction, undefined}};
  return {.bits = *word, .fault = {nullptr, none}};
}

const llvm::BasicBlock* ValueEvaluator::successor(const llvm::BasicBlock& block) const {
  const llvm::Instruction& end = *block.getTerminator();
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&end);
  const Cell condition = read(operand(branch != nullptr ? *branch->getCondition() : *end.getOperand(0)));
  if (condition.fault.getInt() != none) {
    trouble_ = describe(condition);
    return nullptr;
  }
  if (branch != nullptr) return branch->getSuccessor(condition.bits != 0 ? 0 : 1);
  const auto& choice = llvm::cast<llvm::SwitchInst>(end);
  for (const auto& way : choice.cases())
    if (way.getCaseValue()->getZExtValue() == condition.bits) return way.getCaseSuccessor();
  return choice.getDefaultDest();
}

const std::string& ValueEvaluator::trouble() const {
  return trouble_;
}

std::string ValueEvaluator::describe(const Cell& cell) const {
  const llvm::Value& value = *cell.fault.getPointer();
  const std::string what = fmt::format("'{}' at {}", text_of(value), where_is(value));
  return cell.fault.getInt() == undefined
             ? fmt::format("undefined behaviour in the recorded run: {} has no result", what)
             : fmt::format("no value is known for {}", what);
}

}  // namespace heddle
