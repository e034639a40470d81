#include "driver/program_summary.h"

#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InstIterator.h>

#include <numeric>

#include "program/control_flow.h"
#include "program/path_numbering.h"

namespace heddle {
namespace {

SourcePlace place_of(const llvm::Function& function) {
  SourcePlace place{.function = readable_name(function)};
  const llvm::DISubprogram* scope = function.getSubprogram();
  if (scope == nullptr) return place;
  const std::filesystem::path file(scope->getFilename().str());
  place.file = (file.is_absolute() ? file : std::filesystem::path(scope->getDirectory().str()) / file)
                   .lexically_normal();
  place.line = scope->getLine();
  return place;
}

// Paths as the recorder will number them.
void count_paths(const llvm::Function& function, const EffectsTable& effects, FunctionSummary& summary) {
  const ControlFlow flow(function);
  const PathNumbering paths(
      flow, {.cuts = [&](const llvm::CallBase& call) { return cuts_path(classify_call(call, effects)); }});
  summary.paths = paths.path_count();
  summary.paths_split = paths.split_for_size();
}

std::string what_is_known(const Effects& effects) {
  if (effects.sync != HEDDLE_SYNC_none) return std::string(sync_kind_name(effects.sync));
  return effects.describe();
}

void note_call(ProgramSummary& summary, const llvm::CallBase& call, const EffectsTable& effects) {
  const CallInfo info = classify_call(call, effects);
  ++summary.calls[static_cast<size_t>(info.cls)];
  std::map<std::string, CalleeSummary>* group = info.cls == CallClass::synchronisation
                                                    ? &summary.synchronisation
                                                : info.cls == CallClass::allocation       ? &summary.allocation
                                                : info.cls == CallClass::known_external   ? &summary.known
                                                : info.cls == CallClass::unknown_external ? &summary.unknown
                                                                                          : nullptr;
  if (group == nullptr || info.callee == nullptr) return;
  CalleeSummary& callee = (*group)[info.callee->getName().str()];
  if (callee.places.empty()) {
    callee.name = readable_name(*info.callee);
    if (info.effects != nullptr) callee.known = what_is_known(*info.effects);
  }
  callee.places.push_back(user_place(call));
}

Json to_json(const SourcePlace& place) {
  Json json = {{"function", place.function}};
  if (place.known()) json.update({{"file", place.file}, {"line", place.line}, {"column", place.column}});
  return json;
}

Json to_json(const std::map<std::string, CalleeSummary>& callees) {
  Json list = Json::array();
  for (const auto& [symbol, callee] : callees) {
    Json places = Json::array();
    for (const SourcePlace& place : callee.places) places.push_back(to_json(place));
    list.push_back(
        {{"symbol", symbol}, {"name", callee.name}, {"known", callee.known}, {"calls", std::move(places)}});
  }
  return list;
}

Json functions_to_json(const std::vector<FunctionSummary>& functions) {
  Json list = Json::array();
  for (const FunctionSummary& f : functions)
    list.push_back({{"id", f.id.value},
                    {"name", f.name},
                    {"place", to_json(f.place)},
                    {"blocks", f.blocks},
                    {"instructions", f.instructions},
                    {"paths", f.paths},
                    {"paths_split", f.paths_split},
                    {"shared_accesses", f.shared_accesses}});
  return list;
}

Json accesses_to_json(const std::vector<AccessSummary>& accesses) {
  Json list = Json::array();
  for (const AccessSummary& a : accesses)
    list.push_back({{"id", a.number},
                    {"kind", access_kind_name(a.access.kind)},
                    {"size", a.access.size},
                    {"atomic", a.access.atomic},
                    {"place", to_json(a.place)}});
  return list;
}

}  // namespace

size_t ProgramSummary::access_count() const {
  return std::accumulate(accesses.begin(), accesses.end(), size_t{0});
}

Json ProgramSummary::to_json() const {
  Json units = Json::array(), by_sharing = Json::object(), by_class = Json::object();
  for (const TranslationUnit& unit : program->units())
    units.push_back({{"source", unit.source}, {"folder", unit.folder}});
  for (size_t i = 0; i < kSharings; ++i)
    by_sharing[std::string(sharing_name(static_cast<Sharing>(i)))] = accesses[i];
  for (size_t i = 0; i < kCallClasses; ++i)
    by_class[std::string(call_class_name(static_cast<CallClass>(i)))] = calls[i];
  return {{"program", program->binary().string()},
          {"identity", program->identity()},
          {"build_id", program->build_id()},
          {"units", std::move(units)},
          {"counts",
           {{"functions", program->function_count()},
            {"blocks", program->block_count()},
            {"instructions", program->instruction_count()},
            {"accesses", std::move(by_sharing)},
            {"calls", std::move(by_class)}}},
          {"functions", functions_to_json(functions)},
          {"shared_accesses", accesses_to_json(shared)},
          {"synchronisation", heddle::to_json(synchronisation)},
          {"allocation", heddle::to_json(allocation)},
          {"known_external", heddle::to_json(known)},
          {"unknown_external", heddle::to_json(unknown)},
          {"foreign_functions_known", program->foreign_functions_known()},
          {"foreign_functions", foreign_functions},
          {"link_time_objects", link_time_objects}};
}

Result<ProgramSummary> summarise_program(const std::filesystem::path& binary,
                                         const std::vector<std::filesystem::path>& effects_files) {
  const EffectsTable effects = HEDDLE_TRY(EffectsTable::load(effects_files));
  ProgramSummary summary;
  summary.program = HEDDLE_TRY(Program::load(binary));
  const Program& program = *summary.program;

  for (size_t i = 0; i < program.function_count(); ++i) {
    const llvm::Function& function = program.function(FunctionId(i));
    FunctionSummary f{.id = FunctionId(i), .name = readable_name(function), .place = place_of(function)};
    f.blocks = function.size();
    f.instructions = function.getInstructionCount();
    count_paths(function, effects, f);
    for (const llvm::Instruction& instruction : llvm::instructions(function))
      if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) note_call(summary, *call, effects);
    summary.functions.push_back(std::move(f));
  }

  for (const std::string& name : program.foreign_functions())
    summary.foreign_functions.push_back(llvm::demangle(name));
  if (program.link_plan())
    for (const LinkItem& item : program.link_plan()->items)
      for (const LinkInput& input : item.input)
        if (input.kind == LinkInput::Kind::link_time) summary.link_time_objects.push_back(input.path);

  SharingResult sharing =
      analyse_sharing(program.module(), effects, {.foreign_callers = program.has_foreign_callers()});
  summary.accesses = sharing.counts;
  for (size_t i = 0; i < sharing.accesses.size(); ++i) {
    const Access& access = sharing.accesses[i];
    if (access.sharing != Sharing::shared) continue;
    ++summary.functions[program.id_of(*access.instruction->getFunction()).index()].shared_accesses;
    summary.shared.push_back({user_place(*access.instruction), access, i});
  }
  return summary;
}

}  // namespace heddle
