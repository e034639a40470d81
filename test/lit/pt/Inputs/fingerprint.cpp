// Two threads mix the numbers of a small table without a lock, as racey does: nearly every order of their
// accesses leaves another fingerprint of 32 bits, and they have no branch that would tell one order from
// another. main looks at each bit, so its way is that of one fingerprint, and fails in one of 4,096 functions:
// each of them is another failure.
//
//   fingerprint ROUNDS
#include <pthread.h>

#include <array>
#include <cstdlib>
#include <utility>

constexpr unsigned kElements = 64, kFailures = 4096;
static volatile unsigned numbers[kElements];
static unsigned ends[2];
static volatile unsigned ones, zeros;
static int rounds;

static unsigned mix(unsigned a, unsigned b) {
  return (a ^ b * 2654435761U) * 2246822519U + 374761393U;
}

static void* work(void* argument) {
  const auto me = reinterpret_cast<size_t>(argument);
  unsigned number = static_cast<unsigned>(me);
  for (int i = 0; i < rounds; ++i) {
    const unsigned first = number >> 26;
    number = mix(number, numbers[first]);
    const unsigned second = number >> 26;
    number = mix(number, numbers[second]);
    numbers[first] = number;
    numbers[second] = mix(number, static_cast<unsigned>(i));
  }
  ends[me] = number;
  return nullptr;
}

template <size_t N>
static void fail() {
  std::abort();
}

template <size_t... N>
static constexpr std::array<void (*)(), kFailures> all_failures(std::index_sequence<N...>) {
  return {fail<N>...};
}
static constexpr std::array<void (*)(), kFailures> failures =
    all_failures(std::make_index_sequence<kFailures>());

int main(int argc, char** argv) {
  rounds = argc > 1 ? std::atoi(argv[1]) : 50;
  for (unsigned i = 0; i < kElements; ++i) numbers[i] = mix(i, i);
  pthread_t threads[2];
  for (size_t i = 0; i < 2; ++i) pthread_create(&threads[i], nullptr, work, reinterpret_cast<void*>(i));
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  unsigned all = mix(ends[0], ends[1]);
  for (unsigned i = 0; i < kElements; ++i) all = mix(all, numbers[i]);
  for (unsigned bit = 0; bit < 32; ++bit) {
    if ((all >> bit & 1) != 0)
      ++ones;
    else
      ++zeros;
  }
  failures[all % kFailures]();
}
