#include "recording/log_file.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "recording/log_writer.h"

namespace heddle {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr size_t kPage = HEDDLE_RECORD_PAGE;

// Four chunks of data (pages 2, 4, 5, 6) and two of path (1, 3).
LogWriter some_log() {
  LogWriter log;
  for (uint64_t i = 0; i < 600; ++i) log.bits(i, 63);
  for (uint64_t i = 0; i < 4 * 504; ++i) log.value(i, 8);
  return log;
}

LogFile read(std::string bytes) {
  Result<LogFile> log = LogFile::from_bytes("x.log", std::move(bytes));
  EXPECT_TRUE(log) << log.error().text();
  return *std::move(log);
}

std::vector<std::string> damage_of(const LogFile& log) {
  std::vector<std::string> out;
  for (const Damage& damage : log.damage()) out.push_back(damage.text());
  return out;
}

uint64_t numbers_in(const LogFile& log) {
  DataBytes data = log.data();
  uint64_t count = 0;
  while (const std::optional<uint64_t> number = data.number(8)) {
    EXPECT_EQ(*number, count);
    ++count;
  }
  return count;
}

TEST(LogFile, GivesBothStreams) {
  const LogFile log = read(some_log().file());
  EXPECT_THAT(damage_of(log), IsEmpty());
  EXPECT_EQ(log.thread(), "0.1");
  EXPECT_FALSE(log.begins_late());
  EXPECT_EQ(numbers_in(log), 4u * 504);
  PathBits path = log.path();
  for (uint64_t i = 0; i < 600; ++i) ASSERT_EQ(path.read(63), i);
  EXPECT_TRUE(path.at_end());
  EXPECT_EQ(path.read(1), std::nullopt);
}

TEST(LogFile, IsReadFromDisk) {
  const Result<TempFolder> folder = TempFolder::create();
  ASSERT_TRUE(folder);
  const fs::path path = folder->path() / "0.2.log";
  ASSERT_TRUE(write_file(path, some_log().file()));
  const Result<LogFile> log = LogFile::open(path);
  ASSERT_TRUE(log);
  EXPECT_EQ(numbers_in(*log), 4u * 504);
  ASSERT_TRUE(write_file(path, ""));
  const Result<LogFile> empty = LogFile::open(path);
  ASSERT_TRUE(empty) << "a thread that was killed while it made its log";
  EXPECT_EQ(empty->thread(), "0.2");
  EXPECT_THAT(empty->damage(), IsEmpty());
  EXPECT_FALSE(LogFile::open(folder->path() / "none"));
  EXPECT_FALSE(LogFile::open(folder->path()));
}

TEST(LogFile, OtherFilesAreNoLogs) {
  EXPECT_FALSE(LogFile::from_bytes("x", "short"));
  EXPECT_FALSE(LogFile::from_bytes("x", std::string(10000, 'x')));
  LogWriter log;
  log.head.format = HEDDLE_RECORD_FORMAT + 1;
  const Result<LogFile> other = LogFile::from_bytes("x", log.file());
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().text(), HasSubstr(fmt::format("it has format {}", HEDDLE_RECORD_FORMAT + 1)));
}

TEST(LogFile, WordsRepeat) {
  LogWriter log;
  for (int i = 0; i < 1000; ++i) log.bits(5, 63);
  log.bits(1, 3);
  const std::string bytes = log.file();
  EXPECT_EQ(bytes.size(), 3 * kPage);
  PathBits path = read(bytes).path();
  const LogFile file = read(bytes);
  path = file.path();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(path.read(63), 5u);
  EXPECT_EQ(path.read(3), 1u);
  EXPECT_TRUE(path.at_end());
}

TEST(LogFile, BitsMayCrossWords) {
  LogWriter log;
  log.bits(0b101, 3);
  log.bits(uint64_t{1} << 61 | 3, 62);
  log.leave_loop(0, 0, 0);
  log.leave_loop(76, 2, 2);
  log.rounds(200);
  const LogFile file = read(log.file());
  PathBits path = file.path();
  EXPECT_EQ(path.read(1), 1u);
  EXPECT_EQ(path.read(64), uint64_t{0b011} << 61 | 3);
  PathBits::Zeros zeros = path.read_zeros();
  EXPECT_TRUE(zeros.ended);
  EXPECT_EQ(zeros.count, 0u);
  zeros = path.read_zeros();
  EXPECT_TRUE(zeros.ended);
  EXPECT_EQ(zeros.count, 76u);
  EXPECT_EQ(path.read(2), 2u);
  zeros = path.read_zeros();
  EXPECT_FALSE(zeros.ended);
  EXPECT_EQ(zeros.count, 200u);
  EXPECT_TRUE(path.at_end());
  EXPECT_FALSE(path.malformed());
}

TEST(LogFile, ChecksumsAreChecked) {
  LogWriter log;
  log.bits(0b101, 3);
  for (int i = 0; i < 100; ++i) log.value(0x1234567, 8);
  std::string bytes = log.file();
  const size_t at = bytes.find(std::string("\x67\x45\x23\x01", 4));
  ASSERT_NE(at, std::string::npos);
  const size_t chunk = at / kPage * kPage;
  heddle_record_chunk head;
  std::memcpy(&head, bytes.data() + chunk, sizeof head);
  head.checksum = heddle_record_checksum(&head, bytes.data() + chunk + sizeof head);
  std::memcpy(bytes.data() + chunk, &head, sizeof head);
  EXPECT_TRUE(read(bytes).damage().empty());
  EXPECT_EQ(read(bytes).data_stream().bytes, 800u);
  for (const size_t changed : {at, at + 77, at + 799}) {
    std::string other = bytes;
    other[changed] ^= 0x10;
    const LogFile file = read(other);
    ASSERT_EQ(file.damage().size(), 1u) << changed;
    EXPECT_EQ(file.damage()[0].offset, chunk + offsetof(heddle_record_chunk, checksum));
    EXPECT_EQ(file.data_stream().bytes, 0u);
    EXPECT_NE(file.path_stream().bytes, 0u);
  }
}

TEST(LogFile, SealedLogsShowEveryChange) {
  LogWriter log;
  log.bits(0b101, 3);
  for (int i = 0; i < 100; ++i) log.value(0x1234567, 8);
  std::string bytes = log.file();
  const size_t chunk = bytes.find(std::string("\x67\x45\x23\x01", 4)) / kPage * kPage;
  heddle_record_chunk head;
  std::memcpy(&head, bytes.data() + chunk, sizeof head);
  head.checksum = heddle_record_checksum(&head, bytes.data() + chunk + sizeof head);
  std::memcpy(bytes.data() + chunk, &head, sizeof head);
  const TempFolder folder = *TempFolder::create();
  const auto path = folder.path() / "0.log";
  ASSERT_TRUE(write_file(path, bytes));
  ASSERT_TRUE(seal_log(path));
  const std::string sealed = *read_file(path);
  EXPECT_NE(sealed, bytes);
  EXPECT_TRUE(read(sealed).damage().empty());
  for (size_t at = 0; at < sealed.size(); at += at < chunk + 2000 ? 1 : 101) {
    std::string other = sealed;
    other[at] ^= 0x10;
    const Result<LogFile> file = LogFile::from_bytes("0.log", other);
    EXPECT_TRUE(!file || !file->damage().empty()) << at;
  }
  EXPECT_FALSE(read(sealed + std::string(kPage, '\0')).damage().empty());
}

TEST(LogFile, BrokenHeadOfAChunk) {
  for (const size_t field : {offsetof(heddle_record_chunk, magic), offsetof(heddle_record_chunk, stream),
                             offsetof(heddle_record_chunk, size), offsetof(heddle_record_chunk, used) + 2}) {
    std::string bytes = some_log().file();
    bytes[4 * kPage + field] ^= 0x55;  // second data chunk
    const LogFile log = read(bytes);
    ASSERT_EQ(log.damage().size(), 2u) << field;
    EXPECT_EQ(log.damage()[0].offset / kPage, 4u);
    EXPECT_THAT(log.damage()[0].what, HasSubstr("no chunk can be here"));
    EXPECT_THAT(log.damage()[1].text(),
                HasSubstr("x.log, offset 20480: chunk 2 of the data stream follows chunk 0"));
    EXPECT_EQ(numbers_in(log), 504u);
    EXPECT_TRUE(log.data_stream().broken);
    EXPECT_EQ(log.path_stream().chunks.size(), 2u);
  }
}

TEST(LogFile, ChunksAreTakenInTheirOrder) {
  std::string bytes = some_log().file();
  std::string second = bytes.substr(4 * kPage, kPage);
  bytes.replace(4 * kPage, kPage, bytes.substr(5 * kPage, kPage));
  bytes.replace(5 * kPage, kPage, second);
  EXPECT_EQ(numbers_in(read(bytes)), 4u * 504);
  bytes.replace(6 * kPage, kPage, second);
  EXPECT_THAT(damage_of(read(bytes)), IsEmpty()) << "it is the same";
  bytes[6 * kPage + 80] ^= 1;
  const LogFile log = read(bytes);
  EXPECT_EQ(numbers_in(log), 3u * 504);
  EXPECT_THAT(damage_of(log), ::testing::ElementsAre(HasSubstr("a second chunk 1 of the data stream")));
}

TEST(LogFile, TruncatedFile) {
  const std::string bytes = some_log().file();
  const LogFile log = read(bytes.substr(0, 5 * kPage + 64 + 80));
  EXPECT_EQ(numbers_in(log), 2u * 504 + 10);
  EXPECT_TRUE(log.data_stream().broken);
  ASSERT_EQ(log.damage().size(), 1u);
  EXPECT_EQ(log.damage()[0].offset, 5 * kPage + 64 + 80);
  for (size_t size = sizeof(heddle_record_log); size < bytes.size(); size += 123) read(bytes.substr(0, size));
}

TEST(LogFile, NothingBehindTheHead) {
  const LogFile log = read(some_log().file().substr(0, kPage));
  EXPECT_THAT(damage_of(log), ::testing::ElementsAre(HasSubstr("the first chunks are missing")));
}

TEST(LogFile, MissingWordsOfThePath) {
  std::string bytes = some_log().file();
  std::fill_n(bytes.begin() + kPage + 64 + 800, 8, 0);
  const LogFile log = read(bytes);
  EXPECT_THAT(damage_of(log), ::testing::ElementsAre("x.log, offset 4960: 404 words of the path are missing"));
  EXPECT_TRUE(log.path_stream().broken);
  PathBits path = log.path();
  for (uint64_t i = 0; i < 100; ++i) ASSERT_EQ(path.read(63), i);
  EXPECT_EQ(path.read(1), std::nullopt);
}

TEST(LogFile, ChunksInTheMakingAreNoDamage) {
  std::string bytes = some_log().file();
  bytes += std::string(3 * kPage, 0);
  bytes += std::string(kPage, 'x').replace(8, 4, std::string(4, 0));
  EXPECT_THAT(damage_of(read(bytes)), IsEmpty());
  std::fill_n(bytes.begin() + 6 * kPage + 8, 4, 0);
  EXPECT_THAT(damage_of(read(bytes)), IsEmpty());
}

TEST(LogFile, KeptPartBeginsLate) {
  LogWriter log = some_log();
  log.first_sequence = 7;
  const LogFile file = read(log.file());
  EXPECT_TRUE(file.begins_late());
  EXPECT_THAT(damage_of(file), IsEmpty());
}

TEST(LogFile, RepetitionOfNothing) {
  LogWriter log;
  log.bits(0, 0);
  std::string bytes = log.file();
  bytes[kPage + 64 + 8] = 5;
  const LogFile file = read(bytes);
  PathBits path = file.path();
  EXPECT_EQ(path.read(1), std::nullopt);
  EXPECT_TRUE(path.malformed());
}

TEST(LogFile, VarintsThatAreTooLong) {
  LogWriter log;
  log.raw(std::string(9, '\xff') + '\x01');
  log.raw(std::string(9, '\xff') + '\x02');
  const LogFile file = read(log.file());
  DataBytes data = file.data();
  EXPECT_EQ(data.varint(), UINT64_MAX);
  EXPECT_FALSE(data.malformed());
  EXPECT_EQ(data.varint(), std::nullopt);
  EXPECT_TRUE(data.malformed());
}

}  // namespace
}  // namespace heddle
