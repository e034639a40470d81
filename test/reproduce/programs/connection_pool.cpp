// A pool of connections to a service, over socket pairs: clients take a connection, send a request, read its answer
// and give the connection back.
//
// The bug: a client that only wants to tell something gives its connection back without reading the answer, which it
// takes for "nobody needs it". Whoever gets the connection next reads the answer to another request.
//
// HEDDLE-FAILURE: abort
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: order
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

struct Request {
  uint32_t id = 0;
  uint32_t number = 0;
};
struct Answer {
  uint32_t id = 0;
  uint32_t square = 0;
};

// The service's end of one connection: answers until the other end is closed.
static void serve(int socket) {
  Request request;
  while (read(socket, &request, sizeof request) == static_cast<ssize_t>(sizeof request)) {
    const Answer answer{request.id, request.number * request.number};
    if (write(socket, &answer, sizeof answer) != static_cast<ssize_t>(sizeof answer)) break;
  }
  close(socket);
}

class ConnectionPool {
 public:
  explicit ConnectionPool(size_t size) {
    for (size_t i = 0; i < size; ++i) {
      int ends[2];
      if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::exit(2);
      free_.push_back(ends[0]);
      all_.push_back(ends[0]);
      servers_.emplace_back(serve, ends[1]);
    }
  }

  ~ConnectionPool() {
    for (const int connection : all_) close(connection);
    for (std::thread& server : servers_) server.join();
  }

  int take() {
    std::unique_lock lock(mutex_);
    given_back_.wait(lock, [this] { return !free_.empty(); });
    const int connection = free_.back();
    free_.pop_back();
    return connection;
  }

  void give_back(int connection) {
    {
      std::lock_guard lock(mutex_);
      free_.push_back(connection);
    }
    given_back_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<int> free_, all_;
  std::vector<std::thread> servers_;
};

class Client {
 public:
  Client(ConnectionPool& pool, uint32_t first_id) : pool_(pool), next_id_(first_id) {}

  uint32_t square(uint32_t number) {
    const int connection = pool_.take();
    const uint32_t id = send(connection, number);
    Answer answer;
    if (read(connection, &answer, sizeof answer) != static_cast<ssize_t>(sizeof answer)) std::exit(2);
    pool_.give_back(connection);
    if (answer.id != id) {
      std::fprintf(stderr, "asked %u, got the answer to %u\n", id, answer.id);
      std::abort();
    }
    return answer.square;
  }

  void tell(uint32_t number) {
    const int connection = pool_.take();
    send(connection, number);
    pool_.give_back(connection);  // the bug: an answer is on its way
  }

 private:
  uint32_t send(int connection, uint32_t number) {
    const Request request{next_id_++, number};
    if (write(connection, &request, sizeof request) != static_cast<ssize_t>(sizeof request)) std::exit(2);
    return request.id;
  }

  ConnectionPool& pool_;
  uint32_t next_id_;
};

int main() {
  uint32_t sum = 0;
  {
    ConnectionPool pool(2);
    std::thread teller([&] {
      Client client(pool, 100);
      client.tell(7);
    });
    std::thread asker([&] {
      Client client(pool, 200);
      for (uint32_t i = 1; i <= 2; ++i) sum += client.square(i);
    });
    teller.join();
    asker.join();
  }
  std::printf("sum %u\n", sum);
  return 0;
}
