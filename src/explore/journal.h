// What a search by seeds has done and has still to do, in a file that outlives a killed process.
//
// Lines of text are only ever appended, in blocks: the units that a unit has led to, then its report. A block that
// is not there to its end does not count: its unit is carried out again. The first line says which search it is.
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
  };
  Result<Contents> resume(const std::filesystem::path& file, const std::string& first, Behaviour& behaviour);

  bool is_open() const { return file_ >= 0; }
  Result<void> add(const std::string& block);

 private:
  int file_ = -1;
  std::string name_;
};

}  // namespace heddle
