// The path of each thread through the blocks of a program that was compiled with
// -fsanitize-coverage=trace-pc-guard,no-prune, as recovered from its trace: a line for each block, thread id
// and the number of the block's guard. For check_logged_paths.py, which knows what the guards saw.
//
//   pt_paths APP PERF.DATA
//   pt_paths --steps APP PERF.DATA     all steps of the path, for people
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "driver/pt_recording.h"
#include "program/source_place.h"

namespace heddle {
namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.text().c_str());
  return 3;
}

void print_step(const Program& program, uint32_t tid, const ProgramStep& step) {
  constexpr const char* kNames[] = {"enter",  "block",       "call",       "back",  "leave",     "landed",
                                    "jumped", "interrupted", "jumped_out", "model", "model_back"};
  std::string text;
  if (const auto* function = llvm::dyn_cast<llvm::Function>(step.what)) text = function->getName().str();
  if (const auto* block = llvm::dyn_cast<llvm::BasicBlock>(step.what))
    text =
        block->getParent()->getName().str() + " " +
        std::to_string(program.id_of(*block).value - program.id_of(block->getParent()->getEntryBlock()).value) +
        " " + source_place(block->front()).text();
  if (const auto* instruction = llvm::dyn_cast<llvm::Instruction>(step.what))
    text = source_place(*instruction).text();
  std::printf("%u %u %lu %s %s\n", tid, step.core, step.tsc, kNames[static_cast<unsigned>(step.kind)],
              text.c_str());
}

int run(const char* app, const char* trace_file, bool steps) {
  Result<std::unique_ptr<Program>> program = Program::load(app);
  if (!program) return fail(program.error());
  const Result<EffectsTable> effects = EffectsTable::load();
  if (!effects) return fail(effects.error());
  const RecordPlan plan(**program, (*program)->module(), *effects, RecordPolicy::traced);
  const Result<PtTrace> trace = read_pt_trace(trace_file, **program, plan, 1, {});
  if (!trace) return fail(trace.error());
  // As the runtime numbers them, from 1 on in the order of the arrays of 4 bytes each.
  const llvm::DataLayout& layout = (*program)->module().getDataLayout();
  std::map<const llvm::Value*, uint64_t> begins;
  uint64_t count = 1;
  for (const llvm::GlobalVariable& variable : (*program)->module().globals())
    if (variable.getSection() == "__sancov_guards") {
      begins[&variable] = count;
      count += layout.getTypeAllocSize(variable.getValueType()).getFixedValue() / 4;
    }
  const auto number_of = [&](const llvm::Value& guard) {
    llvm::APInt offset(64, 0);
    const llvm::Value* base = guard.stripAndAccumulateConstantOffsets(layout, offset, true);
    if (const auto* cast = llvm::dyn_cast<llvm::ConstantExpr>(base);
        cast != nullptr && cast->getOpcode() == llvm::Instruction::IntToPtr)  // ptrtoint array + offset
      if (const auto* sum = llvm::dyn_cast<llvm::ConstantExpr>(cast->getOperand(0));
          sum != nullptr && sum->getOpcode() == llvm::Instruction::Add)
        if (const auto* by = llvm::dyn_cast<llvm::ConstantInt>(sum->getOperand(1)))
          return begins[llvm::cast<llvm::ConstantExpr>(sum->getOperand(0))->getOperand(0)] +
                 by->getZExtValue() / 4;
    return begins[base] + offset.getZExtValue() / 4;
  };
  const std::vector<PtPaths::Thread>& threads = trace->paths->threads();
  for (size_t i = 0; i < threads.size(); ++i) {
    if (!threads[i].path.trouble.empty())
      std::printf("trouble %u %s\n", trace->tids[i], threads[i].path.trouble.c_str());
    std::vector<ProgramStep> all = threads[i].path.steps;
    for (const ProgramSteps& handlers : threads[i].path.handlers)
      all.insert(all.end(), handlers.steps.begin(), handlers.steps.end());
    std::ranges::sort(all, {}, &ProgramStep::order);
    for (const ProgramStep& step : all) {
      if (steps) print_step(**program, trace->tids[i], step);
      if (steps || step.kind != ProgramStep::Kind::block) continue;
      for (const llvm::Instruction& instruction : step.as<llvm::BasicBlock>())
        if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
            call != nullptr && call->getCalledFunction() != nullptr &&
            call->getCalledFunction()->getName() == "__sanitizer_cov_trace_pc_guard")
          std::printf("%u %lu\n", trace->tids[i], number_of(*call->getArgOperand(0)));
    }
  }
  return 0;
}

}  // namespace
}  // namespace heddle

int main(int argc, char** argv) {
  if (argc == 3) return heddle::run(argv[1], argv[2], false);
  if (argc == 4) return heddle::run(argv[2], argv[3], true);
  std::fprintf(stderr, "usage: pt_paths APP PERF.DATA\n");
  return 2;
}
