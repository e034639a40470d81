// Compiled twice, by another compiler with -DFOREIGN: the linker keeps one definition of `set`, for both.
#include <cassert>
#include <thread>

__attribute__((noinline)) inline void set(int* value) {
  *value = 5;
}

int set_and_get(int* value);

#ifdef FOREIGN
int set_and_get(int* value) {
  set(value);
  return *value;
}
#else
static int value;

int main() {
  std::thread thread([] {
    value = 1;
    set(&value);
    value = 2;
    const int got = set_and_get(&value);
    assert(got == 5);
  });
  const int seen = value;
  thread.join();
  return seen < 0;
}
#endif
