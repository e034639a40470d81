// Throws in a thread what its argument says; nobody catches it.
#include <cstring>
#include <stdexcept>
#include <thread>

struct First {
  virtual ~First() = default;
  int number = 1;
};
struct Second : First, std::runtime_error {
  Second() : std::runtime_error("of two bases") {}
};
struct Worse : std::exception {
  const char* what() const noexcept override { return fail(); }
  static const char* fail() { throw 7; }
};

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "";
  std::thread([&] {
    if (std::strcmp(kind, "class") == 0) throw Second();
    if (std::strcmp(kind, "number") == 0) throw 5;
    if (std::strcmp(kind, "worse") == 0) throw Worse();
    std::terminate();
  }).join();
}
