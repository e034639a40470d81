// Small web cache under load: a pool of threads answers HTTP requests out of a hash table with a lock for each
// group of buckets; what is not there is rendered (in place of asking the server behind) and replaces the least
// recently used entry.
//
//   cache         says its port on standard output; ends after GET /quit
#include <pthread.h>

#include <deque>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

#include "loopback.h"

namespace {

constexpr unsigned kWorkers = 8, kShards = 16, kEntriesOfShard = 64;

class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~Lock() { pthread_mutex_unlock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

// ---- the cache

struct Entry {
  std::string path, body;
};

struct Shard {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::list<Entry> recent;  // most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_path;
  unsigned long hits = 0, misses = 0;
};
Shard shards[kShards];

// A page of some kilobytes that depends on the path only.
std::string render(const std::string& path) {
  unsigned random = 2166136261u;
  for (const char c : path) random = (random ^ static_cast<unsigned char>(c)) * 16777619u;
  std::string page = "<html><body>" + path + "\n";
  const unsigned lines = 20 + random % 64;
  for (unsigned i = 0; i < lines; ++i) {
    random = random * 1664525 + 1013904223;
    page += "<p>line " + std::to_string(i) + ": " + std::to_string(random) + "</p>\n";
  }
  return page + "</body></html>\n";
}

std::string look_up(const std::string& path) {
  Shard& shard = shards[std::hash<std::string>()(path) % kShards];
  {
    const Lock lock(shard.mutex);
    const auto found = shard.by_path.find(path);
    if (found != shard.by_path.end()) {
      ++shard.hits;
      shard.recent.splice(shard.recent.begin(), shard.recent, found->second);
      return found->second->body;
    }
    ++shard.misses;
  }
  std::string body = render(path);
  const Lock lock(shard.mutex);
  if (shard.by_path.count(path) != 0) return body;  // another thread was faster
  shard.recent.push_front({path, body});
  shard.by_path[path] = shard.recent.begin();
  if (shard.by_path.size() > kEntriesOfShard) {
    shard.by_path.erase(shard.recent.back().path);
    shard.recent.pop_back();
  }
  return body;
}

// ---- connections wait here for a worker; -1: no more come

std::deque<int> waiting;
pthread_mutex_t waiting_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t waiting_changed = PTHREAD_COND_INITIALIZER;

void put(int connection) {
  const Lock lock(waiting_mutex);
  waiting.push_back(connection);
  pthread_cond_signal(&waiting_changed);
}

int take() {
  const Lock lock(waiting_mutex);
  while (waiting.empty()) pthread_cond_wait(&waiting_changed, &waiting_mutex);
  const int connection = waiting.front();
  waiting.pop_front();
  return connection;
}

// "GET /path HTTP/1.1": the path.
std::string requested_path(const std::string& head) {
  const size_t begin = head.find(' ');
  const size_t end = begin == std::string::npos ? begin : head.find(' ', begin + 1);
  return end == std::string::npos ? "" : head.substr(begin + 1, end - begin - 1);
}

// All requests of one connection. False: asked to end.
bool serve(int connection) {
  char buffer[2048];
  size_t head;
  while (receive_head(connection, buffer, sizeof buffer, &head) != 0) {
    const std::string path = requested_path(std::string(buffer, head));
    if (path == "/quit") return false;
    const std::string body = look_up(path);
    const std::string answer =
        "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    send_all(connection, answer.data(), answer.size());
  }
  return true;
}

int listener;

void* work(void*) {
  for (int connection; (connection = take()) >= 0;) {
    if (!serve(connection)) shutdown(listener, SHUT_RDWR);  // accept() in main fails
    close(connection);
  }
  return nullptr;
}

}  // namespace

int main() {
  alarm(300);
  listener = listen_loopback();
  pthread_t workers[kWorkers];
  for (pthread_t& worker : workers) pthread_create(&worker, nullptr, work, nullptr);
  for (int connection; (connection = accept(listener, nullptr, nullptr)) >= 0;) {
    limit_waiting(connection);
    put(connection);
  }
  for (unsigned i = 0; i < kWorkers; ++i) put(-1);
  for (const pthread_t worker : workers) pthread_join(worker, nullptr);
  unsigned long requests = 0;
  for (const Shard& shard : shards) requests += shard.hits + shard.misses;
  std::printf("%lu requests\n", requests);
  return 0;
}
