#include "symex/likely_values.h"

#include <algorithm>
#include <tuple>

namespace heddle {

void LikelyValues::read(uint32_t event, uint64_t address, uint32_t bytes, uint64_t now,
                        std::optional<uint64_t> own) {
  std::optional<uint64_t> value = own;
  if (const auto found = writes_.find(address); found != writes_.end() && bytes <= 8) {
    const auto last = own_writes_.find(address);
    const LikelyWrite* best = nullptr;
    for (const LikelyWrite& write : found->second)
      if (write.tsc <= now && write.size >= bytes && write.thread != thread_) best = &write;
    if (best != nullptr && (!value || last == own_writes_.end() || best->tsc > last->second))
      value = bytes == 8 ? best->value : best->value & ((uint64_t{1} << 8 * bytes) - 1);
  }
  std::vector<uint64_t> words(words_of(bytes * 8));
  words[0] = value.value_or(0);
  values_.grow(event + 1);
  values_.set_read(event, words, value.has_value() && bytes <= 8);
}

std::optional<uint64_t> LikelyValues::value(Expr e) {
  if (pool_.width(e) > 64) return std::nullopt;
  values_.grow(0);
  const ExprValues::Value found = values_.value(e);
  return found.certain ? std::optional(found.bits()) : std::nullopt;
}

void add_likely_writes(const ThreadTrace& trace, uint32_t thread, LikelyValues& values, LikelyWrites& writes) {
  for (uint32_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (!writes_value(event.kind) || event.size > 8 || !event.value) continue;
    const auto address = event.address_expression ? values.value(event.address_expression) : event.address;
    const auto value = values.value(event.value);
    if (address && value)
      writes[*address].push_back(
          {.tsc = event.tsc_low, .thread = thread, .event = i, .size = event.size, .value = *value});
  }
}

void sort_by_time(LikelyWrites& writes) {
  for (auto& [address, list] : writes)
    std::ranges::sort(list, {},
                      [](const LikelyWrite& each) { return std::tuple(each.tsc, each.thread, each.event); });
}

}  // namespace heddle
