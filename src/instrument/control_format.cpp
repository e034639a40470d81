#include "instrument/control_format.h"

namespace heddle {
namespace {

class FormatReader {
 public:
  explicit FormatReader(std::string_view format) : rest_(format) {}

  std::vector<PrintfArgument> read() {
    while (true) {
      const size_t percent = rest_.find('%');
      if (percent == std::string_view::npos) return std::move(found_);
      rest_.remove_prefix(percent + 1);
      if (!read_conversion()) return {};
    }
  }

 private:
  bool at(std::string_view set) const { return !rest_.empty() && set.find(rest_[0]) != std::string_view::npos; }
  bool take(std::string_view set) {
    if (!at(set)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  uint64_t number() {
    uint64_t value = 0;
    for (; at("0123456789"); rest_.remove_prefix(1)) value = value * 10 + static_cast<uint64_t>(rest_[0] - '0');
    return value;
  }

  // False: the format numbers its arguments.
  bool read_conversion() {
    PrintfArgument argument;
    while (take("-+ #0'I")) {
    }
    if (take("*"))
      found_.emplace_back();
    else
      number();
    if (at("$")) return false;
    if (take(".")) {
      if (take("*")) {
        argument.precision_argument = static_cast<unsigned>(found_.size());
        found_.emplace_back();
      } else {
        argument.precision = number();
      }
    }
    const bool is_long = at("l");
    while (take("hlLqjzt")) {
    }
    if (rest_.empty()) return true;
    const char conversion = rest_[0];
    rest_.remove_prefix(1);
    if (conversion == '%' || conversion == 'm') return true;
    if (conversion == 's')
      argument.kind = is_long ? PrintfArgument::Kind::wide_string : PrintfArgument::Kind::string;
    else if (conversion == 'S')
      argument.kind = PrintfArgument::Kind::wide_string;
    found_.push_back(argument);
    return true;
  }

  std::string_view rest_;
  std::vector<PrintfArgument> found_;
};

}  // namespace

std::vector<PrintfArgument> printf_arguments(std::string_view format) {
  return FormatReader(format).read();
}

}  // namespace heddle
