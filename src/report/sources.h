// The source text that a report shows: its reader may not have the files.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "report/finding.h"

namespace heddle {

// For each file, the lines that matter. Small files whole, of large ones the part around these lines.
std::vector<FindingSource> source_texts(const std::map<std::string, std::set<uint32_t>>& lines,
                                        const CodeNames& names);

// Text of one line without the blanks around it; empty when it is not there.
std::string line_text(const std::vector<FindingSource>& sources, const CodePlace& place);

}  // namespace heddle
