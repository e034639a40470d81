// What this machine offers to heddle, and what to do about what it lacks: the data behind `heddle doctor`.
//
// A check never fails: what it cannot find out is a finding. Every check that is not ok says what that means
// for heddle's verbs and what to do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "doctor/machine.h"

namespace heddle {

enum class CheckStatus { ok, limited, missing };
enum class CheckGroup { tools, cpu, tracing, cores, space, heddle };

std::string_view status_name(CheckStatus status);
std::string_view group_name(CheckGroup group);

// Ids, groups and titles are those of the table in doctor.cpp; ids and groups are stable.
struct Check {
  std::string id;
  CheckGroup group;
  std::string title;
  CheckStatus status;
  std::string finding;
  std::string meaning;     // for heddle's verbs; empty when all is well
  std::string remedy;      // a command where one helps; empty when all is well
  bool essential = false;  // heddle is of no use without it
};

struct DoctorReport {
  std::vector<Check> checks;  // in the order of their groups

  size_t count(CheckStatus status) const;
  std::vector<std::string> essentials_missing() const;  // ids
  bool ready() const { return essentials_missing().empty(); }
  Json to_json() const;
};

DoctorReport examine(const Machine& machine);

struct DoctorTextOptions {
  enum class Detail { all, lacks_only } detail = Detail::all;
  enum class Colour { no, yes } colour = Colour::no;
};
std::string doctor_text(const DoctorReport& report, const DoctorTextOptions& options = {});

}  // namespace heddle
