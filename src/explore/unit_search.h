// Searches whose work is in units (search_unit.h): carried out here or by worker processes (--jobs), written
// down in a journal, so that a killed run goes on (--resume). What a unit needs beside its path, workers have
// from the process that they are copies of.
//
// What is more than units and reads (the unexpected, limits; failures and races, unless they are lessons)
// workers leave to the process that has everything together, which carries such units out itself.
#pragma once

#include <map>

#include "explore/branch_sizes.h"
#include "explore/exploration.h"
#include "explore/journal.h"
#include "explore/worker_pool.h"

namespace heddle {

class UnitSearch : public Exploration {
 protected:
  using Exploration::Exploration;

  virtual Result<UnitReport> carry_out(const SearchUnit& unit) = 0;
  virtual bool is_new(const SearchUnit& unit) = 0;              // to be put into the frontier
  virtual Result<void> count(const UnitReport& report);         // what it says beside the units it found
  virtual bool is_stale() const { return false; }               // what is in the frontier is no longer wanted
  virtual uint64_t rank(const SearchUnit&) const { return 0; }  // the smallest first
  // Each time that a unit is carried out is an attempt. One that came to nothing is given up before the next;
  // false: there have been too many of those.
  virtual void begin_attempt(uint32_t) {}
  virtual bool give_up_attempt(uint32_t) { return true; }

  // Begins a journal, if one is wanted.
  Result<void> begin_journal();
  Result<SearchJournal::Contents> resume_journal();
  Result<void> write(const std::string& block);
  bool has_journal() const { return journal_.is_open(); }

  Result<void> carry_out_all();  // until the frontier is empty, stale, or all is over
  Result<void> absorb(UnitReport& report);
  void put(SearchUnit unit);
  void clear_frontier();
  const UnitSizes& unit_sizes() const { return sizes_; }

 private:
  virtual uint64_t size_of(const UnitReport& report) const = 0;  // for unit_sizes()
  void note_size(const UnitReport& report);
  SearchUnit next_unit();
  Result<void> carry_out_here(const SearchUnit& unit);
  void become_worker();
  std::string answer(const std::string& question);
  Result<void> take(WorkerPool::Answered& answered);

  std::map<uint64_t, std::vector<SearchUnit>> frontier_;  // by rank
  struct Given {
    SearchUnit unit;
    uint32_t attempt = 0;
  };
  std::map<uint64_t, Given> given_;      // to workers, by unit
  std::map<uint64_t, unsigned> deaths_;  // of workers, by unit
  uint64_t last_id_ = 0, replaced_ = 0;
  uint32_t last_attempt_ = 0;
  UnitSizes sizes_;
  SearchJournal journal_;
  std::unique_ptr<Executor> own_executor_;  // of a worker
};

}  // namespace heddle
