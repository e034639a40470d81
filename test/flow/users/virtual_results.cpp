// What a virtual function gives, in a table with others that give nothing: what is stored there others find, and race for.
#include <cstdio>
#include <pthread.h>

struct Slot {
  long number;
  long* given;
};
static Slot shared;

struct Base {
  virtual Slot* get() = 0;
  virtual ~Base() {}
};
struct Derived : Base {
  Slot* kept;
  explicit Derived(Slot* slot) : kept(slot) {}
  Slot* get() override { return kept; }
};

__attribute__((noinline)) static void work(Base* base) {
  Slot* slot = base->get();
  long* mine = new long(5);
  slot->given = mine;
  for (int i = 0; i < 5000000; ++i) {
    *mine = *mine * 3 + 1;
    asm volatile("" ::: "memory");
  }
}

static void* reader(void*) {
  long* found;
  while ((found = __atomic_load_n(&shared.given, __ATOMIC_ACQUIRE)) == nullptr) {}
  unsigned long sum = 0;
  for (int i = 0; i < 2000; ++i) {
    sum = sum * 31 + static_cast<unsigned long>(*found);
    for (volatile int rest = 0; rest < 50;) rest = rest + 1;
  }
  std::printf("%lx\n", sum);
  return nullptr;
}

int main() {
  pthread_t thread;
  Base* base = new Derived(&shared);
  pthread_create(&thread, nullptr, reader, nullptr);
  work(base);
  pthread_join(thread, nullptr);
}
