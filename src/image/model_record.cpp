#include "image/model_record.h"

#include <fmt/core.h>

#include <cstring>

#include "base/compress.h"
#include "base/version.h"

namespace heddle {
namespace {

Error damaged(const std::string& where, size_t offset, std::string what) {
  return Error{.what = "the program model is damaged: " + what,
               .where = fmt::format("{}, offset {}", where, offset),
               .why = "the file was cut short or changed after it was linked",
               .next = "build the program again with heddle cc"};
}

std::string tool_version(const heddle_record_header& header) {
  std::string tool(header.tool, strnlen(header.tool, sizeof header.tool));
  for (char& c : tool)
    if (c < ' ' || c > '~') c = '?';
  return tool.empty() ? "?" : tool;
}

Result<ModelRecord> decode_record(const heddle_record_header& header, std::string_view frame,
                                  const std::string& where, size_t offset) {
  Result<std::string> raw = decompress(frame, header.raw);
  if (!raw) return damaged(where, offset, raw.error().what);
  uint64_t meta_size = 0;
  if (raw->size() < sizeof meta_size) return damaged(where, offset, "record without a description");
  std::memcpy(&meta_size, raw->data(), sizeof meta_size);
  if (meta_size > raw->size() - sizeof meta_size)
    return damaged(where, offset, "description longer than its record");
  Result<Json> meta =
      parse_json(std::string_view(*raw).substr(sizeof meta_size, meta_size), "a record's description");
  if (!meta) return damaged(where, offset, meta.error().what);
  raw->erase(0, sizeof meta_size + meta_size);
  return ModelRecord{static_cast<heddle_record_kind>(header.kind), *std::move(meta), *std::move(raw)};
}

}  // namespace

std::string encode_record(const ModelRecord& record) {
  // Paths are bytes, not always UTF-8: replace what JSON cannot hold instead of failing.
  const std::string meta = record.meta.dump(-1, ' ', false, Json::error_handler_t::replace);
  const uint64_t meta_size = meta.size();
  std::string raw(reinterpret_cast<const char*>(&meta_size), sizeof meta_size);
  raw += meta;
  raw += record.body;
  const std::string frame = compress(raw);

  heddle_record_header header{};
  std::memcpy(header.magic, HEDDLE_RECORD_MAGIC, sizeof header.magic);
  header.format = HEDDLE_MODEL_FORMAT;
  header.kind = record.kind;
  std::strncpy(header.tool, HEDDLE_VERSION, sizeof header.tool - 1);
  header.stored = frame.size();
  header.raw = raw.size();
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + frame;
}

Result<std::vector<ModelRecord>> decode_records(std::string_view section, const std::string& where) {
  std::vector<ModelRecord> records;
  size_t offset = 0;
  while (offset < section.size()) {
    heddle_record_header header;
    const std::string_view rest = section.substr(offset);
    if (rest.size() < sizeof header) return damaged(where, offset, "a record header is cut off");
    std::memcpy(&header, rest.data(), sizeof header);
    if (std::memcmp(header.magic, HEDDLE_RECORD_MAGIC, sizeof header.magic) != 0)
      return damaged(where, offset, "no record where one should begin");
    if (header.format != HEDDLE_MODEL_FORMAT)
      return Error{.what = fmt::format("the program model has format {}, this heddle {} reads format {}",
                                       header.format, HEDDLE_VERSION, HEDDLE_MODEL_FORMAT),
                   .where = fmt::format("{}, offset {}", where, offset),
                   .why = fmt::format("the program was built with heddle {}", tool_version(header)),
                   .next = "build the program again with this heddle, or use the heddle it was built with"};
    if (header.kind != HEDDLE_RECORD_module && header.kind != HEDDLE_RECORD_link)
      return damaged(where, offset, fmt::format("unknown kind of record ({})", header.kind));
    if (header.stored > rest.size() - sizeof header) return damaged(where, offset, "a record is cut off");
    records.push_back(
        HEDDLE_TRY(decode_record(header, rest.substr(sizeof header, header.stored), where, offset)));
    offset += sizeof header + header.stored;
  }
  return records;
}

}  // namespace heddle
