#include "driver/input_tee.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <memory>
#include <utility>

#include "base/files.h"

namespace heddle {
namespace {

struct Ends {
  int from, copy, to, stop;
};

// Whether something can be done with `descriptor`; not if the tee is to stop.
bool wait_for(int descriptor, short what, int stop) {
  pollfd waiting[2] = {{descriptor, what, 0}, {stop, POLLIN, 0}};
  while (::poll(waiting, 2, -1) < 0)
    if (errno != EINTR) return false;
  return waiting[1].revents == 0;
}

// A copy that cannot be written ends; the program gets its input all the same.
void keep(int& copy, const char* bytes, size_t count, std::string& problem) {
  for (size_t done = 0; copy >= 0 && done < count;) {
    const ssize_t n = ::write(copy, bytes + done, count - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      problem = std::strerror(errno);
      ::close(std::exchange(copy, -1));
      return;
    }
    done += static_cast<size_t>(n);
  }
}

void hand_on(const Ends& ends, const char* bytes, size_t count) {
  for (size_t done = 0; done < count && wait_for(ends.to, POLLOUT, ends.stop);) {
    const ssize_t n = ::write(ends.to, bytes + done, count - done);
    if (n < 0 && errno != EAGAIN && errno != EINTR) return;
    if (n > 0) done += static_cast<size_t>(n);
  }
}

void copy_all(Ends ends, const std::shared_ptr<std::string>& problem) {
  sigset_t all;  // signals are for the thread that watches the program
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  char buffer[65536];
  while (wait_for(ends.from, POLLIN, ends.stop)) {
    const ssize_t got = ::read(ends.from, buffer, sizeof buffer);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0) break;
    keep(ends.copy, buffer, static_cast<size_t>(got), *problem);
    hand_on(ends, buffer, static_cast<size_t>(got));
  }
  ::close(ends.to);
  if (ends.copy >= 0) ::close(ends.copy);
}

}  // namespace

Result<InputTee> InputTee::start(int from, const std::filesystem::path& copy) {
  InputTee tee;
  Ends ends{.from = from};
  ends.copy = ::open(copy.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (ends.copy < 0) return system_error("cannot create", copy);
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0 || (ends.stop = tee.stop_ = ::eventfd(0, EFD_CLOEXEC)) < 0)
    return system_error("cannot make a pipe for standard input", "");
  tee.reader_ = pipe[0];
  ends.to = pipe[1];
  ::fcntl(ends.to, F_SETFL, O_NONBLOCK);
  tee.problem_ = std::make_shared<std::string>();
  tee.thread_ = std::thread(copy_all, ends, tee.problem_);
  return tee;
}

InputTee::InputTee(InputTee&& other) noexcept
    : reader_(std::exchange(other.reader_, -1)),
      stop_(std::exchange(other.stop_, -1)),
      problem_(std::move(other.problem_)),
      thread_(std::move(other.thread_)) {}

InputTee::~InputTee() {
  stop();
}

void InputTee::stop() {
  if (stop_ < 0) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_, &one, sizeof one);
  if (thread_.joinable()) thread_.join();
  ::close(std::exchange(stop_, -1));
  ::close(std::exchange(reader_, -1));
}

std::string InputTee::finish() {
  stop();
  return problem_ == nullptr ? "" : *problem_;
}

}  // namespace heddle
