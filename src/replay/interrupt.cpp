#include "replay/interrupt.h"

#include <csignal>

namespace heddle {
namespace {

std::atomic<bool> flag = false;
struct sigaction before[3];
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

extern "C" void note_interrupt(int signal) {
  if (flag.exchange(true) && signal != SIGHUP) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

InterruptGuard::InterruptGuard() {
  flag = false;
  struct sigaction action{};
  action.sa_handler = note_interrupt;  // without SA_RESTART: waits end early
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &action, &before[i]);
}

InterruptGuard::~InterruptGuard() {
  for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &before[i], nullptr);
}

bool interrupted() {
  return flag;
}

const std::atomic<bool>& interrupt_flag() {
  return flag;
}

}  // namespace heddle
