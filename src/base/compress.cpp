#include "base/compress.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

namespace heddle {
namespace {

// A frame can state any size; nothing heddle writes comes near this.
constexpr uint64_t kMaxRawSize = 4ull << 30;

}  // namespace

std::string compress(std::string_view raw, int level) {
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  HEDDLE_CHECK(context != nullptr);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string frame(ZSTD_compressBound(raw.size()), '\0');
  const size_t size = ZSTD_compress2(context.get(), frame.data(), frame.size(), raw.data(), raw.size());
  HEDDLE_CHECK(!ZSTD_isError(size));
  frame.resize(size);
  return frame;
}

Result<std::string> decompress(std::string_view frame, uint64_t raw_size) {
  const unsigned long long stated = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (stated != raw_size || raw_size > kMaxRawSize)
    return Error{.what = fmt::format("compressed data does not hold the {} bytes it should", raw_size)};
  std::string raw(raw_size, '\0');
  const size_t size = ZSTD_decompress(raw.data(), raw.size(), frame.data(), frame.size());
  if (ZSTD_isError(size))
    return Error{.what = fmt::format("compressed data is damaged: {}", ZSTD_getErrorName(size))};
  if (size != raw_size) return Error{.what = "compressed data is cut short"};
  return raw;
}

struct StreamDecompressor::State {
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context{ZSTD_createDCtx(), ZSTD_freeDCtx};
};

StreamDecompressor::StreamDecompressor() : state_(std::make_unique<State>()) {
  HEDDLE_CHECK(state_->context != nullptr);
}
StreamDecompressor::~StreamDecompressor() = default;

Result<std::string> StreamDecompressor::append(std::string_view piece) {
  constexpr size_t kMost = 64 << 20;
  std::string out;
  std::string part(ZSTD_DStreamOutSize(), '\0');
  ZSTD_inBuffer in{piece.data(), piece.size(), 0};
  while (true) {
    ZSTD_outBuffer to{part.data(), part.size(), 0};
    const size_t before = in.pos;
    const size_t code = ZSTD_decompressStream(state_->context.get(), &to, &in);
    if (ZSTD_isError(code))
      return Error{.what = fmt::format("compressed data is damaged: {}", ZSTD_getErrorName(code))};
    out.append(part, 0, to.pos);
    if (out.size() > kMost) return Error{.what = "compressed data is too large"};
    if (to.pos < to.size && (in.pos == in.size || in.pos == before)) return out;
  }
}

namespace {

// Pages of zeros are most of many cores: they become holes.
bool write_sparsely(int to, const char* bytes, size_t size) {
  constexpr size_t kPage = 4096;
  for (size_t at = 0; at < size; at += kPage) {
    const size_t part = std::min(kPage, size - at);
    const bool zero = std::all_of(bytes + at, bytes + at + part, [](char c) { return c == 0; });
    if (zero ? ::lseek(to, static_cast<off_t>(part), SEEK_CUR) < 0
             : ::write(to, bytes + at, part) != static_cast<ssize_t>(part))
      return false;
  }
  return true;
}

Result<void> unpack(int from, int to, const std::string& name) {
  StreamDecompressor stream;
  std::string in(ZSTD_DStreamInSize(), '\0');
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(from, in.data(), in.size(), at);
    if (got < 0) return system_error("cannot read", name);
    if (got == 0) break;
    at += got;
    Result<std::string> out = stream.append(std::string_view(in).substr(0, static_cast<size_t>(got)));
    if (!out) {
      out.error().where = name;
      return out.error();
    }
    if (!write_sparsely(to, out->data(), out->size())) return system_error("cannot unpack", name);
  }
  const off_t size = ::lseek(to, 0, SEEK_CUR);
  if (size < 0 || ::ftruncate(to, size) != 0) return system_error("cannot unpack", name);
  return {};
}

}  // namespace

Result<int> decompress_to_file(int from, const std::string& name) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(ignored);
  const int to = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (to < 0) return system_error("cannot make a file to unpack into", folder);
  if (const Result<void> unpacked = unpack(from, to, name); !unpacked) {
    ::close(to);
    return unpacked.error();
  }
  return to;
}

}  // namespace heddle
