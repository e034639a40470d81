// What C++ programs do with threads: a pool, futures, exceptions, shared pointers, maps, strings, atomics of
// all orders, thread-local objects, statics, semaphores, latches, barriers, chance.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <iostream>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <regex>
#include <semaphore>
#include <shared_mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>
struct Pool {
  std::vector<std::jthread> threads;
  std::deque<std::function<void()>> jobs;
  std::mutex m;
  std::condition_variable_any cv;
  bool stop = false;
  explicit Pool(int n) {
    for (int i = 0; i < n; ++i) threads.emplace_back([this](std::stop_token st) { run(st); });
  }
  ~Pool() {
    {
      std::lock_guard l(m);
      stop = true;
    }
    cv.notify_all();
    threads.clear();
  }
  void run(std::stop_token st) {
    for (;;) {
      std::function<void()> j;
      {
        std::unique_lock l(m);
        cv.wait(l, [&] { return stop || !jobs.empty(); });
        if (jobs.empty()) return;
        j = std::move(jobs.front());
        jobs.pop_front();
      }
      j();
    }
  }
  template <class F>
  auto add(F f) {
    auto p = std::make_shared<std::packaged_task<decltype(f())()>>(std::move(f));
    auto r = p->get_future();
    {
      std::lock_guard l(m);
      jobs.push_back([p] { (*p)(); });
    }
    cv.notify_one();
    return r;
  }
};
thread_local int calls;
thread_local std::string name = "none";
struct Node {
  int v;
  std::shared_ptr<Node> next;
  ~Node() { ++destroyed; }
  static std::atomic<int> destroyed;
};
std::atomic<int> Node::destroyed{0};
struct Base {
  virtual ~Base() = default;
  virtual int f(int) = 0;
};
struct A : Base {
  int f(int x) override { return x + 1; }
};
struct B : Base {
  int f(int x) override {
    if (x % 7 == 0) throw std::runtime_error("seven " + std::to_string(x));
    return x * 2;
  }
};
std::map<std::string, int> table;
std::shared_mutex tm;
std::unordered_map<int, std::string> racy_free;
std::atomic<int> seq{0}, rel{0}, rlx{0}, cons{0};
std::atomic<long> a64;
std::atomic<bool> flag;
std::atomic_flag af = ATOMIC_FLAG_INIT;
std::atomic<std::shared_ptr<int>> asp;
struct Big {
  long a, b;
  bool operator==(const Big&) const = default;
};
std::atomic<Big> big;
int local_static() {
  static int v = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return 42;
  }();
  return v;
}
std::once_flag once;
int onced;
int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : 300;
  std::vector<std::future<long>> rs;
  asp = std::make_shared<int>(0);
  std::counting_semaphore<4> sem(2);
  std::latch lt(n);
  {
    Pool p(4);
    for (int i = 0; i < n; ++i)
      rs.push_back(p.add([i, &sem, &lt]() -> long {
        struct Done {
          std::latch& l;
          ~Done() { l.count_down(); }
        } d{lt};
        ++calls;
        name = "t" + std::to_string(i);
        std::call_once(once, [] { onced = 1; });
        {
          std::unique_lock l(tm);
          table["key" + std::to_string(i % 17)] += i;
        }
        {
          std::shared_lock l(tm);
          auto it = table.find("key3");
          if (it != table.end()) seq += it->second % 3;
        }
        rel.fetch_add(1, std::memory_order_release);
        rlx.fetch_xor(i, std::memory_order_relaxed);
        cons.store(i, std::memory_order_release);
        a64.fetch_sub(i, std::memory_order_acq_rel);
        int e = rel.load(std::memory_order_acquire);
        while (!rel.compare_exchange_weak(e, e + 2, std::memory_order_acq_rel, std::memory_order_relaxed)) {
        }
        Big b = big.load();
        while (!big.compare_exchange_strong(b, Big{b.a + 1, b.b + i})) {
        }
        while (af.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
        racy_free[i % 13] += "x";
        af.clear(std::memory_order_release);
        auto sp = asp.load();
        asp.store(std::make_shared<int>(*sp + 1));
        std::shared_ptr<Node> head;
        for (int k = 0; k < 5; ++k) head = std::make_shared<Node>(Node{k, head});
        std::unique_ptr<Base> o;
        if (i % 2)
          o = std::make_unique<A>();
        else
          o = std::make_unique<B>();
        sem.acquire();
        std::ostringstream os;
        os << i << ' ' << std::hex << i * 3.5 << ' ' << name;
        sem.release();
        try {
          if (i % 11 == 0) (void)os.str().at(1000);
        } catch (const std::out_of_range&) {
          seq++;
        }
        try {
          if (i % 13 == 0) (void)std::stoi("x");
        } catch (const std::invalid_argument&) {
          seq++;
        }
        return o->f(i) + (long)os.str().size() + local_static();
      }));
    lt.wait();
  }
  long sum = 0;
  int thrown = 0;
  for (auto& r : rs) try {
      sum += r.get();
    } catch (const std::exception& e) {
      ++thrown;
      sum += std::string(e.what()).size();
    }
  std::barrier bar(3);
  std::vector<int> v(3000);
  std::vector<std::thread> ts;
  std::mt19937 g{std::random_device{}()};
  for (auto& x : v) x = g() % 1000;
  for (int k = 0; k < 3; ++k)
    ts.emplace_back([&, k] {
      std::sort(v.begin() + k * 1000, v.begin() + (k + 1) * 1000);
      bar.arrive_and_wait();
      if (k == 0) {
        std::inplace_merge(v.begin(), v.begin() + 1000, v.begin() + 2000);
        std::inplace_merge(v.begin(), v.begin() + 2000, v.end());
      }
    });
  for (auto& t : ts) t.join();
  std::regex re("t([0-9]+)");
  std::smatch mm;
  std::string s = "at t123";
  std::regex_search(s, mm, re);
  auto fu = std::async(std::launch::async, [] { return 5; });
  sum += fu.get();
  std::cout << sum << ' ' << thrown << ' ' << table.size() << ' ' << rel << ' ' << rlx << ' ' << a64 << ' '
            << Node::destroyed << ' ' << big.load().a << ' ' << big.load().b << ' '
            << std::is_sorted(v.begin(), v.end()) << ' ' << mm[1] << ' ' << std::endl;
  std::cout << "racy: " << cons << ' ' << *asp.load() << ' ' << seq << ' ' << v[1500] << std::endl;
  return 0;
}
