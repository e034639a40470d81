// Observers of a document are told of changes without its lock, since they may call it. One that goes away
// while others are told is called nevertheless, though what it shows is gone.
#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>
struct Window {
  std::string title;
  std::vector<int> lines;
};
class Observer {
 public:
  explicit Observer(int id) : window_(new Window{"window " + std::to_string(id), std::vector<int>(8, id)}) {}
  ~Observer() { close(); }
  void changed(int line) {
    window_->lines[static_cast<size_t>(line) % window_->lines.size()]++;
    ++seen_;
  }
  void close() {
    delete window_;
    window_ = nullptr;
  }

 private:
  Window* window_;
  int seen_ = 0;
};
class Document {
 public:
  void add(Observer* observer) {
    std::lock_guard held(lock_);
    observers_.push_back(observer);
  }
  void remove(Observer* observer) {
    std::lock_guard held(lock_);
    observers_.erase(std::find(observers_.begin(), observers_.end(), observer));
  }
  void edit(int line) {
#ifdef FIXED
    std::lock_guard held(lock_);
    ++version_;
    for (Observer* observer : observers_) observer->changed(line);
#else
    std::vector<Observer*> tell;
    {
      std::lock_guard held(lock_);
      ++version_;
      tell = observers_;
    }
    for (Observer* observer : tell) observer->changed(line);
#endif
  }

 private:
  std::mutex lock_;
  std::vector<Observer*> observers_;
  int version_ = 0;
};
int main() {
  Document document;
  std::vector<std::unique_ptr<Observer>> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(std::make_unique<Observer>(i));
    document.add(all.back().get());
  }
  std::thread editor([&] {
    for (int line = 0; line < 5; ++line) document.edit(line);
  });
  std::vector<std::thread> closers;
  for (int i = 0; i < 2; ++i)
    closers.emplace_back([&, i] {
      for (int k = i; k < 4; k += 2) {
        document.remove(all[static_cast<size_t>(k)].get());
        all[static_cast<size_t>(k)]->close();
      }
    });
  editor.join();
  for (auto& closer : closers) closer.join();
}
