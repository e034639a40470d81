// Model of what std::unordered_map and its like have out of line: how many buckets a table gets, and the hash
// of bytes.
//
// The order in which a program sees the elements depends on both, so the numbers are those of the library: the
// bucket counts were asked of it (_M_next_bkt), and the hash is MurmurHash64A, which Austin Appleby gave to the
// public domain, with the constants that libstdc++ uses.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <unordered_map>

namespace {

// Primes, each some eight hundredths larger than the one before, from 2^32 on by a half or a third.
// clang-format off
constexpr std::size_t kPrimes[] = {
    2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 103, 109, 113,
    127, 137, 139, 149, 157, 167, 179, 193, 199, 211, 227, 241, 257, 277, 293, 313, 337, 359, 383, 409, 439, 467,
    503, 541, 577, 619, 661, 709, 761, 823, 887, 953, 1031, 1109, 1193, 1289, 1381, 1493, 1613, 1741, 1879, 2029,
    2179, 2357, 2549, 2753, 2971, 3209, 3469, 3739, 4027, 4349, 4703, 5087, 5503, 5953, 6427, 6949, 7517, 8123,
    8783, 9497, 10273, 11113, 12011, 12983, 14033, 15173, 16411, 17749, 19183, 20753, 22447, 24281, 26267, 28411,
    30727, 33223, 35933, 38873, 42043, 45481, 49201, 53201, 57557, 62233, 67307, 72817, 78779, 85229, 92203, 99733,
    107897, 116731, 126271, 136607, 147793, 159871, 172933, 187091, 202409, 218971, 236897, 256279, 277261, 299951,
    324503, 351061, 379787, 410857, 444487, 480881, 520241, 562841, 608903, 658753, 712697, 771049, 834181, 902483,
    976369, 1056323, 1142821, 1236397, 1337629, 1447153, 1565659, 1693859, 1832561, 1982627, 2144977, 2320627,
    2510653, 2716249, 2938679, 3179303, 3439651, 3721303, 4026031, 4355707, 4712381, 5098259, 5515729, 5967347,
    6456007, 6984629, 7556579, 8175383, 8844859, 9569143, 10352717, 11200489, 12117689, 13109983, 14183539,
    15345007, 16601593, 17961079, 19431899, 21023161, 22744717, 24607243, 26622317, 28802401, 31160981, 33712729,
    36473443, 39460231, 42691603, 46187573, 49969847, 54061849, 58488943, 63278561, 68460391, 74066549, 80131819,
    86693767, 93793069, 101473717, 109783337, 118773397, 128499677, 139022417, 150406843, 162723577, 176048909,
    190465427, 206062531, 222936881, 241193053, 260944219, 282312799, 305431229, 330442829, 357502601, 386778277,
    418451333, 452718089, 489790921, 529899637, 573292817, 620239453, 671030513, 725980837, 785430967, 849749479,
    919334987, 994618837, 1076067617, 1164186217, 1259520799, 1362662261, 1474249943, 1594975441, 1725587117,
    1866894511, 2019773507, 2185171673, 2364114217, 2557710269, 2767159799, 2993761039, 3238918481, 3504151727,
    3791104843, 4101556399, 4294967291, 6442450933, 8589934583, 12884901857, 17179869143, 25769803693, 34359738337,
    51539607367, 68719476731, 103079215087, 137438953447, 206158430123, 274877906899, 412316860387, 549755813881,
    824633720731, 1099511627689, 1649267441579, 2199023255531, 3298534883309, 4398046511093, 6597069766607,
    8796093022151, 13194139533241, 17592186044399, 26388279066581, 35184372088777, 52776558133177, 70368744177643,
    105553116266399, 140737488355213, 211106232532861, 281474976710597, 562949953421231, 1125899906842597,
    2251799813685119, 4503599627370449, 9007199254740881, 18014398509481951, 36028797018963913, 72057594037927931,
    144115188075855859, 288230376151711717, 576460752303423433, 1152921504606846883, 2305843009213693951,
    4611686018427387847, 9223372036854775783, 18446744073709551557u};
// clang-format on

// The last bytes, fewer than eight.
std::uint64_t little_endian(const unsigned char* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i > 0; --i) value = value << 8 | bytes[i - 1];
  return value;
}

std::uint64_t fold(std::uint64_t value) {
  return value ^ value >> 47;
}

}  // namespace

namespace std {

namespace __detail {

size_t _Prime_rehash_policy::_M_next_bkt(size_t count) const {
  if (count == 0) return 1;
  const size_t* const last = end(kPrimes) - 1;
  const size_t* const prime = lower_bound(begin(kPrimes), last, count);
  _M_next_resize =
      prime == last ? ~size_t(0) : size_t(__builtin_floor(double(*prime) * double(_M_max_load_factor)));
  return *prime;
}

pair<bool, size_t> _Prime_rehash_policy::_M_need_rehash(size_t buckets, size_t elements, size_t more) const {
  constexpr size_t kFirstElements = 11;  // a table that has none yet makes room for so many
  if (elements + more <= _M_next_resize) return {false, 0};
  const size_t room = max(elements + more, _M_next_resize != 0 ? size_t(0) : kFirstElements);
  const double least = double(room) / double(_M_max_load_factor);
  if (least >= double(buckets))
    return {true, _M_next_bkt(max(size_t(__builtin_floor(least)) + 1, buckets * _S_growth_factor))};
  _M_next_resize = size_t(__builtin_floor(double(buckets) * double(_M_max_load_factor)));
  return {false, 0};
}

}  // namespace __detail

size_t _Hash_bytes(const void* data, size_t size, size_t seed) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995;
  const unsigned char* bytes = static_cast<const unsigned char*>(data);
  const unsigned char* const whole = bytes + (size & ~size_t(7));
  uint64_t hash = seed ^ size * kFactor;
  for (; bytes != whole; bytes += 8) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    hash = (hash ^ fold(word * kFactor) * kFactor) * kFactor;
  }
  if ((size & 7) != 0) hash = (hash ^ little_endian(bytes, size & 7)) * kFactor;
  return fold(fold(hash) * kFactor);
}

}  // namespace std
