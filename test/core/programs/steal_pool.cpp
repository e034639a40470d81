// Workers with a deque each; who has nothing steals from the others. Looking and taking are two steps for a
// thief.
#include <cassert>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

struct Task {
  int depth;
  std::shared_ptr<int> result;
};

class Queue {
 public:
  void push(Task task) {
    const std::lock_guard guard(lock_);
    tasks_.push_back(std::move(task));
    size_ = tasks_.size();
  }
  bool empty() const { return size_ == 0; }
  Task pop(bool own) {
    const std::lock_guard guard(lock_);
    Task task;
    if (own) {
      task = std::move(tasks_.at(tasks_.size() - 1));
      tasks_.pop_back();
    } else {
      task = std::move(tasks_.at(0));
      tasks_.pop_front();
    }
    size_ = tasks_.size();
    return task;
  }

 private:
  std::mutex lock_;
  std::deque<Task> tasks_;
  volatile size_t size_ = 0;
};

class Pool {
 public:
  explicit Pool(int workers) : queues_(static_cast<size_t>(workers)) {
    for (auto& queue : queues_) queue = std::make_unique<Queue>();
  }
  void run(const std::shared_ptr<int>& result) {
    for (int i = 0; i < 3; ++i) queues_[0]->push({1, result});
    std::vector<std::thread> threads;
    for (size_t i = 0; i < queues_.size(); ++i) threads.emplace_back([this, i] { work(i); });
    for (auto& thread : threads) thread.join();
  }

 private:
  void perform(size_t worker, const Task& task) {
    if (task.depth > 0) {
      queues_[worker]->push({task.depth - 1, task.result});
      return;
    }
    const std::lock_guard guard(sum_);
    ++*task.result;
  }
  void work(size_t worker) {
    for (int idle = 0; idle < 3;) {
      bool worked = false;
      for (size_t k = 0; k < queues_.size(); ++k) {
        Queue& queue = *queues_[(worker + k) % queues_.size()];
        if (queue.empty()) continue;
        perform(worker, queue.pop(k == 0));
        worked = true;
        break;
      }
      idle = worked ? 0 : idle + 1;
    }
  }
  std::vector<std::unique_ptr<Queue>> queues_;
  std::mutex sum_;
};

int main() {
  auto result = std::make_shared<int>(0);
  Pool pool(2);
  pool.run(result);
  assert(*result == 3);
}
