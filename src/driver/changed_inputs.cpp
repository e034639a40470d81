#include "driver/changed_inputs.h"

#include <fmt/core.h>

#include <fstream>
#include <set>

#include "base/sha256.h"

namespace heddle {
namespace {

constexpr size_t kBlock = 1 << 20;

std::string hash_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return "";
  Sha256 hash;
  std::string block(kBlock, '\0');
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0)
    hash.update(std::string_view(block.data(), static_cast<size_t>(in.gcount())));
  return hash.hex();
}

// Empty if it is as it was.
std::string difference(const RecordedFile& file) {
  std::error_code code;
  if (!fs::exists(file.path, code)) return "is not there any more";
  if (fs::file_size(file.path, code) != file.size || code) return "has changed since the run";
  if (file.state == RecordedFile::State::kept && hash_of(file.path) != file.sha256)
    return "has changed since the run";
  return "";
}

}  // namespace

std::vector<std::string> changed_inputs(const RecordingInfo& info, const fs::path& folder) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const RecordedFile& file : info.files) {
    if (!seen.insert(file.path).second) continue;
    const std::string what = difference(file);
    if (what.empty()) continue;
    std::string line = fmt::format("the program read {}, which {}", file.path, what);
    if (file.state == RecordedFile::State::kept)
      line += fmt::format("; the recording has it: {}", (folder / kInputsFolder / file.copy).string());
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace heddle
