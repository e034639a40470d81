#include "base/sha256.h"

#include <gtest/gtest.h>

#include <random>

namespace heddle {
namespace {

// Examples published with FIPS 180-4.
TEST(Sha256, MatchesPublishedExamples) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheSameAsTheWhole) {
  const std::string text(1000, 'x');
  for (size_t cut = 0; cut <= text.size(); cut += 37)
    EXPECT_EQ(Sha256().update(text.substr(0, cut)).update(text.substr(cut)).hex(), sha256_hex(text)) << cut;
}

TEST(Sha256, TheProcessorsInstructionsGiveTheSame) {
  if (!Sha256::is_accelerated()) GTEST_SKIP() << "this processor has none";
  std::minstd_rand random;
  for (size_t size = 0; size < 1000; ++size) {
    std::string text(size, 0);
    for (char& each : text) each = static_cast<char>(random());
    EXPECT_EQ(Sha256(true).update(text).hex(), Sha256(false).update(text).hex()) << size;
  }
}

}  // namespace
}  // namespace heddle
