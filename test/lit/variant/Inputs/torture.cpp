// Odd corners of C++: exceptions through frames and threads, thread-local objects with destructors, virtual bases,
// inline variables, function-local statics, coroutines, comdats that several files share.
#include <any>
#include <coroutine>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <variant>
#include <vector>

inline std::vector<std::string> log_lines;

struct Noisy {
  std::string name;
  explicit Noisy(std::string n) : name(std::move(n)) {}
  ~Noisy() { std::cout << "~" << name << '\n'; }
};

thread_local Noisy per_thread("thread");
static Noisy at_exit("exit");

struct Base {
  virtual ~Base() = default;
  virtual int value() const { return 1; }
};
struct Left : virtual Base {
  int value() const override { return 2; }
};
struct Right : virtual Base {};
struct Both : Left, Right {};

struct Generator {
  struct promise_type {
    int current = 0;
    Generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int v) {
      current = v;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  std::coroutine_handle<promise_type> handle;
};

static Generator count_to(int n) {
  for (int i = 1; i <= n; ++i) co_yield i;
}

static int depth(int n) {
  Noisy frame("frame" + std::to_string(n));
  if (n == 0) throw std::out_of_range("bottom");
  return depth(n - 1) + 1;
}

static std::shared_ptr<int> counter() {
  static auto value = std::make_shared<int>(40);
  return value;
}

int main() {
  try {
    depth(2);
  } catch (const std::logic_error& e) {
    std::cout << e.what() << '\n';
  }
  std::exception_ptr carried;
  std::thread([&] {
    per_thread.name += "1";
    try {
      throw std::string("from thread");
    } catch (...) {
      carried = std::current_exception();
    }
    ++*counter();
  }).join();
  try {
    std::rethrow_exception(carried);
  } catch (const std::string& text) {
    std::cout << text << '\n';
  }
  Both both;
  std::cout << static_cast<Base&>(both).value() << ' ' << (typeid(static_cast<Base&>(both)) == typeid(Both)) << '\n';
  Generator numbers = count_to(4);
  int sum = 0;
  for (numbers.handle.resume(); !numbers.handle.done(); numbers.handle.resume()) sum += numbers.handle.promise().current;
  numbers.handle.destroy();
  std::variant<int, std::string> choice = "text";
  std::function<int(int)> square = [sum](int x) { return x * x + sum; };
  std::cout << sum << ' ' << *counter() << ' ' << std::get<std::string>(choice) << ' ' << square(3) << '\n';
  try {
    (void)std::any_cast<int>(std::any(1.5));
  } catch (const std::bad_any_cast&) {
    std::cout << "bad cast\n";
  }
  return 5;
}
