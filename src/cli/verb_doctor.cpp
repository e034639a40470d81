// heddle doctor: what this machine offers, and what to do about what it lacks.
#include <fmt/core.h>
#include <unistd.h>

#include "cli/verb.h"
#include "doctor/doctor.h"

namespace heddle {
namespace {

Result<ExitCode> run_verb(const CommonOptions& common) {
  const DoctorReport report = examine(*this_machine());
  if (common.json) {
    fmt::print("{}\n", report.to_json().dump(2, ' ', false, Json::error_handler_t::replace));
  } else {
    using Text = DoctorTextOptions;
    fmt::print("{}", doctor_text(report, {.detail = common.quiet ? Text::Detail::lacks_only : Text::Detail::all,
                                          .colour = ::isatty(1) != 0 ? Text::Colour::yes : Text::Colour::no}));
  }
  return report.ready() ? ExitCode::ok : ExitCode::environment;
}

}  // namespace

void add_doctor(VerbSet& verbs) {
  verbs.add("doctor", "What this machine offers, and what to do about what it lacks",
            "  heddle doctor            every check, and what to do where something is lacking\n"
            "  heddle doctor --quiet    only what is lacking\n"
            "  heddle doctor --json     as data; exit code 3 when something essential is missing",
            run_verb);
}

}  // namespace heddle
