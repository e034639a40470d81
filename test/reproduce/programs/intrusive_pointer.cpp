// Documents held by an intrusive pointer of the house, handed from an editor to a printer and an archive.
//
// The bug: release() decrements and tests the counter in two steps, so two threads that let go at the same time
// can both see zero (the document is destroyed twice), and the counter of living documents becomes negative.
//
// HEDDLE-FAILURE: assert
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
#include <atomic>
#include <cassert>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

std::atomic<int> living{0};

class Document {
 public:
  explicit Document(std::string title) : title_(std::move(title)) { ++living; }
  virtual ~Document() { --living; }
  void keep() { count_.fetch_add(1); }
  bool release() {
    count_.fetch_sub(1);
    return count_.load() == 0;
  }
  const std::string& title() const { return title_; }

 private:
  std::atomic<int> count_{0};
  std::string title_;
};

class Letter final : public Document {
 public:
  Letter(std::string title, std::vector<std::string> lines)
      : Document(std::move(title)), lines_(std::move(lines)) {}

 private:
  std::vector<std::string> lines_;
};

// What was destroyed goes here, as a pool would keep it, so that a second destruction is seen.
std::mutex graveyard_mutex;
std::vector<Document*> graveyard;

void bury(Document* document) {
  std::lock_guard<std::mutex> lock(graveyard_mutex);
  for (const Document* other : graveyard) assert(other != document && "destroyed twice");
  graveyard.push_back(document);
}

class Pointer {
 public:
  Pointer() = default;
  explicit Pointer(Document* document) : document_(document) {
    if (document_ != nullptr) document_->keep();
  }
  Pointer(const Pointer& other) : Pointer(other.document_) {}
  Pointer(Pointer&& other) noexcept : document_(std::exchange(other.document_, nullptr)) {}
  Pointer& operator=(Pointer other) noexcept {
    std::swap(document_, other.document_);
    return *this;
  }
  ~Pointer() {
    if (document_ != nullptr && document_->release()) bury(document_);
  }
  Document* operator->() const { return document_; }

 private:
  Document* document_ = nullptr;
};

class Tray {
 public:
  void put(Pointer document) {
    std::lock_guard<std::mutex> lock(mutex_);
    documents_.push_back(std::move(document));
  }
  std::optional<Pointer> take() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (documents_.empty()) return std::nullopt;
    std::optional<Pointer> first(std::move(documents_.front()));
    documents_.pop_front();
    return first;
  }

 private:
  std::mutex mutex_;
  std::deque<Pointer> documents_;
};

static void handle(Tray& tray, std::size_t& letters) {
  while (std::optional<Pointer> document = tray.take()) letters += (*document)->title().size();
}

int main() {
  Tray printer, archive;
  for (int i = 0; i < 5; ++i) {
    Pointer letter(new Letter("letter number " + std::to_string(i), {"Dear", "Madam"}));
    printer.put(letter);
    archive.put(letter);
  }
  std::size_t printed = 0, archived = 0;
  std::thread first([&] { handle(printer, printed); });
  std::thread second([&] { handle(archive, archived); });
  first.join();
  second.join();
  assert(printed == archived);
  for (Document* document : graveyard) delete document;
  assert(living == 0);
  return 0;
}
