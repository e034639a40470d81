#include "coredump/std_container.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace heddle {
namespace {

constexpr uint64_t kMostItems = 100'000;
constexpr uint64_t kMostCharacters = 1 << 16;

const llvm::DIType* template_argument(const llvm::DICompositeType& type, unsigned number) {
  const llvm::DITemplateParameterArray arguments = type.getTemplateParams();
  if (!arguments || number >= arguments.size()) return nullptr;
  const auto* argument = llvm::dyn_cast_or_null<llvm::DITemplateTypeParameter>(arguments[number]);
  return argument != nullptr ? argument->getType() : nullptr;
}

class Reader {
 public:
  Reader(const llvm::DICompositeType& type, std::string name, uint64_t address, const DebugTypes& types,
         const ReadMemory& read)
      : type_(type), name_(std::move(name)), address_(address), types_(types), read_(read) {}

  std::optional<StdContainer> view() {
    const auto starts = [&](std::initializer_list<std::string_view> names) {
      return std::ranges::find(names, name_) != names.end();
    };
    if (starts({"vector"})) return vector();
    if (starts({"deque"})) return deque();
    if (starts({"list"})) return list();
    if (starts({"map", "multimap"})) return tree(true);
    if (starts({"set", "multiset"})) return tree(false);
    if (starts({"unordered_map", "unordered_multimap"})) return hash(true);
    if (starts({"unordered_set", "unordered_multiset"})) return hash(false);
    return std::nullopt;
  }

 private:
  std::optional<uint64_t> word(uint64_t at) const {
    uint64_t value = 0;
    return read_(at, &value, sizeof value) == sizeof value ? std::optional(value) : std::nullopt;
  }

  template <size_t N>
  std::optional<std::array<uint64_t, N>> words(uint64_t at) const {
    std::array<uint64_t, N> out;
    return read_(at, out.data(), sizeof out) == sizeof out ? std::optional(out) : std::nullopt;
  }

  // The element's size; 0: nothing can be said.
  uint64_t begin(unsigned argument) {
    out_.element = template_argument(type_, argument);
    return types_.size(out_.element);
  }

  std::optional<StdContainer> vector() {
    const uint64_t size = begin(0);
    const auto at = words<3>(address_);  // start, finish, end of storage
    if (size == 0 || name_ == "vector<bool" || !at || (*at)[1] < (*at)[0] || (*at)[2] < (*at)[1])
      return std::nullopt;
    out_.size = ((*at)[1] - (*at)[0]) / size;
    out_.size_offset = 8;
    for (uint64_t i = 0; i < std::min(out_.size, kMostItems); ++i)
      out_.items.push_back({.value = (*at)[0] + i * size});
    return std::move(out_);
  }

  std::optional<StdContainer> deque() {
    const uint64_t size = begin(0);
    const auto at = words<10>(address_);  // map, its size, two iterators: current, first, last, node
    if (size == 0 || !at) return std::nullopt;
    const uint64_t each = size < 512 ? 512 / size : 1;
    uint64_t node = (*at)[5], now = (*at)[2], last = (*at)[4];
    if (node > (*at)[9]) return std::nullopt;
    out_.size_offset = 48;  // the end's current element
    while (now != (*at)[6] && out_.items.size() < kMostItems) {
      out_.items.push_back({.value = now});
      now += size;
      if (now != last) continue;
      node += 8;
      const std::optional<uint64_t> next = word(node);
      if (node > (*at)[9] || !next) return std::nullopt;
      now = *next;
      last = now + each * size;
    }
    out_.size = out_.items.size();
    return std::move(out_);
  }

  std::optional<StdContainer> list() {
    const uint64_t size = begin(0);
    const auto at = words<3>(address_);  // next, previous, size
    if (size == 0 || !at) return std::nullopt;
    out_.size = (*at)[2];
    out_.size_offset = 16;
    out_.links = 2;
    const uint64_t offset = aligned(16, out_.element);
    for (uint64_t node = (*at)[0]; node != address_ && out_.items.size() < kMostItems;) {
      if (out_.items.size() > out_.size) break;  // being changed just now
      out_.items.push_back({.value = node + offset, .node = node});
      const std::optional<uint64_t> next = word(node);
      if (!next) return std::nullopt;
      node = *next;
    }
    return std::move(out_);
  }

  // Red-black trees: colour, parent, left, right; then the value. In the container itself the comparison comes
  // first, then the header, whose parent is the root.
  std::optional<StdContainer> tree(bool map) {
    const llvm::DIType* key = template_argument(type_, 0);
    const uint64_t size = begin(map ? 1 : 0);
    const uint64_t header = address_ + 8;
    const auto at = words<5>(header);  // ... leftmost, rightmost, size
    if (size == 0 || key == nullptr || !at) return std::nullopt;
    out_.size = (*at)[4];
    out_.size_offset = 40;
    out_.links = 4;
    out_.first_link = 1;
    std::vector<uint64_t> above;
    for (uint64_t node = (*at)[1]; node != 0 || !above.empty();) {
      while (node != 0 && above.size() < 128) {
        const std::optional<uint64_t> left = word(node + 16);
        if (!left) return std::nullopt;
        above.push_back(node);
        node = *left;
      }
      if (above.size() >= 128 || out_.items.size() >= std::min(out_.size + 1, kMostItems)) break;
      add(above.back(), 32, key, map);
      const std::optional<uint64_t> right = word(above.back() + 24);
      if (!right) return std::nullopt;
      above.pop_back();
      node = *right;
    }
    return std::move(out_);
  }

  // Chains through all buckets; each node: next, the value, perhaps its hash.
  std::optional<StdContainer> hash(bool map) {
    const llvm::DIType* key = template_argument(type_, 0);
    const uint64_t size = begin(map ? 1 : 0);
    const auto at = words<4>(address_);  // buckets, their number, the first node, size
    if (size == 0 || key == nullptr || !at) return std::nullopt;
    out_.size = (*at)[3];
    out_.size_offset = 24;
    out_.links = 1;
    for (uint64_t node = (*at)[2]; node != 0 && out_.items.size() < std::min(out_.size + 1, kMostItems);) {
      add(node, 8, key, map);
      const std::optional<uint64_t> next = word(node);
      if (!next) return std::nullopt;
      node = *next;
    }
    return std::move(out_);
  }

  void add(uint64_t node, uint64_t offset, const llvm::DIType* key, bool map) {
    const uint64_t key_at = node + aligned(offset, map ? wider(key, out_.element) : key);
    const uint64_t value =
        map ? key_at + aligned(std::max<uint64_t>(types_.size(key), 1), out_.element) : key_at;
    out_.items.push_back({.value = value, .node = node, .key = key_text(types_.resolve(key), key_at)});
  }

  const llvm::DIType* wider(const llvm::DIType* one, const llvm::DIType* other) const {
    return types_.alignment(one) >= types_.alignment(other) ? one : other;
  }

  uint64_t aligned(uint64_t offset, const llvm::DIType* type) const {
    const uint64_t alignment = types_.alignment(type);
    return (offset + alignment - 1) / alignment * alignment;
  }

  std::string key_text(const llvm::DIType* key, uint64_t at) const {
    if (std_class(key) == "basic_string") {
      const std::optional<std::string> text = std_string_at(at, read_);
      return text ? fmt::format("\"{}\"", text->substr(0, 40)) : "";
    }
    const uint64_t size = types_.size(key);
    uint64_t value = 0;
    const auto* composite = llvm::dyn_cast_or_null<llvm::DICompositeType>(key);
    const bool number = llvm::isa_and_nonnull<llvm::DIBasicType>(key) ||
                        (composite != nullptr && composite->getTag() == llvm::dwarf::DW_TAG_enumeration_type);
    return number && size != 0 && size <= 8 && read_(at, &value, size) == size ? value_text(key, value, size)
                                                                               : "";
  }

  const llvm::DICompositeType& type_;
  const std::string name_;
  const uint64_t address_;
  const DebugTypes& types_;
  const ReadMemory& read_;
  StdContainer out_;
};

}  // namespace

std::string std_class(const llvm::DIType* type) {
  const auto* composite = llvm::dyn_cast_or_null<llvm::DICompositeType>(type);
  if (composite == nullptr) return "";
  const auto* scope = llvm::dyn_cast_or_null<llvm::DINamespace>(composite->getScope());
  while (scope != nullptr && scope->getExportSymbols())  // inline namespaces
    scope = llvm::dyn_cast_or_null<llvm::DINamespace>(scope->getScope());
  if (scope == nullptr || scope->getName() != "std" || scope->getScope() != nullptr) return "";
  const llvm::StringRef name = composite->getName();
  if (name.starts_with("vector<bool")) return "vector<bool";
  if (name.starts_with("basic_string<") && !name.starts_with("basic_string<char,")) return "";
  return name.substr(0, name.find('<')).str();
}

std::optional<StdContainer> std_container_at(const llvm::DIType* type, uint64_t address,
                                             const DebugTypes& types, const ReadMemory& read) {
  std::string name = std_class(type);
  if (name.empty()) return std::nullopt;
  return Reader(*llvm::cast<llvm::DICompositeType>(type), std::move(name), address, types, read).view();
}

std::optional<std::string> std_string_at(uint64_t address, const ReadMemory& read) {
  uint64_t head[2];  // where the characters are, and how many
  if (read(address, head, sizeof head) != sizeof head) return std::nullopt;
  std::string text(std::min(head[1], kMostCharacters), '\0');
  if (read(head[0], text.data(), text.size()) != text.size()) return std::nullopt;
  return text;
}

}  // namespace heddle
