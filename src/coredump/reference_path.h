// How a piece of memory was reached, as the source would write it: cache.table[3]->next->size. Most pieces are
// never named: a path is a chain on the stack of whoever walks, and becomes text when it is asked for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

class ReferencePath {
 public:
  static ReferencePath root(std::string_view name) { return {Kind::root, nullptr, name, 0}; }
  // What the pointer of this name leads to.
  static ReferencePath pointer(std::string_view name) { return {Kind::pointer, nullptr, name, 0}; }
  static ReferencePath member(const ReferencePath& of, std::string_view name) {
    return {Kind::member, &of, name, 0};
  }
  static ReferencePath element(const ReferencePath& of, uint64_t number) {
    return {Kind::element, &of, "", number};
  }
  static ReferencePath key(const ReferencePath& of, std::string_view key) { return {Kind::key, &of, key, 0}; }
  static ReferencePath offset(const ReferencePath& of, uint64_t bytes) {
    return {Kind::offset, &of, "", bytes};
  }

  unsigned depth() const { return depth_; }

  std::string text() const {
    if (kind_ == Kind::root) return std::string(name_);
    if (kind_ == Kind::pointer) return "*" + std::string(name_);
    const bool direct = above_->kind_ == Kind::pointer;  // no star, but an arrow or an index
    const std::string base = direct && kind_ != Kind::offset ? std::string(above_->name_) : above_->text();
    switch (kind_) {
      case Kind::member:
        return base + (direct ? "->" : ".") + std::string(name_);
      case Kind::element:
        return base + "[" + std::to_string(number_) + "]";
      case Kind::key:
        return (direct ? "(*" + base + ")" : base) + "[" + std::string(name_) + "]";
      default:
        return base + "+" + std::to_string(number_);
    }
  }

 private:
  enum class Kind : uint8_t { root, pointer, member, element, key, offset };
  ReferencePath(Kind kind, const ReferencePath* above, std::string_view name, uint64_t number)
      : kind_(kind),
        above_(above),
        name_(name),
        number_(number),
        depth_(above != nullptr ? above->depth_ + 1 : 0) {}

  Kind kind_;
  const ReferencePath* above_;  // outlives this one
  std::string_view name_;
  uint64_t number_;
  unsigned depth_;
};

}  // namespace heddle
