// What a search has done and has still to do, in a file that outlives a killed process.
//
// Lines of text are only ever appended, in blocks: what a unit has led to, and as the last line its report. A
// block that is not there to its end does not count: its unit is carried out again. The first line says which
// search it is. A line "p" says that the units begin anew (another pass, with what the search says of it behind):
// of what was before, only what was learned counts.
#pragma once

#include <filesystem>
#include <map>

#include "explore/search_unit.h"

namespace heddle {

class SearchJournal {
 public:
  SearchJournal() = default;
  ~SearchJournal();
  SearchJournal(const SearchJournal&) = delete;
  SearchJournal& operator=(const SearchJournal&) = delete;

  // `first`: the line that says which search it is; a file of another one is refused.
  Result<void> begin(const std::filesystem::path& file, const std::string& first);
  struct Contents {
    std::map<uint64_t, SearchUnit> units;
    std::map<uint64_t, UnitReport> reports;  // of those that are done
    std::vector<Lesson> lessons;             // of all passes, in their order
    uint64_t passes = 0;
    std::string last_pass;    // what was said of it
    uint64_t executions = 0;  // of passes before the last
  };
  Result<Contents> resume(const std::filesystem::path& file, const std::string& first, Behaviour& behaviour);

  bool is_open() const { return file_ >= 0; }
  Result<void> add(const std::string& block);
  static std::string line_of_pass(const std::string& kind = "") { return "p" + kind + "\n"; }

 private:
  int file_ = -1;
  std::string name_;
};

}  // namespace heddle
