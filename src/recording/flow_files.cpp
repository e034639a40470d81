#include "recording/flow_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "recording/recording_info.h"

namespace heddle {

namespace fs = std::filesystem;

namespace {

fs::path kept_path(const fs::path& recording, const FlowFile& file) {
  return recording / kInputsFolder / fmt::format("{}-{}", file.device, file.inode);
}

std::set<FlowFile> files_of(const std::vector<FlowThread>& threads) {
  std::set<FlowFile> out;
  for (const FlowThread& thread : threads) out.insert(thread.files.begin(), thread.files.end());
  return out;
}

// Why it is not the file that was read; empty: it is.
std::string difference(const FlowFile& file) {
  struct stat now{};
  if (::stat(file.path.c_str(), &now) != 0) return std::strerror(errno);
  const bool same = now.st_dev == file.device && now.st_ino == file.inode &&
                    static_cast<uint64_t>(now.st_size) == file.size && now.st_mtim.tv_sec == file.seconds &&
                    now.st_mtim.tv_nsec == file.nanoseconds;
  return same ? "" : "it was changed since";
}

// Why it could not be.
std::string keep(const fs::path& recording, const FlowFile& file) {
  const fs::path kept = kept_path(recording, file), part = kept.string() + ".part";
  std::error_code code;
  if (fs::exists(kept, code)) return "";
  std::string problem = difference(file);
  if (problem.empty() && !fs::copy_file(file.path, part, fs::copy_options::overwrite_existing, code))
    problem = code.message();
  if (problem.empty()) problem = difference(file);  // it may have been written to meanwhile
  if (problem.empty()) fs::permissions(part, fs::perms::owner_read | fs::perms::owner_write, code);
  if (problem.empty()) fs::rename(part, kept, code);
  if (problem.empty() && code) problem = code.message();
  if (!problem.empty()) fs::remove(part, code);
  return problem;
}

}  // namespace

std::vector<std::string> keep_flow_files(const fs::path& recording, const std::vector<FlowThread>& threads) {
  std::vector<std::string> out;
  for (const FlowFile& file : files_of(threads))
    if (const std::string problem = keep(recording, file); !problem.empty())
      out.push_back(fmt::format("{}, which the program read, is not kept: {}", file.path, problem));
  return out;
}

Result<void> check_flow_files(const fs::path& recording, const std::vector<FlowThread>& threads) {
  for (const FlowFile& file : files_of(threads)) {
    std::error_code ignored;
    if (fs::exists(kept_path(recording, file), ignored)) continue;
    if (const std::string problem = difference(file); !problem.empty())
      return Error{.what = "a file that the program read is not what it was: " + problem,
                   .where = file.path,
                   .why = "the recording names it, and has no copy of it",
                   .next = "restore the file, with its time, or record again"};
  }
  return {};
}

}  // namespace heddle
