// Models of sets of signals: one bit for each, in the first word of a sigset_t.
#include <cerrno>
#include <csignal>

namespace {

constexpr int kSignals = 64;

unsigned long& word_of(sigset_t* set) {
  return set->__val[0];
}

// The C library keeps 32 and 33 for itself.
bool is_signal(int signal) {
  return signal > 0 && signal <= kSignals && signal != 32 && signal != 33;
}

unsigned long bit_of(int signal) {
  return 1ul << (signal - 1);
}

}  // namespace

extern "C" {

int sigemptyset(sigset_t* set) noexcept {
  word_of(set) = 0;
  return 0;
}

int sigfillset(sigset_t* set) noexcept {
  word_of(set) = ~(bit_of(32) | bit_of(33));
  return 0;
}

int sigaddset(sigset_t* set, int signal) noexcept {
  if (!is_signal(signal)) {
    errno = EINVAL;
    return -1;
  }
  word_of(set) |= bit_of(signal);
  return 0;
}

int sigdelset(sigset_t* set, int signal) noexcept {
  if (!is_signal(signal)) {
    errno = EINVAL;
    return -1;
  }
  word_of(set) &= ~bit_of(signal);
  return 0;
}

int sigismember(const sigset_t* set, int signal) noexcept {
  if (!is_signal(signal)) {
    errno = EINVAL;
    return -1;
  }
  return (set->__val[0] & bit_of(signal)) != 0;
}
}
