#include "base/sha256.h"

#include <cpuid.h>
#include <fmt/core.h>
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace heddle {
namespace {

// Fractional parts of the cube roots of the first 64 primes (FIPS 180-4, section 4.2.2).
alignas(16) constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian(const unsigned char* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | uint32_t{p[3]};
}

}  // namespace

void Sha256::block(const unsigned char* bytes) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) w[i] = big_endian(bytes + 4 * i);
  for (int i = 16; i < 64; ++i) {
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (int i = 0; i < 64; ++i) {
    const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const uint32_t sum[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) state_[i] += sum[i];
}

// Four rounds at a time. The instructions want the state as (a, b, e, f) and (c, d, g, h), the first one
// highest.
__attribute__((target("sha,sse4.1"))) void Sha256::blocks_accelerated(const unsigned char* bytes,
                                                                      size_t count) {
  const __m128i big_endian_words = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const auto word = [](uint32_t value) { return static_cast<int>(value); };
  auto& s = state_;
  __m128i abef = _mm_set_epi32(word(s[0]), word(s[1]), word(s[4]), word(s[5]));
  __m128i cdgh = _mm_set_epi32(word(s[2]), word(s[3]), word(s[6]), word(s[7]));
  for (; count > 0; --count, bytes += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[16];  // four words each
    for (int i = 0; i < 16; ++i) {
      if (i < 4) {
        w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i), big_endian_words);
      } else {
        const __m128i sevens = _mm_alignr_epi8(w[i - 1], w[i - 2], 4);
        w[i] = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w[i - 4], w[i - 3]), sevens), w[i - 1]);
      }
      const __m128i sum = _mm_add_epi32(w[i], _mm_load_si128(reinterpret_cast<const __m128i*>(kRound) + i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  alignas(16) uint32_t fe_ba[4], hg_dc[4];
  _mm_store_si128(reinterpret_cast<__m128i*>(fe_ba), abef);
  _mm_store_si128(reinterpret_cast<__m128i*>(hg_dc), cdgh);
  s = {fe_ba[3], fe_ba[2], hg_dc[3], hg_dc[2], fe_ba[1], fe_ba[0], hg_dc[1], hg_dc[0]};
}

bool Sha256::is_accelerated() {
  static const bool known = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & (1u << 29)) != 0;
  }();
  return known;
}

void Sha256::blocks(const unsigned char* bytes, size_t count) {
  if (accelerated_) return blocks_accelerated(bytes, count);
  for (; count > 0; --count, bytes += 64) block(bytes);
}

Sha256& Sha256::update(std::string_view bytes) {
  total_ += bytes.size();
  while (!bytes.empty()) {
    if (const size_t whole = bytes.size() / pending_.size(); used_ == 0 && whole > 0) {
      blocks(reinterpret_cast<const unsigned char*>(bytes.data()), whole);
      bytes.remove_prefix(whole * pending_.size());
      continue;
    }
    const size_t take = std::min(bytes.size(), pending_.size() - used_);
    std::memcpy(pending_.data() + used_, bytes.data(), take);
    bytes.remove_prefix(take);
    used_ += take;
    if (used_ == pending_.size()) blocks(pending_.data(), 1), used_ = 0;
  }
  return *this;
}

std::string Sha256::hex() {
  const uint64_t bits = total_ * 8;
  update(std::string_view("\x80", 1));
  while (used_ != 56) update(std::string_view("\0", 1));
  char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(bits >> (56 - 8 * i));
  update(std::string_view(length, 8));
  std::string out;
  for (uint32_t word : state_) out += fmt::format("{:08x}", word);
  return out;
}

}  // namespace heddle
