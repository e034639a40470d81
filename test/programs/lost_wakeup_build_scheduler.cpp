// A scheduler in the manner of make: targets with prerequisites, a list of those that are ready, workers that
// run them and make ready what was waiting for them, and a log of what was done. Workers leave when all targets
// are done.
//
// The bug: the number of targets left is counted down without the lock under which workers test it. The worker
// that finishes the last target can notify when another one has tested but does not sleep yet; that one never
// wakes up.
//
// HEDDLE-FAILURE: lost-wakeup
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: lost-wakeup
// HEDDLE-DECISIVE: A B a worker tests whether targets are left before the last one is counted down
// HEDDLE-DECISIVE: C D the notification comes before that worker sleeps
// HEDDLE-SMALL: no
// HEDDLE-ALSO: deadlock
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

// ---- the graph
// -----------------------------------------------------------------------------------------------------

using Action = std::function<std::string()>;

class Target {
 public:
  Target(std::string name, Action action) : name_(std::move(name)), action_(std::move(action)) {}

  const std::string& name() const { return name_; }
  std::string run() const { return action_(); }

  void needs(Target& prerequisite) {
    prerequisite.dependents_.push_back(this);
    missing_.fetch_add(1);
  }
  bool ready() const { return missing_.load() == 0; }
  // Called once for each prerequisite; true for the last one.
  bool prerequisite_done() { return missing_.fetch_sub(1) == 1; }
  const std::vector<Target*>& dependents() const { return dependents_; }

 private:
  const std::string name_;
  const Action action_;
  std::vector<Target*> dependents_;
  std::atomic<int> missing_{0};
};

class Graph {
 public:
  Target& add(const std::string& name, Action action) {
    auto target = std::make_unique<Target>(name, std::move(action));
    Target& result = *target;
    if (!by_name_.emplace(name, &result).second) throw std::invalid_argument("target twice: " + name);
    targets_.push_back(std::move(target));
    return result;
  }

  void needs(const std::string& name, const std::string& prerequisite) { find(name).needs(find(prerequisite)); }

  Target& find(const std::string& name) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) throw std::invalid_argument("no such target: " + name);
    return *found->second;
  }

  std::vector<Target*> ready() const {
    std::vector<Target*> result;
    for (const auto& target : targets_) {
      if (target->ready()) result.push_back(target.get());
    }
    return result;
  }

  std::size_t size() const { return targets_.size(); }

 private:
  std::vector<std::unique_ptr<Target>> targets_;
  std::map<std::string, Target*> by_name_;
};

// ---- the log
// -------------------------------------------------------------------------------------------------------

class Log {
 public:
  void add(const std::string& target, const std::string& text) {
    std::lock_guard lock(mutex_);
    lines_.push_back(target + ": " + text);
  }

  // Where the target stands in the log.
  std::size_t position(const std::string& target) const {
    std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].compare(0, target.size() + 1, target + ":") == 0) return i;
    }
    std::fprintf(stderr, "%s is not in the log\n", target.c_str());
    std::abort();
  }

  std::size_t size() const {
    std::lock_guard lock(mutex_);
    return lines_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

// ---- the scheduler
// -------------------------------------------------------------------------------------------------

class Scheduler {
 public:
  Scheduler(Graph& graph, Log& log) : log_(log), left_(graph.size()) {
    for (Target* target : graph.ready()) ready_.push_back(target);
  }

  void run(std::size_t workers) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < workers; ++i) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  // Nothing when all is done.
  std::optional<Target*> next() {
    std::unique_lock lock(mutex_);
    while (ready_.empty()) {
      if (left_.load() == 0) return std::nullopt;  // [A]
      changed_.wait(lock);                         // [D]
    }
    Target* result = ready_.front();
    ready_.pop_front();
    return result;
  }

  void make_ready(Target* target) {
    std::lock_guard lock(mutex_);
    ready_.push_back(target);
    changed_.notify_one();
  }

  void done(const Target& target) {
    for (Target* dependent : target.dependents()) {
      if (dependent->prerequisite_done()) make_ready(dependent);
    }
#ifdef FIXED
    std::lock_guard lock(mutex_);
#endif
    if (left_.fetch_sub(1) == 1) {  // [B]
      changed_.notify_all();        // [C]
    }
  }

  void work() {
    while (const auto target = next()) {
      log_.add((*target)->name(), (*target)->run());
      done(**target);
    }
  }

  Log& log_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Target*> ready_;
  std::atomic<std::size_t> left_;
};

// ---- a project
// -----------------------------------------------------------------------------------------------------

Action compile(const std::string& source) {
  return [source] { return "compiled from " + source; };
}

Action link(std::size_t objects) {
  return [objects] { return "linked from " + std::to_string(objects) + " objects"; };
}

void describe(Graph& graph) {
  graph.add("main.o", compile("main.c"));
  graph.add("queue.o", compile("queue.c"));
  graph.add("program", link(2));
  graph.needs("program", "main.o");
  graph.needs("program", "queue.o");
}

}  // namespace

int main() {
  Graph graph;
  Log log;
  describe(graph);
  Scheduler scheduler(graph, log);
  scheduler.run(2);
  assert(log.size() == graph.size());
  assert(log.position("main.o") < log.position("program"));
  assert(log.position("queue.o") < log.position("program"));
}
