#include "build/unit_code.h"

#include <fmt/core.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/DebugInfoMetadata.h>

#include "abi/model_section.h"
#include "base/files.h"
#include "build/compile_module.h"
#include "build/numbered_module.h"
#include "image/elf_file.h"
#include "instrument/instrument.h"
#include "instrument/ptwrite.h"

namespace heddle {
namespace {

// Where a function was written in the source, which linking leaves alone.
std::string origin_of(const llvm::Function& function) {
  const llvm::DISubprogram* scope = function.getSubprogram();
  return scope != nullptr
             ? fmt::format("{}:{}:{}", scope->getFilename().str(), scope->getLine(), scope->getName().str())
             : "";
}

// A block begins with the first of its instructions that is still there.
std::vector<const llvm::BasicBlock*> match_blocks(const llvm::Function& unit,
                                                  const std::vector<MatchedInstruction>& matched) {
  const std::vector<const llvm::Instruction*> from = counted_instructions(unit);
  std::vector<const llvm::BasicBlock*> out;
  size_t next = 0;
  for (const llvm::BasicBlock& block : unit) {
    const llvm::BasicBlock* found = nullptr;
    for (; next < from.size() && from[next]->getParent() == &block; ++next)
      if (found == nullptr && matched[next].instruction != nullptr)
        found = matched[next].instruction->getParent();
    out.push_back(found);
  }
  return out;
}

}  // namespace

std::string UnitModule::bitcode() const {
  std::string out;
  llvm::raw_string_ostream stream(out);
  llvm::WriteBitcodeToFile(*module, stream, /*ShouldPreserveUseListOrder=*/true);
  return out;
}

UnitCode::UnitCode(const Program& program, const RecordPlan* ptwrite) : program_(program), ptwrite_(ptwrite) {
  for (const llvm::Function& function : program.module()) {
    if (function.isDeclaration()) continue;
    const llvm::StringRef name = function.getName();
    by_name_.emplace(name.str(), &function);
    // Linking gives local functions that meet a number.
    if (const size_t dot = name.rfind('.'); function.hasLocalLinkage() && dot != llvm::StringRef::npos)
      by_name_.emplace(name.substr(0, dot).str(), &function);
  }
}

Result<UnitCode> UnitCode::open(const Program& program, const RecordPlan* ptwrite) {
  const ElfFile executable = HEDDLE_TRY(ElfFile::open(program.binary()));
  const std::optional<std::string_view> section = executable.section(HEDDLE_SECTION_MODULE);
  if (!section) return Error{.what = "there is no program model inside", .where = program.binary()};
  UnitCode out(program, ptwrite);
  out.records_ = HEDDLE_TRY(decode_records(*section, program.binary().string()));
  return out;
}

size_t UnitCode::size() const {
  return std::min(records_.size(), program_.units().size());
}

Result<UnitModule> UnitCode::load(size_t number) {
  UnitModule out{.context = std::make_unique<llvm::LLVMContext>()};
  const std::string& source = program_.units()[number].source;
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(records_[number].body, source), *out.context);
  if (!module) return Error{.what = llvm::toString(module.takeError()), .where = source};
  out.module = std::move(*module);
  for (const llvm::Function& function : *out.module)
    if (!function.isDeclaration())
      if (LinkedFunction found = find_linked(function); found.function != nullptr)
        out.linked[function.getName().str()] = std::move(found);
  if (ptwrite_ != nullptr) {
    add_ptwrites(out);
    HEDDLE_TRY(verify_instrumented(*out.module, "ptwrite"));
  }
  return out;
}

LinkedFunction UnitCode::find_linked(const llvm::Function& function) {
  const auto [first, last] = by_name_.equal_range(function.getName().str());
  LinkedFunction best;
  for (auto at = first; at != last; ++at) {
    const llvm::Function* candidate = at->second;
    if (candidate->hasLocalLinkage() != function.hasLocalLinkage()) continue;
    if (function.hasLocalLinkage() && taken_.contains(candidate)) continue;
    if (best.function != nullptr && program_.id_of(*best.function).index() < program_.id_of(*candidate).index())
      continue;
    if (origin_of(*candidate) != origin_of(function)) continue;
    std::vector<MatchedInstruction> matched = match_instructions(function, *candidate);
    if (matched.empty()) continue;
    std::vector<const llvm::BasicBlock*> blocks = match_blocks(function, matched);
    best = {candidate, std::move(matched), std::move(blocks)};
  }
  if (best.function != nullptr) taken_.insert(best.function);
  return best;
}

void UnitCode::add_ptwrites(UnitModule& unit) const {
  for (llvm::Function& function : *unit.module) {
    const auto found = unit.linked.find(function.getName().str());
    if (function.isDeclaration() || found == unit.linked.end()) continue;
    std::vector<MatchedInstruction>& matched = found->second.instructions;
    llvm::DenseMap<llvm::Instruction*, const llvm::Instruction*> in_program;
    llvm::DenseMap<const llvm::Instruction*, MatchedInstruction> known;
    size_t position = 0;
    for (const llvm::Instruction* instruction : counted_instructions(function)) {
      const MatchedInstruction& match = matched[position++];
      known[instruction] = match;
      if (match.instruction != nullptr && !match.replaced)
        in_program[const_cast<llvm::Instruction*>(instruction)] = match.instruction;
    }
    PlacedPtwrites placed;
    insert_ptwrites(function, *found->second.function, in_program, *ptwrite_, placed);
    matched.clear();
    for (const llvm::Instruction* instruction : counted_instructions(function)) {
      if (const auto put = placed.find(instruction); put != placed.end())
        matched.push_back({.instruction = put->second.of, .ptwrite = put->second.site});
      else
        matched.push_back(known.lookup(instruction));
    }
  }
}

Result<std::vector<fs::path>> compile_units_with_ptwrite(const Program& program, const fs::path& folder) {
  const EffectsTable effects = HEDDLE_TRY(EffectsTable::load());
  const RecordPlan plan(program, program.module(), effects, RecordPolicy::standard);
  UnitCode units = HEDDLE_TRY(UnitCode::open(program, &plan));
  std::vector<fs::path> out;
  const fs::path bitcode = folder / "unit.bc";
  for (size_t i = 0; i < units.size(); ++i) {
    const UnitModule unit = HEDDLE_TRY(units.load(i));
    HEDDLE_TRY(write_file(bitcode, unit.bitcode()));
    out.push_back(folder / fmt::format("unit{}.o", i));
    HEDDLE_TRY(compile_module(bitcode, program.units()[i], out.back()));
  }
  return out;
}

}  // namespace heddle
