// Exceptions: thrown through frames with destructors, caught and thrown again, nested, while another is being handled, in
// constructors, through virtual calls and callbacks; in several threads at once.
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static volatile int shared_count;

struct Noise {
  explicit Noise(int at) : place(at) { if (at % 3 == 0) shared_count = shared_count + 1; }
  ~Noise() {
    for (int i = 0; i < place % 4; ++i) shared_count = shared_count + 1;
    // An exception that begins and ends in a destructor, while another is on its way.
    try {
      if (place % 5 == 0) throw place;
    } catch (int value) {
      if (value > 5) shared_count = shared_count - 1;
    }
  }
  int place;
};

struct Fragile {
  explicit Fragile(int at) : first(at), second(at + 1) { if (at % 7 == 3) throw std::runtime_error("fragile"); }
  Noise first, second;
};

struct Shape {
  virtual ~Shape() = default;
  virtual int area(int n) = 0;
};
struct Square : Shape {
  int area(int n) override {
    Noise noise(n);
    if (n % 4 == 1) throw n;
    return n * n;
  }
};
struct Circle : Shape {
  int area(int n) override {
    Fragile fragile(n);
    if (n % 11 == 2) throw std::out_of_range("circle");
    return 3 * n * n;
  }
};

__attribute__((noinline)) static int deep(Shape& shape, int depth, int n) {
  Noise noise(depth);
  if (depth == 0) return shape.area(n);
  return deep(shape, depth - 1, n) + 1;
}

static int middle(Shape& shape, int n) {
  try {
    return deep(shape, n % 6, n);
  } catch (const std::out_of_range&) {
    if (n & 1) throw;
    try {
      return deep(shape, 2, n + 1);
    } catch (...) {
      std::throw_with_nested(std::logic_error("nested"));
    }
  }
}

static int outer(Shape& shape, int n) {
  int result = 0;
  for (int i = 0; i < 3; ++i) {
    Noise noise(i);
    try {
      result += middle(shape, n + i);
      if (result % 9 == 8) continue;
      if (result % 31 == 30) break;
    } catch (int value) {
      result += value;
    } catch (const std::logic_error& error) {
      try {
        std::rethrow_if_nested(error);
        result += 1;
      } catch (int value) {
        result -= value;
      } catch (const std::exception&) {
        result -= 2;
      }
    } catch (...) {
      std::exception_ptr kept = std::current_exception();
      try {
        std::rethrow_exception(kept);
      } catch (const std::runtime_error&) {
        result += 5;
      }
    }
  }
  return result;
}

static int keeps_its_word(Shape& shape, int n) noexcept {
  try {
    return middle(shape, n);
  } catch (...) {
    return -1;
  }
}

int main() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([t] {
      Square square;
      Circle circle;
      for (int n = 0; n < 60; ++n) {
        Shape& shape = (n + t) % 2 ? static_cast<Shape&>(square) : circle;
        const std::function<int(int)> call = [&](int m) { return outer(shape, m); };
        if (call(n) + keeps_its_word(shape, n) > 100) shared_count = shared_count + 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::puts("done");
}
