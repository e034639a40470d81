// Standard input of a recorded program that comes through a pipe or socket: heddle hands it on, and keeps a
// copy for whoever runs the program again. The program sees a pipe; what it has not read when it ends is lost.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "base/result.h"

namespace heddle {

class InputTee {
 public:
  // Begins to copy from `from`, which may be read by nobody else meanwhile.
  static Result<InputTee> start(int from, const std::filesystem::path& copy);
  InputTee(InputTee&& other) noexcept;
  InputTee& operator=(InputTee&&) = delete;
  ~InputTee();

  int reader() const { return reader_; }  // for the program
  // When the program has ended. Empty: all that was handed on is in the copy; else why not.
  std::string finish();

 private:
  InputTee() = default;
  void stop();

  int reader_ = -1, stop_ = -1;
  std::shared_ptr<std::string> problem_;
  std::thread thread_;
};

}  // namespace heddle
