#include "driver/core_slice.h"

#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace heddle {
namespace {

constexpr size_t kMostValues = 2000;  // followed from one instruction
constexpr uint64_t kMostWords = 512;  // of one event

class Slicer {
 public:
  Slicer(const ProgramRegions& regions, const std::vector<heddle_event>& events)
      : regions_(regions), program_(regions.program()), events_(events), distance_(events.size(), kNotInSlice) {
    for (size_t i = 0; i < events.size(); ++i) {
      const heddle_event& event = events[i];
      if (event.site != HEDDLE_NO_SITE) at_site_[{event.thread, event.site}].push_back(i);
      if (writes(event)) each_word(event, [&](uint64_t word) { written_[word].push_back(i); });
    }
  }

  std::vector<uint32_t> run(const SliceStart& start) {
    reach_sources(start.instruction, start.thread, start.event, 1);
    while (!open_.empty()) {
      const size_t event = open_.front();
      open_.pop_front();
      expand(event);
    }
    return std::move(distance_);
  }

  std::set<size_t> first_of(std::span<const SliceStart> starts) {
    for (const SliceStart& start : starts) reach_sources(start.instruction, start.thread, start.event, 1);
    for (size_t i = 0; i < open_.size(); ++i) reach_through_own(open_[i]);
    return {open_.begin(), open_.end()};
  }

 private:
  static bool writes(const heddle_event& event) {
    return event.kind == HEDDLE_EVENT_write || event.kind == HEDDLE_EVENT_update ||
           (event.kind == HEDDLE_EVENT_call && event.order != HEDDLE_CALL_reads);
  }
  static bool reads(const heddle_event& event) {
    return event.kind == HEDDLE_EVENT_read || event.kind == HEDDLE_EVENT_update ||
           (event.kind == HEDDLE_EVENT_call && event.order != HEDDLE_CALL_writes);
  }

  template <class Visit>
  static void each_word(const heddle_event& event, Visit visit) {
    if (event.address == 0 || event.kind >= HEDDLE_EVENT_sync) return;
    const uint64_t first = event.address / 8,
                   last = (event.address + std::max<uint64_t>(event.size, 1) - 1) / 8;
    for (uint64_t word = first; word <= last && word - first < kMostWords; ++word) visit(word);
  }

  void reach(size_t event, uint32_t distance) {
    if (distance_[event] <= distance) return;
    distance_[event] = distance;
    open_.push_back(event);
  }

  void expand(size_t event) {
    const uint32_t next = distance_[event] + 1;
    if (reads(events_[event]))
      each_word(events_[event], [&](uint64_t word) {
        if (const std::optional<size_t> write = last_write(word, event)) reach(*write, next);
      });
    if (events_[event].site < program_.instruction_count())
      reach_sources(InstructionId(events_[event].site), events_[event].thread, event, next);
  }

  // A read that saw what its own thread had written: what that was made of decided.
  void reach_through_own(size_t event) {
    if (!reads(events_[event])) return;
    each_word(events_[event], [&](uint64_t word) {
      const std::optional<size_t> write = last_write(word, event);
      if (write && events_[*write].thread == events_[event].thread &&
          events_[*write].site < program_.instruction_count())
        reach_sources(InstructionId(events_[*write].site), events_[event].thread, *write, 1);
    });
  }

  std::optional<size_t> last_write(uint64_t word, size_t before) const {
    const auto found = written_.find(word);
    if (found == written_.end()) return std::nullopt;
    const auto behind = std::ranges::lower_bound(found->second, before);
    return behind != found->second.begin() ? std::optional(*std::prev(behind)) : std::nullopt;
  }

  // The last executions before of the reads that an instruction depends on.
  void reach_sources(InstructionId instruction, uint32_t thread, size_t before, uint32_t distance) {
    for (const uint32_t site : sources(instruction)) {
      const auto found = at_site_.find({thread, site});
      if (found == at_site_.end()) continue;
      const auto behind = std::ranges::lower_bound(found->second, before);
      if (behind != found->second.begin()) reach(*std::prev(behind), distance);
    }
  }

  // Accesses whose values reach the operands of an instruction, or the branches that decide whether it comes.
  const std::vector<uint32_t>& sources(InstructionId instruction) {
    const auto [found, fresh] = sources_.try_emplace(instruction.value);
    std::vector<uint32_t>& out = found->second;
    if (!fresh) return out;
    std::set<const llvm::Value*> seen;
    std::vector<const llvm::Value*> open;
    std::set<uint32_t> sites;
    const auto add = [&](const llvm::Value* value) {
      if (!llvm::isa<llvm::Constant>(value) && seen.size() < kMostValues && seen.insert(value).second)
        open.push_back(value);
    };
    const llvm::Instruction& first = program_.instruction(instruction);
    for (const llvm::Value* operand : first.operands()) add(operand);
    add_branches(first, add);
    while (!open.empty()) {
      const llvm::Value* value = open.back();
      open.pop_back();
      if (const auto* argument = llvm::dyn_cast<llvm::Argument>(value)) {
        add_given(*argument, add);
        continue;
      }
      const auto* inner = llvm::dyn_cast<llvm::Instruction>(value);
      if (inner == nullptr) continue;
      if (inner->mayReadFromMemory() && !is_local(*inner)) sites.insert(program_.id_of(*inner).value);
      follow(*inner, add);
    }
    out.assign(sites.begin(), sites.end());
    return out;
  }

  static const llvm::AllocaInst* local_place(const llvm::Value* pointer) {
    return llvm::dyn_cast<llvm::AllocaInst>(pointer->stripInBoundsOffsets());
  }
  static bool is_local(const llvm::Instruction& instruction) {
    const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    return load != nullptr && local_place(load->getPointerOperand()) != nullptr;
  }

  template <class Add>
  void follow(const llvm::Instruction& instruction, Add add) const {
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      if (const llvm::AllocaInst* place = local_place(load->getPointerOperand()))
        for (const llvm::User* user : place->users())
          if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
              store && store->getPointerOperand() == place)
            add(store->getValueOperand());
      // A shared one is an access of its own: what it depends on is found from there.
      return;
    }
    if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) {
      const llvm::Function* callee = call->getCalledFunction();
      if (callee != nullptr && !callee->isDeclaration())
        for (const llvm::BasicBlock& block : *callee)
          if (const auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
              end != nullptr && end->getReturnValue() != nullptr)
            add(end->getReturnValue());
    }
    for (const llvm::Value* operand : instruction.operands()) add(operand);
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction))
      for (const llvm::BasicBlock* from : phi->blocks()) add_condition(*from, add);
  }

  template <class Add>
  void add_condition(const llvm::BasicBlock& block, Add add) const {
    if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
        branch != nullptr && branch->isConditional())
      add(branch->getCondition());
    if (const auto* choice = llvm::dyn_cast<llvm::SwitchInst>(block.getTerminator()))
      add(choice->getCondition());
  }

  template <class Add>
  void add_branches(const llvm::Instruction& instruction, Add add) const {
    const ControlFlow& flow = regions_.of(program_.id_of(*instruction.getFunction())).flow();
    for (const auto& [from, to] : flow.controlled_by(flow.number(instruction.getParent())))
      add_condition(*flow.block(from), add);
  }

  template <class Add>
  void add_given(const llvm::Argument& argument, Add add) const {
    for (const llvm::User* user : argument.getParent()->users())
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
          call != nullptr && call->getCalledFunction() == argument.getParent() &&
          argument.getArgNo() < call->arg_size())
        add(call->getArgOperand(argument.getArgNo()));
  }

  const ProgramRegions& regions_;
  const Program& program_;
  const std::vector<heddle_event>& events_;
  std::vector<uint32_t> distance_;
  std::deque<size_t> open_;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<size_t>> at_site_;  // thread, site: ascending
  std::unordered_map<uint64_t, std::vector<size_t>> written_;             // by word, ascending
  std::map<uint32_t, std::vector<uint32_t>> sources_;
};

}  // namespace

std::vector<uint32_t> dependence_distances(const ProgramRegions& regions,
                                           const std::vector<heddle_event>& events, const SliceStart& start) {
  return Slicer(regions, events).run(start);
}

std::set<size_t> deciding_accesses(const ProgramRegions& regions, const std::vector<heddle_event>& events,
                                   std::span<const SliceStart> starts) {
  return starts.empty() ? std::set<size_t>() : Slicer(regions, events).first_of(starts);
}

}  // namespace heddle
