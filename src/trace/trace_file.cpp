#include "trace/trace_file.h"

#include <fmt/format.h>

#include "base/compress.h"
#include "trace/byte_fields.h"
#include "trace/trace_check.h"

namespace heddle {
namespace {

constexpr std::string_view kMagic = "heddle trace";

// ---- fields. `T` is const when they are written.

constexpr auto kNumber = [](auto& archive, auto& number) { archive(number); };

void fields(auto& archive, auto& node)
  requires std::is_same_v<std::remove_cvref_t<decltype(node)>, ExprNode>
{
  uint8_t formats =
      static_cast<uint8_t>(static_cast<unsigned>(node.format) | static_cast<unsigned>(node.from) << 4);
  archive(node.op);
  archive(formats);
  if constexpr (std::remove_cvref_t<decltype(archive)>::kReads) {
    node.format = static_cast<FloatFormat>(formats & 15);
    node.from = static_cast<FloatFormat>(formats >> 4);
  }
  archive(node.width);
  archive(node.a);
  archive(node.b);
  archive(node.c);
}

void fields(auto& archive, auto& event)
  requires std::is_same_v<std::remove_cvref_t<decltype(event)>, Event>
{
  archive(event.kind);
  archive(event.order);
  archive(event.sync);
  archive(event.recursive);
  archive(event.direct);
  archive(event.size);
  archive(event.place);
  archive(event.step);
  archive(event.occurrence);
  archive(event.address);
  archive(event.address_expression.number);
  archive(event.object);
  archive(event.object_size);
  archive(event.value.number);
  archive(event.second);
  archive(event.tsc_low);
  archive(event.tsc_high);
}

void fields(auto& archive, auto& constraint)
  requires std::is_same_v<std::remove_cvref_t<decltype(constraint)>, Constraint>
{
  archive(constraint.kind);
  archive(constraint.condition.number);
  archive(constraint.events);
  archive(constraint.place);
}

void fields(auto& archive, auto& place)
  requires std::is_same_v<std::remove_cvref_t<decltype(place)>, TracePlace>
{
  archive(place.instruction);
  archive(place.caller);
}

void fields(auto& archive, auto& approximation)
  requires std::is_same_v<std::remove_cvref_t<decltype(approximation)>, Approximation>
{
  archive(approximation.what);
  archive(approximation.thread);
  archive(approximation.place);
}

void fields(auto& archive, auto& waiting)
  requires std::is_same_v<std::remove_cvref_t<decltype(waiting)>, FailurePredicate::Waiting>
{
  archive(waiting.thread);
  fields(archive, waiting.operation);
}

void fields(auto& archive, auto& order)
  requires std::is_same_v<std::remove_cvref_t<decltype(order)>, OrderOnCore>
{
  archive(order.before_thread);
  archive(order.before);
  archive(order.after_thread);
  archive(order.after);
}

constexpr auto kFields = [](auto& archive, auto& value) { fields(archive, value); };

void fields(auto& archive, auto& parts)
  requires std::is_same_v<std::remove_cvref_t<decltype(parts)>, ExprPool::Parts>
{
  archive.list(parts.nodes, kFields);
  archive.list(parts.words, kNumber);
  archive.list(parts.functions, kNumber);
}

// All but the pool.
void fields(auto& archive, auto& thread)
  requires std::is_same_v<std::remove_cvref_t<decltype(thread)>, ThreadTrace>
{
  archive(thread.name);
  archive(thread.end);
  archive.list(thread.events, kFields);
  archive.list(thread.constraints, kFields);
  archive.list(thread.places, kFields);
}

// A map as the list of its pairs.
template <class Archive, class Map>
void map_fields(Archive& archive, Map& map) {
  using Key = typename std::remove_cvref_t<Map>::key_type;
  using Value = typename std::remove_cvref_t<Map>::mapped_type;
  std::vector<std::pair<Key, Value>> pairs(map.begin(), map.end());
  archive.list(pairs, [](auto& inner, auto& pair) {
    inner(pair.first);
    inner(pair.second);
  });
  if constexpr (Archive::kReads) map = Map(pairs.begin(), pairs.end());
}

// All but the threads.
void fields(auto& archive, auto& trace)
  requires std::is_same_v<std::remove_cvref_t<decltype(trace)>, Trace>
{
  archive(trace.program);
  archive(trace.identity);
  archive(trace.policy);
  map_fields(archive, trace.initial);
  archive.list(trace.core_order, kFields);
  archive(trace.sync_order);
  archive.list(trace.approximations, kFields);
  archive(trace.exact);
  archive(trace.failure.kind);
  archive(trace.failure.thread);
  archive(trace.failure.condition.number);
  archive(trace.failure.address);
  archive(trace.failure.text);
  archive.list(trace.failure.waiting, kFields);
  archive(trace.accesses);
  archive(trace.shared_accesses);
  map_fields(archive, trace.instruction_texts);
}

// ---- the file

Error damaged(std::string_view why) {
  return Error{
      .what = "the trace is damaged", .why = std::string(why), .next = "make it again from its recording"};
}

template <class T>
void append(std::string& out, T number) {
  FieldWriter writer;
  writer(number);
  out += writer.take();
}

// Takes a number from the front.
template <class T>
Result<T> number(std::string_view& bytes) {
  if (bytes.size() < sizeof(T)) return damaged("it is cut short");
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

Result<Trace> from_bytes(std::string_view bytes) {
  if (!is_trace_file(bytes)) return Error{.what = "this is not a trace"};
  bytes.remove_prefix(kMagic.size());
  const uint32_t version = HEDDLE_TRY(number<uint32_t>(bytes));
  if (version != kTraceVersion)
    return Error{.what = fmt::format("the trace has version {}, and this heddle reads version {}", version,
                                     kTraceVersion),
                 .next = "make it again from its recording"};
  std::vector<std::string> parts;
  while (!bytes.empty()) {
    const uint64_t size = HEDDLE_TRY(number<uint64_t>(bytes)), frame = HEDDLE_TRY(number<uint64_t>(bytes));
    if (frame > bytes.size()) return damaged("it is cut short");
    Result<std::string> part = decompress(bytes.substr(0, frame), size);
    if (!part) return damaged(part.error().what);
    parts.push_back(*std::move(part));
    bytes.remove_prefix(frame);
  }
  return trace_from_parts(parts);
}

}  // namespace

bool is_trace_file(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

std::vector<std::string> trace_parts(const Trace& trace) {
  std::vector<std::string> parts;
  FieldWriter head;
  head(uint64_t{trace.threads.size()});
  fields(head, trace);
  parts.push_back(head.take());
  for (const ThreadTrace& thread : trace.threads) {
    FieldWriter writer;
    fields(writer, thread);
    const ExprPool::Parts pool = thread.pool.parts();
    fields(writer, pool);
    parts.push_back(writer.take());
  }
  return parts;
}

Result<Trace> trace_from_parts(const std::vector<std::string>& parts) {
  if (parts.empty()) return damaged("it is cut short");
  Trace trace;
  FieldReader head(parts[0]);
  uint64_t threads = 0;
  head(threads);
  fields(head, trace);
  if (!head.is_whole()) return damaged("its head does not end where it should");
  if (threads != parts.size() - 1) return damaged("threads are missing, or are too many");
  for (size_t i = 1; i < parts.size(); ++i) {
    ThreadTrace& thread = trace.threads.emplace_back();
    ExprPool::Parts pool;
    FieldReader reader(parts[i]);
    fields(reader, thread);
    fields(reader, pool);
    if (!reader.is_whole()) return damaged(fmt::format("thread {} does not end where it should", i - 1));
    Result<ExprPool> made = ExprPool::from_parts(std::move(pool));
    if (!made) return damaged(fmt::format("thread {}: {}", i - 1, made.error().what));
    thread.pool = *std::move(made);
  }
  const Result<void> check = check_trace(trace);
  if (!check) return damaged(fmt::format("{}: {}", check.error().what, check.error().why));
  return trace;
}

Result<void> save_trace(const Trace& trace, const fs::path& path) {
  std::string bytes(kMagic);
  append(bytes, kTraceVersion);
  for (const std::string& part : trace_parts(trace)) {
    const std::string frame = compress(part);
    append(bytes, uint64_t{part.size()});
    append(bytes, uint64_t{frame.size()});
    bytes += frame;
  }
  return write_file(path, bytes);
}

Result<Trace> load_trace(const fs::path& path) {
  const std::string bytes = HEDDLE_TRY(read_file(path));
  Result<Trace> trace = from_bytes(bytes);
  if (!trace) trace.error().where = path;
  return trace;
}

}  // namespace heddle
