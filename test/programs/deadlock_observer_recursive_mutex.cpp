// A model and a view, each behind a std::recursive_mutex. The model tells the view of changes, the view asks
// the model.
//
// The bug: a callback is made with the lock held. Recursive mutexes make it work in one thread; with two, the
// model's thread waits for the view and the view's thread for the model.
//
// HEDDLE-FAILURE: deadlock
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: deadlock
// HEDDLE-DECISIVE: A D the model is locked before the view asks it
// HEDDLE-DECISIVE: C B the view is locked before the model tells it
// HEDDLE-SMALL: yes
#include <cassert>
#include <functional>
#include <mutex>
#include <thread>

class Model {
 public:
  void observe(std::function<void(int)> observer) { observer_ = std::move(observer); }
  void set(int value) {
    std::unique_lock lock(mutex_);  // [A]
    value_ = value;
#ifdef FIXED
    lock.unlock();
#endif
    observer_(value);
  }
  int get() {
    std::lock_guard lock(mutex_);  // [D]
    return value_;
  }

 private:
  std::recursive_mutex mutex_;
  std::function<void(int)> observer_;
  int value_ = 0;
};

class View {
 public:
  explicit View(Model& model) : model_(model) {}
  void changed(int value) {
    std::lock_guard lock(mutex_);  // [B]
    shown_ = value;
  }
  void repaint() {
    std::lock_guard lock(mutex_);  // [C]
    shown_ = model_.get();
  }
  int shown() {
    std::lock_guard lock(mutex_);
    return shown_;
  }

 private:
  std::recursive_mutex mutex_;
  Model& model_;
  int shown_ = 0;
};

int main() {
  Model model;
  View view(model);
  model.observe([&](int value) { view.changed(value); });
  std::thread editor([&] { model.set(5); });
  std::thread painter([&] { view.repaint(); });
  editor.join();
  painter.join();
  assert(view.shown() == 5 || view.shown() == 0);
}
