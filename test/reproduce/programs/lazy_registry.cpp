// A registry of codecs that is made when it is first asked for, with plug-ins that enter themselves in it.
//
// The bug: instance() tests and sets the pointer without a lock, so two threads can each make a registry; what
// was entered in the one that lost is not found later.
//
// HEDDLE-FAILURE: exception
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: race
#include <algorithm>
#include <cctype>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

using Codec = std::function<std::string(const std::string&)>;

class Registry {
 public:
  static Registry& instance() {
    if (instance_ == nullptr) instance_ = new Registry;
    return *instance_;
  }

  void enter(const std::string& name, Codec codec) {
    std::lock_guard<std::mutex> lock(mutex_);
    codecs_.emplace(name, std::move(codec));
    names_.insert(name);
  }

  const Codec& find(const std::string& name) const {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = codecs_.find(name);
    if (found == codecs_.end()) throw std::out_of_range("no codec " + name);
    return found->second;
  }

 private:
  static Registry* instance_;  // lives as long as the program
  mutable std::mutex mutex_;
  std::map<std::string, Codec> codecs_;
  std::unordered_set<std::string> names_;
};

Registry* Registry::instance_ = nullptr;

static std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

static std::string reversed(const std::string& text) {
  return {text.rbegin(), text.rend()};
}

static std::string run_lengths(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && text[end] == text[i]) ++end;
    out += std::to_string(end - i) + text[i];
    i = end;
  }
  return out;
}

int main() {
  const std::vector<std::pair<std::string, Codec>> plugins = {
      {"upper", upper}, {"reverse", reversed}, {"run-length", run_lengths}};
  std::vector<std::thread> threads;
  for (const auto& [name, codec] : plugins)
    threads.emplace_back([&name = name, &codec = codec] { Registry::instance().enter(name, codec); });
  for (std::thread& thread : threads) thread.join();
  std::string text = "aaabbc";
  for (const auto& [name, codec] : plugins) text = Registry::instance().find(name)(text);
  std::cout << text << '\n';
  return 0;
}
