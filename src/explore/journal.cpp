#include "explore/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace heddle {
namespace {

Error file_error(const std::string& what, const std::string& name) {
  return Error{.what = fmt::format("{} {}: {}", what, name, std::strerror(errno)),
               .exit = ExitCode::environment};
}

}  // namespace

SearchJournal::~SearchJournal() {
  if (file_ >= 0) ::close(file_);
}

Result<void> SearchJournal::begin(const std::filesystem::path& file, const std::string& first) {
  name_ = file.string();
  file_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0666);
  if (file_ < 0 && errno == EEXIST)
    return Error{.what = fmt::format("{} is there already", name_),
                 .next = "go on with it by --resume, or give another name",
                 .exit = ExitCode::usage};
  if (file_ < 0) return file_error("cannot write the journal", name_);
  return add(first + "\n");
}

Result<SearchJournal::Contents> SearchJournal::resume(const std::filesystem::path& file,
                                                      const std::string& first, Behaviour& behaviour) {
  name_ = file.string();
  std::ifstream in(file, std::ios::binary);
  if (!in) return file_error("cannot read the journal", name_);
  std::stringstream text;
  text << in.rdbuf();
  const std::string all = std::move(text).str();
  Contents out;
  UnitReport open;  // of a block that has not ended yet
  size_t good = 0;  // up to here blocks are whole
  bool is_first = true;
  for (size_t at = 0; at < all.size();) {
    const size_t end = all.find('\n', at);
    if (end == std::string::npos) break;
    const std::string_view line(all.data() + at, end - at);
    at = end + 1;
    if (is_first && line != first)
      return Error{.what = fmt::format("{} is the journal of another search", name_),
                   .where = fmt::format("it says: {}\nexpected: {}", line, first),
                   .why = "the program, its arguments, the memory model or the algorithm are others",
                   .next = "give the command as it was, or start again without --resume",
                   .exit = ExitCode::usage};
    if (is_first || line.empty()) {
      is_first = false;
      good = at;
      continue;
    }
    if (line.front() == 'p') {
      out.last_pass = line.substr(1);
      for (const auto& [id, report] : out.reports) out.executions += report.executions;
      out.units.clear();
      out.reports.clear();
      ++out.passes;
      good = at;
      continue;
    }
    if (!HEDDLE_TRY(parse_report_line(line, open, behaviour))) continue;
    for (SearchUnit& unit : open.found) {
      const uint64_t id = unit.id;
      out.units.insert_or_assign(id, std::move(unit));
    }
    out.lessons.insert(out.lessons.end(), open.lessons.begin(), open.lessons.end());
    const uint64_t id = open.id;
    out.reports.insert_or_assign(id, std::exchange(open, {}));
    good = at;
  }
  if (is_first)
    return Error{.what = fmt::format("{} is no journal of heddle check", name_), .exit = ExitCode::usage};
  file_ = ::open(name_.c_str(), O_WRONLY | O_CLOEXEC | O_APPEND);
  if (file_ < 0 || ::ftruncate(file_, static_cast<off_t>(good)) != 0)
    return file_error("cannot write the journal", name_);
  return out;
}

Result<void> SearchJournal::add(const std::string& block) {
  for (size_t done = 0; done < block.size();) {
    const ssize_t now = ::write(file_, block.data() + done, block.size() - done);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) return file_error("cannot write the journal", name_);
    done += static_cast<size_t>(now);
  }
  return {};
}

}  // namespace heddle
