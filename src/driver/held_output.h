// What a run writes, held back until it is known whether somebody wants to see it.
#pragma once

#include <filesystem>
#include <string>

namespace heddle {

class HeldOutput {
 public:
  // In a file of this folder that has no name. Where none can be made nothing is held back (descriptor() is
  // -1).
  explicit HeldOutput(const std::filesystem::path& folder);
  ~HeldOutput();
  HeldOutput(const HeldOutput&) = delete;
  HeldOutput& operator=(const HeldOutput&) = delete;

  int descriptor() const { return file_; }
  std::string text() const;  // of much the last part

 private:
  int file_;
};

}  // namespace heddle
