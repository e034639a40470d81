#include "driver/record_core.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>

#include "base/files.h"

namespace heddle {
namespace {

// Gives the core its name, the first that is free where the user has not chosen one.
Result<fs::path> publish_core(const fs::path& made, const CoreRecordRequest& request) {
  for (int i = 0;; ++i) {
    const std::string name = request.run.executable.filename();
    const fs::path to = !request.output.empty() ? request.output
                        : i == 0                ? fs::path(name + ".core")
                                                : fs::path(fmt::format("{}.{}.core", name, i));
    if (!request.output.empty()) {
      if (::rename(made.c_str(), to.c_str()) == 0) return to;
    } else if (::renameat2(AT_FDCWD, made.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0 ||
               (errno == EINVAL && !fs::exists(fs::symlink_status(to)) &&
                ::rename(made.c_str(), to.c_str()) == 0)) {
      return to;
    }
    if (errno == EEXIST && request.output.empty()) continue;
    return system_error("the core cannot be given its name", to);
  }
}

}  // namespace

Result<CoreRecordResult> record_core(CoreRecordRequest request,
                                     const std::function<void(const CoreRecordState&)>& progress) {
  const auto begin = std::chrono::steady_clock::now();
  if (request.time) request.run.deadline = begin + *request.time;
  // Beside its final place, so that it can be renamed.
  const fs::path parent = request.output.has_parent_path() ? request.output.parent_path() : fs::path(".");
  const TempFolder folder = HEDDLE_TRY(TempFolder::create(fs::absolute(parent)));
  request.run.core = folder.path() / "core";
  SeenPlaces seen;
  request.run.seen = &seen;
  CoreRecordResult result;
  while (true) {
    result.last = HEDDLE_TRY(run_watched(request.run));
    ++result.state.runs;
    result.state.elapsed =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
    const bool failed =
        result.last.kind == WatchedEnd::Kind::crashed || result.last.kind == WatchedEnd::Kind::hung;
    if (failed) {
      result.core = HEDDLE_TRY(publish_core(request.run.core, request));
      result.summary = HEDDLE_TRY(summarise_core(result.core));
    }
    if (failed || result.last.kind != WatchedEnd::Kind::ended || result.state.runs >= request.runs)
      return result;
    if (request.run.deadline && std::chrono::steady_clock::now() >= *request.run.deadline) {
      result.last.kind = WatchedEnd::Kind::out_of_time;
      return result;
    }
    if (request.run.chaos) ++*request.run.chaos;
    progress(result.state);
  }
}

}  // namespace heddle
