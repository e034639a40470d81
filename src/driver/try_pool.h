// Controlled runs that are performed ahead of time, in processes of their own, while others are looked at.
#pragma once

#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <thread>

#include "replay/program_executor.h"

namespace heddle {

class TryPool {
 public:
  using Key = std::pair<uint64_t, uint64_t>;  // whatever names a run

  // `program` must outlive it. Each worker has a process of the program, and reads the input by itself.
  TryPool(const ControlledProgram& program, const LaunchOptions& options, unsigned workers);
  ~TryPool();
  TryPool(const TryPool&) = delete;
  TryPool& operator=(const TryPool&) = delete;

  size_t size() const { return workers_.size(); }
  bool has_room() const;  // a worker has nothing to do
  bool knows(Key key) const { return runs_.contains(key); }
  // Requires: not knows(key). `plan` is performed with this schedule.
  void prepare(Key key, Schedule schedule, ExecutionPlan plan);
  // Requires: knows(key). Waits for its end.
  Result<Execution> take(Key key);

 private:
  struct Run {
    Key key;
    Schedule schedule;
    ExecutionPlan plan;
    std::promise<Result<Execution>> done;
  };
  void work(const ControlledProgram& program, LaunchOptions options);

  mutable std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Run>> open_;
  size_t busy_ = 0;
  bool over_ = false;
  std::map<Key, std::future<Result<Execution>>> runs_;  // not taken yet
  std::deque<Key> order_;                               // of these: when they were prepared
  std::vector<std::thread> workers_;
};

}  // namespace heddle
