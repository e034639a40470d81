// One line on standard error that is written over again and again; nothing when that is not a terminal.
#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <string>

namespace heddle {

class ProgressLine {
 public:
  explicit ProgressLine(bool wanted) : on_(wanted && ::isatty(2) != 0) {}
  // Skipped when the last one is too fresh to have been read.
  void show_now_and_then(const std::string& text) {
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ < std::chrono::milliseconds(100)) return;
    shown_ = now;
    show(text);
  }
  void show(const std::string& text) {
    if (on_) fmt::print(stderr, "\r\033[K{}", text);
  }
  void clear() { show(""); }

 private:
  bool on_;
  std::chrono::steady_clock::time_point shown_{};
};

}  // namespace heddle
