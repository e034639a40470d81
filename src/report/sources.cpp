#include "report/sources.h"

#include <algorithm>

#include "base/files.h"
#include "base/safe_text.h"

namespace heddle {
namespace {

constexpr size_t kWholeFile = 1500;  // lines
constexpr uint32_t kAround = 40;
constexpr size_t kLongestLine = 500;  // characters

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    if (line.size() > kLongestLine) line.resize(kLongestLine);
    out.push_back(valid_utf8(line));
    at = end + 1;
  }
  return out;
}

}  // namespace

std::vector<FindingSource> source_texts(const std::map<std::string, std::set<uint32_t>>& lines,
                                        const CodeNames& names) {
  std::vector<FindingSource> out;
  for (const auto& [file, wanted] : lines) {
    FindingSource source{.file = file, .path = names.source_path(file)};
    const Result<std::string> text = file.find("<library model>/") != std::string::npos
                                         ? Result<std::string>(Error{.what = "heddle's own model of a library"})
                                         : read_file(source.path);
    if (!text) {
      source.missing = text.error().what;
    } else {
      source.lines = lines_of(*text);
      if (source.lines.size() > kWholeFile && !wanted.empty()) {
        const uint32_t first = *wanted.begin() > kAround ? *wanted.begin() - kAround : 1;
        const uint32_t last =
            std::min<uint32_t>(*wanted.rbegin() + kAround, static_cast<uint32_t>(source.lines.size()));
        if (first <= last) {
          source.lines.resize(last);
          source.lines.erase(source.lines.begin(), source.lines.begin() + (first - 1));
          source.first_line = first;
        }
        if (source.lines.size() > 4 * kWholeFile) source.lines.resize(4 * kWholeFile);
      }
    }
    out.push_back(std::move(source));
  }
  return out;
}

std::string line_text(const std::vector<FindingSource>& sources, const CodePlace& place) {
  const auto source = std::ranges::find(sources, place.file, &FindingSource::file);
  if (source == sources.end() || place.line < source->first_line ||
      place.line - source->first_line >= source->lines.size())
    return "";
  const std::string& line = source->lines[place.line - source->first_line];
  const size_t begin = line.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : line.substr(begin);
}

}  // namespace heddle
