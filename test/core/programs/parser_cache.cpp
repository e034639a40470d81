// Several threads parse expressions; identifiers are looked up in a cache that all share. The cache forgets its
// oldest entry when it is full, under a lock; but lookups hand out a pointer to the entry, which is used
// without it.
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

struct Symbol {
  std::string name;
  long value = 0;
  std::vector<int> uses;
};

class SymbolCache {
 public:
  explicit SymbolCache(size_t most) : most_(most) {}

  Symbol* lookup(const std::string& name) {
    const std::lock_guard<std::mutex> held(lock_);
    const auto found = symbols_.find(name);
    if (found != symbols_.end()) return found->second.get();
    if (symbols_.size() >= most_) {
      symbols_.erase(order_.front());
      order_.pop_front();
    }
    auto symbol = std::make_unique<Symbol>();
    symbol->name = name;
    for (const char c : name) symbol->value = symbol->value * 31 + c;
    symbol->uses.assign(4, 0);
    order_.push_back(name);
    return (symbols_[name] = std::move(symbol)).get();
  }

 private:
  const size_t most_;
  std::mutex lock_;
  std::unordered_map<std::string, std::unique_ptr<Symbol>> symbols_;
  std::list<std::string> order_;
};

SymbolCache cache(6);

class Parser {
 public:
  Parser(std::string text, int thread) : text_(std::move(text)), thread_(thread) {}

  long expression() {
    long value = term();
    while (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-')) {
      const char operation = text_[at_++];
      const long other = term();
      value = operation == '+' ? value + other : value - other;
    }
    return value;
  }

 private:
  long term() {
    long value = factor();
    while (at_ < text_.size() && text_[at_] == '*') {
      ++at_;
      value *= factor() % 1000;
    }
    return value;
  }

  long factor() {
    if (at_ >= text_.size()) return 0;
    if (text_[at_] == '(') {
      ++at_;
      const long value = expression();
      ++at_;
      return value;
    }
    if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      long value = 0;
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0)
        value = value * 10 + (text_[at_++] - '0');
      return value;
    }
    std::string name;
    while (at_ < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at_])) != 0)
      name += text_[at_++];
    return use(name);
  }

  long use(const std::string& name) {
    Symbol* symbol = cache.lookup(name);
    ++symbol->uses[static_cast<size_t>(thread_)];  // it may be forgotten by now
    if (symbol->name != name) std::abort();
    return symbol->value % 1000;
  }

  const std::string text_;
  const int thread_;
  size_t at_ = 0;
};

void parse_all(int thread, long* result) {
  for (int round = 0; round < 4; ++round) {
    const std::string number = std::to_string(thread * 4 + round);
    Parser parser("a*(b" + number + "+c)-(d*e" + number + "+12)*f" + number, thread);
    *result += parser.expression();
  }
}

}  // namespace

int main() {
  long results[3] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(parse_all, i, &results[i]);
  for (std::thread& thread : threads) thread.join();
  std::printf("%ld %ld %ld\n", results[0], results[1], results[2]);
}
