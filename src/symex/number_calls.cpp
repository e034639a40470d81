// strtol and its kin: numbers out of concrete strings, with the place where they end and errno.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "symex/library_calls.h"

namespace heddle {
namespace {

constexpr uint64_t kLongestNumber = 4096;

using Conversion = uint64_t (*)(const char* text, char** end, int base);

template <auto function>
uint64_t convert(const char* text, char** end, int base) {
  if constexpr (std::is_invocable_v<decltype(function), const char*, char**, int>) {
    return static_cast<uint64_t>(function(text, end, base));
  } else {
    const auto value = function(text, end);
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
  }
}

Conversion conversion(std::string name) {
  static const std::map<std::string, Conversion> known = {
      {"strtol", convert<std::strtol>},     {"strtoul", convert<std::strtoul>},
      {"strtoll", convert<std::strtoll>},   {"strtoull", convert<std::strtoull>},
      {"strtoimax", convert<std::strtoll>}, {"strtoumax", convert<std::strtoull>},
      {"strtod", convert<std::strtod>},     {"strtof", convert<std::strtof>},
  };
  constexpr std::string_view kNewer = "__isoc23_";
  if (name.starts_with(kNewer)) name.erase(0, kNewer.size());
  const auto found = known.find(name);
  return found == known.end() ? nullptr : found->second;
}

void parse_number(SymbolicMachine& machine, const Op& op) {
  const auto& call = *llvm::cast<llvm::CallBase>(op.instruction);
  std::vector<uint64_t> arguments;
  for (const llvm::Use& argument : call.args()) {
    if (machine.value(*argument)->expression) return unknown_call(machine, op);
    arguments.push_back(machine.value(*argument)->bits);
  }
  const std::optional<std::string> text = string_at(machine, arguments[0], kLongestNumber);
  if (!text) return unknown_call(machine, op);
  char* end = nullptr;
  errno = 0;
  const uint64_t result = conversion(call.getCalledFunction()->getName().str())(
      text->c_str(), &end, arguments.size() > 2 ? static_cast<int>(arguments[2]) : 0);
  if (errno != 0) machine.set_error(static_cast<uint64_t>(errno));
  if (arguments[1] != 0) {
    const uint64_t at = arguments[0] + static_cast<uint64_t>(end - text->c_str());
    machine.write_from_outside(arguments[1], {reinterpret_cast<const uint8_t*>(&at), sizeof at}, op.counts);
  }
  machine.set(machine.cells(op.to), result & low_bits(op.type->leaves.front().bits));
}

}  // namespace

OpAction number_call_action(const std::string& name) {
  return conversion(name) != nullptr ? parse_number : nullptr;
}

}  // namespace heddle
