// Uses what libstdc++ and libc have out of line, and prints what came of it.
#include <arpa/inet.h>
#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <search.h>

#include <climits>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <vector>

static unsigned next_random() {
  static unsigned state = 1;
  state = state * 1103515245 + 12345;
  return state >> 16;
}

static void trees() {
  std::map<int, int> map;
  std::multiset<int> set;
  for (int i = 0; i < 5000; ++i) {
    const int key = static_cast<int>(next_random() % 400);
    switch (next_random() % 4) {
      case 0:
        map.erase(key);
        break;
      case 1:
        if (auto at = set.find(key); at != set.end()) set.erase(at);
        break;
      default:
        map[key] += i;
        set.insert(key % 50);
    }
  }
  unsigned sum = 0;
  for (const auto& [key, value] : map) sum = sum * 31 + static_cast<unsigned>(key * 7 + value);
  for (auto at = map.rbegin(); at != map.rend(); ++at) sum = sum * 31 + static_cast<unsigned>(at->first);
  for (const int key : set) sum = sum * 31 + static_cast<unsigned>(key);
  std::printf("trees: %zu %zu %u\n", map.size(), set.size(), sum);
}

static void lists() {
  std::list<int> a, b, none;
  for (int i = 0; i < 20; ++i) (i % 3 == 0 ? a : b).push_back(i * 7 % 20);
  a.sort();
  b.reverse();
  a.splice(std::next(a.begin()), b, std::next(b.begin(), 2), b.end());
  a.swap(b);
  b.swap(none);
  a.remove(14);
  std::printf("lists:");
  for (const std::list<int>* list : {&a, &b, &none})
    for (const int value : *list) std::printf(" %d", value);
  std::printf("\n");
}

static void tables() {
  std::unordered_map<std::string, int> table;
  for (int i = 0; i < 300; ++i)
    table["key " + std::string(static_cast<size_t>(i % 13), 'x') + std::to_string(i)] = i;
  table.erase("key 0");
  table.rehash(1000);
  table.max_load_factor(0.5f);
  for (int i = 0; i < 300; ++i) table[std::to_string(i)] = i;
  unsigned sum = 0;
  for (const auto& [key, value] : table) sum = sum * 31 + static_cast<unsigned>(value);
  std::printf("tables: %zu %zu %u\n", table.size(), table.bucket_count(), sum);
}

static void strings() {
  std::string text = "a text";
  text.insert(1, " longer").append(3, '!').replace(0, 1, "some").resize(30, '.');
  text += text.substr(5, 6);
  text.erase(2, 3);
  std::printf("strings: %s %zu %zu %d\n", text.c_str(), text.find("text"), text.rfind('!'),
              text.compare("some"));
  try {
    text.at(100) = 'x';
  } catch (const std::out_of_range& error) {
    std::printf("strings: %s\n", error.what());
  }
}

struct Item {
  int key, number;
  char rest[40];
};

static int compare_items(const void* a, const void* b) {
  return static_cast<const Item*>(a)->key - static_cast<const Item*>(b)->key;
}

static void sorting() {
  std::vector<Item> items(60);
  for (int i = 0; i < 60; ++i) items[static_cast<size_t>(i)] = {static_cast<int>(next_random() % 20), i, {}};
  std::qsort(items.data(), items.size(), sizeof(Item), compare_items);
  unsigned sum = 0;
  for (const Item& item : items) sum = sum * 31 + static_cast<unsigned>(item.key * 100 + item.number);
  const Item key = {7, 0, {}};
  const auto* found =
      static_cast<const Item*>(std::bsearch(&key, items.data(), items.size(), sizeof(Item), compare_items));
  size_t count = 59;
  const Item missing = {50, 50, {}};
  lsearch(&missing, items.data(), &count, sizeof(Item), compare_items);
  std::printf("sorting: %u %d %zu %d\n", sum, found != nullptr ? found->number : -1, count, items[59].number);
}

static void threads() {
  std::mutex mutex;
  std::condition_variable changed;
  std::once_flag once;
  int turn = 0, first = 0;
  const auto work = [&](int number) {
    std::call_once(once, [&] { ++first; });
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return turn == number; });
    std::printf("threads: %d\n", number);
    ++turn;
    changed.notify_all();
  };
  std::thread one(work, 0), two(work, 1), three(work, 2);
  two.join();
  one.join();
  three.join();
  std::printf("threads: %d\n", first);
  try {
    one.join();
  } catch (const std::system_error& error) {
    std::printf("threads: %s\n", error.what());
  }
}

static void places() {
  for (const time_t now : {0L, 1700000000L, -1L, 253402300799L, 300000000000L}) {
    const tm* const local = localtime(&now);
    std::printf("places: %d %d %s", local->tm_year, gmtime(&now)->tm_hour,
                now < 253402300800 ? asctime(local) : "\n");
    const char* const text = ctime(&now);
    std::printf("places: %s", text != nullptr ? text : "none\n");
  }
  char words[] = ",,one, two,three,";
  for (const char* word = strtok(words, ", "); word != nullptr; word = strtok(nullptr, ", "))
    std::printf("places: %s\n", word);
  int point, sign;
  for (const double value : {0.0, -1.0 / 3, 12345.678, 1e-9, 4e20}) {
    std::printf("places: %s", ecvt(value, 12, &point, &sign));
    std::printf(" %d %d %s", point, sign, fcvt(value, 5, &point, &sign));
    std::printf(" %d %d %g", point, sign, lgamma(value - 0.5));
    std::printf(" %d %g\n", signgam, static_cast<double>(lgammaf(static_cast<float>(value) - 1.5f)));
  }
  for (const long number : {0L, 1L, 4095L, 123456789L, -1L, LONG_MAX, LONG_MIN})
    std::printf("places: %s\n", l64a(number));
  for (const char* name : {"root", "daemon", "nobody", "no such name"}) {
    const passwd* const user = getpwnam(name);
    const group* const group = getgrnam(name);
    std::printf("places: %s %s\n", user != nullptr ? getpwuid(user->pw_uid)->pw_dir : "no user",
                group != nullptr ? getgrgid(group->gr_gid)->gr_name : "no group");
  }
  const servent* const service = getservbyname("ssh", "tcp");
  std::printf("places: %s\n",
              service != nullptr ? getservbyport(service->s_port, nullptr)->s_name : "no service");
  const protoent* const protocol = getprotobyname("udp");
  std::printf("places: %s\n",
              protocol != nullptr ? getprotobynumber(protocol->p_proto)->p_name : "no protocol");
  const hostent* const host = gethostbyname("127.0.0.7");
  std::printf("places: %s %s\n", host != nullptr ? host->h_name : "no host",
              host != nullptr ? inet_ntoa(*reinterpret_cast<in_addr*>(host->h_addr_list[0])) : "");
  in_addr local{htonl(INADDR_LOOPBACK)};
  const hostent* const named = gethostbyaddr(&local, sizeof local, AF_INET);
  std::printf("places: %s\n", named != nullptr ? named->h_name : "no name");
}

int main() {
  trees();
  lists();
  tables();
  strings();
  sorting();
  threads();
  places();
}
