// A thread that changes one element in each of many containers while another one computes; then that one crashes. The comparison must
// name each changed element, and nothing else.
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <pthread.h>
#include <string>
#include <unordered_map>
#include <vector>

struct entry {
  entry* next = nullptr;
  int size = 0;
  double rate = 0.5;
};
enum class colour { red, green };
struct shape {
  virtual ~shape() = default;
  int id = 1;
};
struct circle : shape {
  long radius = 7;
};

struct state {
  entry* table[4] = {};
  std::vector<entry> rows = std::vector<entry>(3);
  std::vector<std::unique_ptr<entry>> owned;
  std::map<int, long> numbers = {{1, 10}, {2, 20}, {5, 50}};
  std::map<std::string, entry> named;
  std::unordered_map<int, std::string> texts = {{7, "seven"}, {8, "eight"}};
  std::list<int> queue = {1, 2, 3};
  std::deque<int> ring = std::deque<int>(300, 1);
  std::shared_ptr<entry> shared = std::make_shared<entry>();
  std::string title = "a title that is longer than the buffer inside";
  colour paint = colour::red;
  std::unique_ptr<shape> drawn = std::make_unique<circle>();
  bool on : 1 = false;
  unsigned left : 5 = 3;
  int grid[2][3] = {};
};

state* all;
volatile int usable = 1;

static void compute(long rounds) {
  __asm__ volatile("1: dec %0; jnz 1b" : "+r"(rounds));
}

__attribute__((noinline)) static int use(int* where) {
  return *where;
}

static void* reader(void*) {
  int here = 0;
  compute(200000000);
  return use(usable ? &here : nullptr) == 0 ? nullptr : all;
}

static void* writer(void* arg) {
  auto* given = static_cast<state*>(arg);
  compute(40000000);
  given->table[3]->next->size = 9;
  given->rows[1].rate = 1.5;
  given->owned[0]->size = 4;
  given->numbers[5] = 55;
  given->named["key"].size = 6;
  given->texts[8] = "acht";
  given->queue.back() = 30;
  given->ring[200] = 2;
  given->shared->size = 8;
  given->title[2] = 'T';
  given->paint = colour::green;
  static_cast<circle*>(given->drawn.get())->radius = 70;
  given->on = true;
  given->grid[1][2] = 5;
  usable = 0;
  return nullptr;
}

int main() {
  all = new state;
  all->table[3] = new entry;
  all->table[3]->next = new entry;
  all->owned.push_back(std::make_unique<entry>());
  all->named["key"].size = 5;
  pthread_t one, other;
  pthread_create(&one, nullptr, reader, all);
  pthread_create(&other, nullptr, writer, all);
  pthread_join(one, nullptr);
  pthread_join(other, nullptr);
}
