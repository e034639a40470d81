#include "driver/try_pool.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>

namespace heddle {

TryPool::TryPool(const ControlledProgram& program, const LaunchOptions& options, unsigned workers) {
  for (unsigned i = 0; i < workers; ++i)
    workers_.emplace_back([this, &program, options] { work(program, options); });
}

TryPool::~TryPool() {
  {
    const std::scoped_lock held(lock_);
    over_ = true;
    open_.clear();
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

bool TryPool::has_room() const {
  const std::scoped_lock held(lock_);
  return busy_ + open_.size() < workers_.size();
}

void TryPool::prepare(Key key, Schedule schedule, ExecutionPlan plan) {
  // What was never asked for: events of long runs take much memory.
  while (runs_.size() >= 4 * workers_.size()) {
    while (!runs_.contains(order_.front())) order_.pop_front();
    runs_.erase(order_.front());
    order_.pop_front();
  }
  auto run = std::make_unique<Run>(
      Run{.key = key, .schedule = std::move(schedule), .plan = std::move(plan), .done = {}});
  run->plan.schedule = &run->schedule;
  runs_.emplace(key, run->done.get_future());
  order_.push_back(key);
  {
    const std::scoped_lock held(lock_);
    open_.push_back(std::move(run));
  }
  changed_.notify_one();
}

Result<Execution> TryPool::take(Key key) {
  auto found = runs_.extract(key);
  return found.mapped().get();
}

// The process belongs to the thread that started it (it ends with it), so each worker keeps its own.
void TryPool::work(const ControlledProgram& program, LaunchOptions options) {
  // The position in a file is shared by all who inherited it: opened once more.
  const int input = options.input >= 0
                        ? ::open(fmt::format("/proc/self/fd/{}", options.input).c_str(), O_RDONLY | O_CLOEXEC)
                        : -1;
  if (input >= 0) options.input = input;
  {
    ProgramExecutor executor(program, options);
    std::unique_lock held(lock_);
    while (!over_) {
      if (open_.empty()) {
        changed_.wait(held);
        continue;
      }
      const std::unique_ptr<Run> run = std::move(open_.front());
      open_.pop_front();
      ++busy_;
      held.unlock();
      run->done.set_value(executor.execute(run->plan));
      held.lock();
      --busy_;
    }
  }
  if (input >= 0) ::close(input);
}

}  // namespace heddle
