#include "symex/written_pointers.h"

#include <vector>

namespace heddle {
namespace {

constexpr uint64_t kPointer = 8;  // bytes

struct Range {
  uint64_t begin, end;
};

}  // namespace

WrittenPointers written_pointers(std::span<const ThreadTrace* const> threads,
                                 const std::function<uint64_t(uint64_t)>& initial) {
  WrittenPointers out;
  std::vector<Range> written_otherwise;
  for (const ThreadTrace* thread : threads) {
    for (const Event& event : thread->events) {
      if (!writes_value(event.kind)) continue;
      if (event.address_expression) {
        if (event.object_size == 0) return {};
        written_otherwise.push_back({event.object, event.object + event.object_size});
      } else if (event.size == kPointer && thread->pool.is_constant(event.value)) {
        out[event.address].insert(thread->pool.constant_bits(event.value));
      } else {
        written_otherwise.push_back({event.address, event.address + event.size});
      }
    }
  }
  std::vector<uint64_t> whole;
  for (const auto& [address, values] : out) whole.push_back(address);
  for (const uint64_t address : whole)  // those that overlap
    for (auto other = out.upper_bound(address); other != out.end() && other->first < address + kPointer;
         ++other)
      written_otherwise.push_back({other->first, address + kPointer});
  for (const Range& range : written_otherwise)
    out.erase(out.lower_bound(range.begin < kPointer ? 0 : range.begin - kPointer + 1),
              out.lower_bound(range.end));
  for (auto& [address, values] : out) values.insert(initial(address));
  return out;
}

}  // namespace heddle
