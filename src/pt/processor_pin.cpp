#include "pt/processor_pin.h"

namespace heddle {

ProcessorPin::ProcessorPin() {
  CPU_ZERO(&here_);
  const int here = ::sched_getcpu();
  if (here < 0 || ::sched_getaffinity(0, sizeof before_, &before_) != 0) return;
  CPU_SET(static_cast<unsigned>(here), &here_);
  works_ = ::sched_setaffinity(0, sizeof here_, &here_) == 0;
}

ProcessorPin::~ProcessorPin() {
  apply(0, false);
}

void ProcessorPin::apply(pid_t tid, bool pinned) const {
  if (works_) ::sched_setaffinity(tid, sizeof here_, pinned ? &here_ : &before_);
}

}  // namespace heddle
