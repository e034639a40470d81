// Tasks of a router are on the list of one thread, or on that of tasks to come. Who schedules a task looks
// whether it is on a list, and puts it there: two who do so at the same time put it on two lists, and it is
// taken off one of them only.
#include <array>
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>
#include <vector>
struct Task {
  int id = 0, home = 0, runs = 0;
  Task *prev = nullptr, *next = nullptr;
  bool scheduled() const { return prev != nullptr; }
};
struct List {
  std::mutex lock;
  Task head;
  int length = 0;
  List() { head.prev = head.next = &head; }
  void append(Task* task) {
    task->prev = head.prev;
    task->next = &head;
    head.prev->next = task;
    head.prev = task;
    ++length;
  }
  Task* take() {
    Task* task = head.next;
    if (task == &head) return nullptr;
    assert(task->prev == &head);
    head.next = task->next;
    task->next->prev = &head;
    task->prev = task->next = nullptr;
    --length;
    return task;
  }
};
class Router {
 public:
  Router() {
    for (int i = 0; i < 6; ++i) {
      tasks_[i].id = i;
      tasks_[i].home = i % 3;
      schedule(&tasks_[i], i % 3);
    }
  }
  void schedule(Task* task, int thread) {
    List& list = lists_[thread];
#ifdef FIXED
    std::lock_guard one(scheduling_);
    if (task->scheduled()) return;
    std::lock_guard held(list.lock);
#else
    if (task->scheduled()) return;
    std::lock_guard held(list.lock);
#endif
    list.append(task);
  }
  void run(int thread) {
    for (int round = 0; round < 4; ++round) {
      Task* task;
      {
#ifdef FIXED
        std::lock_guard one(scheduling_);
#endif
        std::lock_guard held(lists_[thread].lock);
        task = lists_[thread].take();
      }
      if (!task) continue;
      ++task->runs;
      forward(task, thread);
    }
  }
  int left() const { return lists_[0].length + lists_[1].length + lists_[2].length; }

 private:
  void forward(Task* task, int thread) {
    schedule(&tasks_[(task->id + 1) % 6], thread);
    if (task->runs < 2) schedule(task, (thread + 1) % 3);
  }
  std::array<Task, 6> tasks_;
  std::array<List, 3> lists_;
  std::mutex scheduling_;
};
int main() {
  Router router;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&router, i] { router.run(i); });
  for (auto& thread : threads) thread.join();
  return router.left() < 0;
}
