// Reads numbers and texts from bytes that may end anywhere.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace heddle {

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  size_t left() const { return bytes_.size() - at_; }
  size_t position() const { return at_; }
  bool failed() const { return failed_; }  // something did not fit; what was read since is 0
  void skip(size_t count) { take(count); }

  template <class Number>
  Number number() {
    Number out{};
    const std::string_view bytes = take(sizeof out);
    if (bytes.size() == sizeof out) std::memcpy(&out, bytes.data(), sizeof out);
    return out;
  }
  uint32_t u32() { return number<uint32_t>(); }
  uint64_t u64() { return number<uint64_t>(); }
  std::string_view take(size_t count) {
    if (count > left()) {
      failed_ = true;
      at_ = bytes_.size();
      return {};
    }
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  // Up to a zero byte, or the end.
  std::string text(size_t size) {
    const std::string_view bytes = take(size);
    return std::string(bytes.substr(0, bytes.find('\0')));
  }

 private:
  std::string_view bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace heddle
