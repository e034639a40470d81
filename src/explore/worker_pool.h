// Worker processes, each a copy of this one that answers questions (lines of text) until it is ended. A worker that
// dies is replaced by a new one; the question it had is given back.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace heddle {

class WorkerPool {
 public:
  // `answer` is called in the worker. Whatever it does to memory stays there; the worker ends without cleaning up.
  using Answer = std::function<std::string(const std::string& question)>;
  // Called once in each new worker, before its first question.
  using Begin = std::function<void()>;
  WorkerPool(unsigned count, Begin begin, Answer answer);
  ~WorkerPool();  // ends all workers
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  bool has_idle() const;
  bool is_busy() const;  // somebody has a question
  // Requires: has_idle(). `tag` comes back with the answer.
  Result<void> ask(uint64_t tag, const std::string& question);
  struct Answered {
    uint64_t tag = 0;
    std::optional<std::string> text;  // nothing: the worker died
  };
  // Whatever has come within this time.
  Result<std::vector<Answered>> wait(std::chrono::milliseconds most);
  uint64_t replaced() const { return replaced_; }

 private:
  struct Worker {
    pid_t process = -1;
    int connection = -1;
    std::optional<uint64_t> tag;  // of its question
  };
  Result<void> start(Worker& worker);
  static void stop(Worker& worker);
  [[noreturn]] void work(int connection) const;

  Begin begin_;
  Answer answer_;
  std::vector<Worker> workers_;
  uint64_t replaced_ = 0;
};

}  // namespace heddle
