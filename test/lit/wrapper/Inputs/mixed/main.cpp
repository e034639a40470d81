#include <atomic>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "pool.h"

extern "C" int add_in_assembly(int a, int b);
extern "C" int foreign_square(int x);

thread_local int depth;

template <class T, int N>
struct Ring {
  T items[N]{};
  int at = 0;
  void push(T value) { items[at++ % N] = value; }
  T sum() const { return std::accumulate(items, items + N, T{}); }
};

static const char* name_of(int n) {
  switch (n) {
    case 0: return "zero";
    case 1: return "one";
    case 2: return "two";
    case 3: return "three";
    case 4: return "four";
    default: return "many";
  }
}

static int checked(int n) {
  ++depth;
  if (n % 7 == 3) throw std::runtime_error(std::string("bad ") + name_of(n));
  return n * n;
}

int main() {
  std::map<int, std::string> results;
  std::mutex mutex;
  std::atomic<int> failures{0};
  {
    Pool pool(4);
    for (int i = 0; i < 20; ++i)
      pool.run([&, i] {
        std::ostringstream text;
        try {
          text << name_of(i) << '=' << checked(i);
        } catch (const std::exception& e) {
          text << e.what();
          ++failures;
        }
        std::lock_guard<std::mutex> lock(mutex);
        results[i] = text.str();
      });
  }
  for (auto& [n, text] : results) std::cout << n << ' ' << text << '\n';
  Ring<long, 8> longs;
  Ring<double, 3> doubles;
  for (int i = 0; i < 30; ++i) longs.push(i), doubles.push(i / 2.0);
  auto later = std::async(std::launch::async, [] { return 42; });
  std::cout << longs.sum() << ' ' << doubles.sum() << ' ' << failures << ' ' << later.get() << ' ' << add_in_assembly(2, 3) << ' '
            << foreign_square(9) << std::endl;
}
