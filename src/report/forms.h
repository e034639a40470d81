// The forms of a finding: text, SARIF, a trace for Perfetto, a page. JSON: finding.h.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/finding.h"

namespace heddle {

// Fits on a screen: what does not matter is left out. Safe for terminals.
std::string text_form(const FailureFinding& finding);

// SARIF 2.1.0: one run with one result (OASIS, Static Analysis Results Interchange Format).
Json sarif_form(const FailureFinding& finding);

// Trace Event Format, which Perfetto and chrome://tracing open. An event takes a microsecond.
Json trace_form(const FailureFinding& finding);

// One HTML file that needs nothing else.
std::string html_form(const FailureFinding& finding);

// report.html, report.json, report.txt, report.sarif, trace.json and schedule.heddle in this folder, which is
// made. Files that are there are replaced.
Result<void> write_forms(const FailureFinding& finding, const std::filesystem::path& folder,
                         const Schedule& schedule);

}  // namespace heddle
