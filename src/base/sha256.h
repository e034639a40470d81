// SHA-256 (FIPS 180-4): names programs and cached files by their content.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

class Sha256 {
 public:
  // With the processor's own instructions for it where there are (several times as fast), or without.
  explicit Sha256(bool accelerated = is_accelerated()) : accelerated_(accelerated) {}
  static bool is_accelerated();

  Sha256& update(std::string_view bytes);
  std::string hex();  // ends the computation

 private:
  void blocks(const unsigned char* bytes, size_t count);
  void block(const unsigned char* bytes);
  void blocks_accelerated(const unsigned char* bytes, size_t count);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending_{};
  size_t used_ = 0;
  uint64_t total_ = 0;
  bool accelerated_;
};

inline std::string sha256_hex(std::string_view bytes) {
  return Sha256().update(bytes).hex();
}

}  // namespace heddle
