#include "trace/math_functions.h"

#include <bit>
#include <cmath>
#include <unordered_map>

namespace heddle {
namespace {

template <double (*F)(double)>
uint64_t one(uint64_t a, uint64_t) {
  return std::bit_cast<uint64_t>(F(std::bit_cast<double>(a)));
}

template <double (*F)(double, double)>
uint64_t two(uint64_t a, uint64_t b) {
  return std::bit_cast<uint64_t>(F(std::bit_cast<double>(a), std::bit_cast<double>(b)));
}

float single(uint64_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

template <float (*F)(float)>
uint64_t one_single(uint64_t a, uint64_t) {
  return std::bit_cast<uint32_t>(F(single(a)));
}

template <float (*F)(float, float)>
uint64_t two_single(uint64_t a, uint64_t b) {
  return std::bit_cast<uint32_t>(F(single(a), single(b)));
}

#define ONE(name)                           \
  {#name, 64, 1, one<::name>}, {            \
    #name "f", 32, 1, one_single<::name##f> \
  }
#define TWO(name)                           \
  {#name, 64, 2, two<::name>}, {            \
    #name "f", 32, 2, two_single<::name##f> \
  }
constexpr MathFunction kFunctions[] = {
    ONE(sin),   ONE(cos),       ONE(tan),   ONE(asin),   ONE(acos),   ONE(atan),  ONE(sinh),
    ONE(cosh),  ONE(tanh),      ONE(asinh), ONE(acosh),  ONE(atanh),  ONE(exp),   ONE(exp2),
    ONE(exp10), ONE(expm1),     ONE(log),   ONE(log2),   ONE(log10),  ONE(log1p), ONE(logb),
    ONE(cbrt),  ONE(erf),       ONE(erfc),  ONE(lgamma), ONE(tgamma), TWO(atan2), TWO(pow),
    TWO(fmod),  TWO(remainder), TWO(hypot), TWO(fdim),   TWO(fmin),   TWO(fmax),  TWO(nextafter),
};
#undef ONE
#undef TWO

}  // namespace

const MathFunction* find_math_function(std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const MathFunction*> map;
    for (const MathFunction& function : kFunctions) map.emplace(function.name, &function);
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

}  // namespace heddle
