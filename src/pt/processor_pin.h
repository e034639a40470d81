// Keeps the calling thread on the processor that it is on, until the object dies.
#pragma once

#include <sched.h>
#include <sys/types.h>

namespace heddle {

class ProcessorPin {
 public:
  ProcessorPin();
  ~ProcessorPin();
  ProcessorPin(ProcessorPin&&) = delete;

  void apply(pid_t tid, bool pinned) const;  // to another thread; or gives it back what the caller had

 private:
  cpu_set_t before_, here_;
  bool works_ = false;
};

}  // namespace heddle
