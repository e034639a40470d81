// Answers to queries are cached by table. A change of a table removes what the cache has of it. A query that
// was computed before the change, and stored behind it, stays there, and a client that has seen the change gets
// the old sum.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>
struct Table {
  std::mutex lock;
  std::vector<int> rows;
  long version = 0;
};
class QueryCache {
 public:
  std::optional<long> find(const std::string& table) {
    std::lock_guard held(lock_);
    auto found = sums_.find(table);
    if (found == sums_.end()) return {};
    ++hits_;
    return found->second;
  }
  void store(const std::string& table, long sum, [[maybe_unused]] long since) {
    std::lock_guard held(lock_);
#ifdef FIXED
    if (removed_[table] > since) return;
#endif
    sums_[table] = sum;
  }
  void invalidate(const std::string& table, long version) {
    std::lock_guard held(lock_);
    removed_[table] = version;
    sums_.erase(table);
  }

 private:
  std::mutex lock_;
  std::map<std::string, long> sums_;
  std::map<std::string, long> removed_;
  long hits_ = 0;
};
struct Server {
  QueryCache cache;
  std::map<std::string, Table> tables;
  long sum(const std::string& name) {
    if (auto known = cache.find(name)) return *known;
    Table& table = tables.at(name);
    long total = 0, version;
    {
      std::lock_guard held(table.lock);
      version = table.version;
      for (int row : table.rows) total += row;
    }
    cache.store(name, total, version);
    return total;
  }
  void insert(const std::string& name, int row) {
    Table& table = tables.at(name);
    std::lock_guard held(table.lock);
    table.rows.push_back(row);
    cache.invalidate(name, ++table.version);
  }
};
int main() {
  Server server;
  for (const char* name : {"orders", "people", "goods"}) server.tables[name].rows = {1, 2, 3};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&server, i] {
      const char* names[] = {"orders", "people", "goods"};
      for (int round = 0; round < 4; ++round) server.sum(names[(round + i) % 3]);
    });
  threads.emplace_back([&server] {
    for (const char* name : {"goods", "orders"}) server.insert(name, 10);
  });
  for (auto& thread : threads) thread.join();
  for (auto& [name, table] : server.tables) {
    long real = 0;
    for (int row : table.rows) real += row;
    if (server.sum(name) != real) {
      std::fprintf(stderr, "%s: %ld instead of %ld\n", name.c_str(), server.sum(name), real);
      std::abort();
    }
  }
}
