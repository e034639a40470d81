#include "symex/host_calls.h"

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace heddle {
namespace {

template <class T>
T as(uint64_t bits) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(bits);
  } else {
    return static_cast<T>(bits);
  }
}

template <class T>
uint64_t as_bits(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<uint64_t>(value);
  } else {
    return static_cast<uint64_t>(value);
  }
}

template <auto function, class Result, class... Arguments>
HostFunction wrap(Result (*)(Arguments...)) {
  return {[](const uint64_t* arguments) {
            return [&]<size_t... i>(std::index_sequence<i...>) {
              return as_bits(function(as<Arguments>(arguments[i])...));
            }(std::index_sequence_for<Arguments...>());
          },
          sizeof...(Arguments)};
}

#define HEDDLE_HOST(name, result, ...) \
  {#name, wrap<static_cast<result (*)(__VA_ARGS__)>(name)>(static_cast<result (*)(__VA_ARGS__)>(name))}

}  // namespace

HostFunction find_host_function(std::string_view name) {
  static const std::unordered_map<std::string_view, HostFunction> functions = {
      HEDDLE_HOST(strlen, size_t, const char*),
      HEDDLE_HOST(strnlen, size_t, const char*, size_t),
      HEDDLE_HOST(memcmp, int, const void*, const void*, size_t),
      HEDDLE_HOST(bcmp, int, const void*, const void*, size_t),
      HEDDLE_HOST(strcmp, int, const char*, const char*),
      HEDDLE_HOST(strncmp, int, const char*, const char*, size_t),
      HEDDLE_HOST(strcasecmp, int, const char*, const char*),
      HEDDLE_HOST(strncasecmp, int, const char*, const char*, size_t),
      HEDDLE_HOST(strchr, const char*, const char*, int),
      HEDDLE_HOST(strrchr, const char*, const char*, int),
      HEDDLE_HOST(strchrnul, const char*, const char*, int),
      HEDDLE_HOST(strstr, const char*, const char*, const char*),
      HEDDLE_HOST(strpbrk, const char*, const char*, const char*),
      HEDDLE_HOST(strspn, size_t, const char*, const char*),
      HEDDLE_HOST(strcspn, size_t, const char*, const char*),
      HEDDLE_HOST(memchr, const void*, const void*, int, size_t),
      HEDDLE_HOST(memrchr, const void*, const void*, int, size_t),
      HEDDLE_HOST(atoi, int, const char*),
      HEDDLE_HOST(atol, long, const char*),
      HEDDLE_HOST(atoll, long long, const char*),
      HEDDLE_HOST(isalnum, int, int),
      HEDDLE_HOST(isalpha, int, int),
      HEDDLE_HOST(isblank, int, int),
      HEDDLE_HOST(iscntrl, int, int),
      HEDDLE_HOST(isdigit, int, int),
      HEDDLE_HOST(isgraph, int, int),
      HEDDLE_HOST(islower, int, int),
      HEDDLE_HOST(isprint, int, int),
      HEDDLE_HOST(ispunct, int, int),
      HEDDLE_HOST(isspace, int, int),
      HEDDLE_HOST(isupper, int, int),
      HEDDLE_HOST(isxdigit, int, int),
      HEDDLE_HOST(tolower, int, int),
      HEDDLE_HOST(toupper, int, int),
      HEDDLE_HOST(abs, int, int),
      HEDDLE_HOST(labs, long, long),
      HEDDLE_HOST(llabs, long long, long long),
      HEDDLE_HOST(ffs, int, int),
  };
  const auto found = functions.find(name);
  return found == functions.end() ? HostFunction{} : found->second;
}

}  // namespace heddle
