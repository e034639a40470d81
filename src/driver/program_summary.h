// What heddle knows about a program: the data behind `heddle show APP`.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "program/access.h"
#include "program/calls.h"
#include "program/program.h"
#include "program/sharing.h"
#include "program/source_place.h"

namespace heddle {

struct FunctionSummary {
  FunctionId id;
  std::string name;  // demangled
  SourcePlace place;
  size_t blocks = 0;
  size_t instructions = 0;
  size_t shared_accesses = 0;
  uint64_t paths = 0;
  bool paths_split = false;  // more paths than a number holds: the numbering cuts some edges
};

// Places are the user's own lines (user_place), not those of library headers.
struct AccessSummary {
  SourcePlace place;
  Access access;
  size_t number = 0;  // the access's id
};

// One function that is called from several places.
struct CalleeSummary {
  std::string name;   // demangled
  std::string known;  // its effects or synchronisation kind in words; empty when nothing is known
  std::vector<SourcePlace> places;
};

struct ProgramSummary {
  std::unique_ptr<Program> program;
  std::vector<FunctionSummary> functions;
  std::vector<AccessSummary> shared;         // possibly shared accesses, in program order
  std::array<size_t, kSharings> accesses{};  // all accesses by verdict
  std::array<size_t, kCallClasses> calls{};  // all calls by class
  std::map<std::string, CalleeSummary> synchronisation, allocation, known, unknown;
  std::vector<std::string> foreign_functions;  // demangled
  std::vector<std::string> link_time_objects;  // compiled by the linker: foreign, but need not be

  size_t access_count() const;
  Json to_json() const;
};

Result<ProgramSummary> summarise_program(const std::filesystem::path& binary,
                                         const std::vector<std::filesystem::path>& effects = {});

}  // namespace heddle
