// Documents with a reference count of their own. release() looks whether it is the last owner after it has
// taken its own reference away, in two steps: two owners that release at the same time may both see zero, or
// one may destroy the document while the other still reads it.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

class Page {
 public:
  explicit Page(int number) : number_(number), text_("page " + std::to_string(number)) {}
  size_t length() const { return text_.size() + static_cast<size_t>(number_ >= 0); }

 private:
  int number_;
  std::string text_;
};

class Document {
 public:
  Document(std::string name, int pages) : name_(std::move(name)) {
    for (int i = 0; i < pages; ++i) pages_.push_back(std::make_unique<Page>(i));
  }
  ~Document() { owners_ = -1000; }

  void acquire() {
    const std::lock_guard<std::mutex> held(lock_);
    ++owners_;
  }

  void release() {
    {
      const std::lock_guard<std::mutex> held(lock_);
      --owners_;
    }
    if (count() == 0) delete this;  // somebody else may see the same
  }

  size_t length() const {
    size_t all = 0;
    for (const std::unique_ptr<Page>& page : pages_) all += page->length();
    return all;
  }
  const std::string& name() const { return name_; }

 private:
  int count() {
    const std::lock_guard<std::mutex> held(lock_);
    if (owners_ < 0) std::abort();
    return owners_;
  }

  std::mutex lock_;
  int owners_ = 1;
  std::string name_;
  std::vector<std::unique_ptr<Page>> pages_;
};

class Library {
 public:
  Document* open(const std::string& name) {
    const std::lock_guard<std::mutex> held(lock_);
    Document* document = documents_.at(name);
    document->acquire();
    return document;
  }
  void add(const std::string& name, int pages) { documents_[name] = new Document(name, pages); }
  void close(const std::string& name) {
    const std::lock_guard<std::mutex> held(lock_);
    documents_.at(name)->release();
    documents_.erase(name);
  }

 private:
  std::mutex lock_;
  std::map<std::string, Document*> documents_;
};

Library library;
std::vector<size_t> lengths(2);

void read_all(Document* first, Document* second, size_t slot) {
  for (Document* document : {first, second}) {
    lengths[slot] += document->length() + document->name().size();
    document->release();
  }
}

}  // namespace

int main() {
  const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f"};
  for (const std::string& name : names) library.add(name, 3);
  for (size_t i = 0; i + 1 < names.size(); i += 2) {
    Document* one = library.open(names[i]);
    Document* other = library.open(names[i + 1]);
    one->acquire();
    other->acquire();
    library.close(names[i]);
    library.close(names[i + 1]);
    std::thread first(read_all, one, other, 0), second(read_all, one, other, 1);
    first.join();
    second.join();
  }
  std::printf("%zu %zu\n", lengths[0], lengths[1]);
}
