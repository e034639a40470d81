// Writes and reads what is stored, field by field. The same function names the fields for both: fields(archive,
// value).
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace heddle {

class FieldWriter {
 public:
  static constexpr bool kReads = false;

  template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void operator()(T number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    out_.append(bytes, sizeof number);
  }
  void operator()(const std::string& text) {
    (*this)(uint64_t{text.size()});
    out_ += text;
  }
  template <class T, class Each>
  void list(const std::vector<T>& values, Each each) {
    (*this)(uint64_t{values.size()});
    for (const T& value : values) each(*this, value);
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// Reads zeros beyond the end, and says in the end whether all was well.
class FieldReader {
 public:
  static constexpr bool kReads = true;

  explicit FieldReader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void operator()(T& number) {
    if constexpr (std::is_same_v<T, bool>) {
      uint8_t byte = 0;
      (*this)(byte);
      well_ &= byte <= 1;
      number = byte == 1;
    } else if (take(sizeof number)) {
      std::memcpy(&number, bytes_.data() - sizeof number, sizeof number);
    }
  }
  void operator()(std::string& text) {
    uint64_t size = 0;
    (*this)(size);
    if (take(size)) text.assign(bytes_.data() - size, size);
  }
  // Memory is taken only as there are bytes to fill it.
  template <class T, class Each>
  void list(std::vector<T>& values, Each each) {
    uint64_t size = 0;
    (*this)(size);
    values.clear();
    for (uint64_t i = 0; i < size && well_; ++i) each(*this, values.emplace_back());
  }
  bool is_whole() const { return well_ && bytes_.empty(); }

 private:
  bool take(uint64_t size) {
    well_ &= size <= bytes_.size();
    if (well_) bytes_.remove_prefix(size);
    return well_;
  }

  std::string_view bytes_;
  bool well_ = true;
};

}  // namespace heddle
