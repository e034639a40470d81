#include "explore/worker_pool.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace heddle {
namespace {

// Messages: their length, then their bytes. False: the other side is gone.
bool write_all(int file, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t now = ::send(file, data, size, MSG_NOSIGNAL);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return false;
    data += now;
    size -= static_cast<size_t>(now);
  }
  return true;
}

bool read_all(int file, char* data, size_t size) {
  while (size > 0) {
    const ssize_t now = ::read(file, data, size);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return false;
    data += now;
    size -= static_cast<size_t>(now);
  }
  return true;
}

bool send_text(int file, const std::string& text) {
  const uint64_t size = text.size();
  std::array<char, sizeof size> head{};
  std::memcpy(head.data(), &size, sizeof size);
  return write_all(file, head.data(), head.size()) && write_all(file, text.data(), text.size());
}

std::optional<std::string> receive(int file) {
  uint64_t size = 0;
  std::array<char, sizeof size> head{};
  if (!read_all(file, head.data(), head.size())) return std::nullopt;
  std::memcpy(&size, head.data(), sizeof size);
  std::string text(size, '\0');
  if (!read_all(file, text.data(), size)) return std::nullopt;
  return text;
}

Error system_error(const char* what) {
  return Error{.what = fmt::format("cannot start a worker process: {}: {}", what, std::strerror(errno)),
               .next = "give a smaller number to --jobs",
               .exit = ExitCode::environment};
}

}  // namespace

WorkerPool::WorkerPool(unsigned count, Begin begin, Answer answer)
    : begin_(std::move(begin)), answer_(std::move(answer)), workers_(count) {}

WorkerPool::~WorkerPool() {
  for (Worker& worker : workers_) stop(worker);
}

void WorkerPool::stop(Worker& worker) {
  if (worker.process < 0) return;
  ::close(worker.connection);
  ::kill(worker.process, SIGKILL);
  ::waitpid(worker.process, nullptr, 0);
  worker = {};
}

void WorkerPool::work(int connection) const {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  begin_();
  while (const std::optional<std::string> question = receive(connection))
    if (!send_text(connection, answer_(*question))) break;
  ::_exit(0);
}

Result<void> WorkerPool::start(Worker& worker) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return system_error("socketpair");
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process < 0) return system_error("fork");
  if (process == 0) {
    // A worker must not keep the connections of others open.
    for (const Worker& other : workers_)
      if (other.process >= 0) ::close(other.connection);
    ::close(ends[0]);
    if (::getppid() != parent) ::_exit(0);
    work(ends[1]);
  }
  ::close(ends[1]);
  worker = {.process = process, .connection = ends[0]};
  return {};
}

bool WorkerPool::has_idle() const {
  return std::ranges::any_of(workers_, [](const Worker& worker) { return !worker.tag; });
}

bool WorkerPool::is_busy() const {
  return std::ranges::any_of(workers_, [](const Worker& worker) { return worker.tag.has_value(); });
}

Result<void> WorkerPool::ask(uint64_t tag, const std::string& question) {
  Worker& worker = *std::ranges::find_if(workers_, [](const Worker& each) { return !each.tag; });
  for (;;) {
    if (worker.process < 0) HEDDLE_TRY(start(worker));
    if (send_text(worker.connection, question)) break;
    stop(worker);  // it died while it had nothing to do
    ++replaced_;
  }
  worker.tag = tag;
  return {};
}

Result<std::vector<WorkerPool::Answered>> WorkerPool::wait(std::chrono::milliseconds most) {
  std::vector<pollfd> files;
  std::vector<Worker*> whose;
  for (Worker& worker : workers_) {
    if (!worker.tag) continue;
    files.push_back({.fd = worker.connection, .events = POLLIN, .revents = 0});
    whose.push_back(&worker);
  }
  std::vector<Answered> out;
  if (::poll(files.data(), files.size(), static_cast<int>(most.count())) < 0) return out;  // a signal
  for (size_t i = 0; i < files.size(); ++i) {
    if (files[i].revents == 0) continue;
    Worker& worker = *whose[i];
    out.push_back({.tag = *worker.tag, .text = receive(worker.connection)});
    if (!out.back().text) {
      stop(worker);
      ++replaced_;
    }
    worker.tag.reset();
  }
  return out;
}

}  // namespace heddle
