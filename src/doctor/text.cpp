// The report of `heddle doctor` for a terminal.
#include <fmt/format.h>

#include <algorithm>

#include "doctor/doctor.h"

namespace heddle {
namespace {

std::string coloured(CheckStatus status, const DoctorTextOptions& options) {
  const std::string word = fmt::format("{:<7}", status_name(status));
  if (options.colour == DoctorTextOptions::Colour::no) return word;
  const int code = status == CheckStatus::ok ? 32 : status == CheckStatus::limited ? 33 : 31;
  return fmt::format("\x1b[{}m{}\x1b[0m", code, word);
}

std::string check_text(const Check& check, size_t title_width, const DoctorTextOptions& options) {
  std::string out = fmt::format("  {}  {:<{}}  {}\n", coloured(check.status, options), check.title, title_width,
                                check.finding);
  const std::string indent(2 + 7 + 2, ' ');
  if (!check.meaning.empty()) out += fmt::format("{}means: {}\n", indent, check.meaning);
  if (!check.remedy.empty()) out += fmt::format("{}do:    {}\n", indent, check.remedy);
  return out;
}

std::string summary_text(const DoctorReport& report) {
  std::string out = fmt::format("{} ok, {} limited, {} missing", report.count(CheckStatus::ok),
                                report.count(CheckStatus::limited), report.count(CheckStatus::missing));
  if (!report.ready())
    out += fmt::format("; heddle cannot work without: {}", fmt::join(report.essentials_missing(), ", "));
  return out + '\n';
}

}  // namespace

std::string doctor_text(const DoctorReport& report, const DoctorTextOptions& options) {
  size_t title_width = 0;
  for (const Check& check : report.checks) title_width = std::max(title_width, check.title.size());
  std::string out;
  std::string_view heading;
  for (const Check& check : report.checks) {
    if (options.detail == DoctorTextOptions::Detail::lacks_only && check.status == CheckStatus::ok) continue;
    if (const std::string_view group = group_name(check.group); group != heading) {
      out += fmt::format("{}{}\n", heading.empty() ? "" : "\n", group);
      heading = group;
    }
    out += check_text(check, title_width, options);
  }
  return out + (out.empty() ? "" : "\n") + summary_text(report);
}

}  // namespace heddle
