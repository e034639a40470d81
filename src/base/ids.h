// Strong ids: a FunctionId cannot be passed where a BlockId is wanted.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace heddle {

// A dense index 0, 1, 2, ... of things named by Tag.
template <class Tag>
struct Id {
  uint32_t value = 0;

  constexpr Id() = default;
  explicit constexpr Id(size_t index) : value(static_cast<uint32_t>(index)) {}
  constexpr size_t index() const { return value; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

}  // namespace heddle

template <class Tag>
struct std::hash<heddle::Id<Tag>> {
  size_t operator()(heddle::Id<Tag> id) const noexcept { return std::hash<uint32_t>()(id.value); }
};
