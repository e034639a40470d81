// OpenMP with classes: reductions of their own, private copies, tasks that destroy what they were given.
//
// HEDDLE-CC: -fopenmp
#include <atomic>
#include <cassert>
#include <cstdio>
#include <string>
#include <vector>

static std::atomic<int> alive;
struct Counted {
  std::string text;
  explicit Counted(std::string given = {}) : text(std::move(given)) { ++alive; }
  Counted(const Counted& other) : text(other.text) { ++alive; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }
};

using Names = std::vector<std::string>;
#pragma omp declare reduction(join : Names : omp_out.insert(omp_out.end(), omp_in.begin(), omp_in.end()))

int main() {
  Names names;
#pragma omp parallel for num_threads(3) reduction(join : names)
  for (int i = 0; i < 40; ++i) names.push_back("name " + std::to_string(i));
  assert(names.size() == 40);
  {
    Counted given("a text that is too long to be kept in place");
    std::size_t length = 0;
#pragma omp parallel num_threads(3) firstprivate(given)
#pragma omp single
    for (int i = 0; i < 12; ++i) {
#pragma omp task firstprivate(given, i) shared(length)
      {
        given.text += std::to_string(i);
#pragma omp atomic
        length += given.text.size();
      }
    }
    assert(length == 12 * given.text.size() + 14);
    Counted last;
#pragma omp parallel for num_threads(3) schedule(dynamic, 2) lastprivate(last)
    for (int i = 0; i < 20; ++i) last.text = std::to_string(i);
    assert(last.text == "19");
#pragma omp parallel num_threads(3)
#pragma omp single
#pragma omp taskloop num_tasks(5) firstprivate(given)
    for (int i = 0; i < 20; ++i) {
#pragma omp critical
      names[static_cast<std::size_t>(i)] = given.text;
    }
    assert(names[19] == given.text);
  }
  assert(alive == 0);
  std::size_t hash = 0;
  for (const std::string& name : names)
    for (const char c : name) hash = hash * 31 + static_cast<unsigned char>(c);
  std::printf("%zx\n", hash);
  return 0;
}
