#include "pt/perf_file.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include "base/compress.h"
#include "base/files.h"
#include "pt/byte_reader.h"
#include "pt/perf_layout.h"

namespace heddle {
namespace {

std::string hex(std::string_view bytes) {
  std::string out;
  for (char byte : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return out;
}

// perf_event_attr at the beginning of `bytes`; later fields may be missing or unknown.
PerfAttribute read_attribute(std::string_view bytes) {
  PerfAttribute out;
  ByteReader in(bytes);
  out.type = in.u32();
  in.skip(4);  // size
  out.config = in.u64();
  in.skip(8);  // sample_period
  out.sample_type = in.u64();
  in.skip(8);  // read_format
  const uint64_t bits = in.u64();
  const auto bit = [&](unsigned number) { return (bits >> number & 1) != 0; };
  out.sample_id_all = bit(perf::kAttrSampleIdAll);
  out.exclude_kernel = bit(perf::kAttrExcludeKernel);
  out.context_switch = bit(perf::kAttrContextSwitch);
  return out;
}

class Parser {
 public:
  Parser(PerfFile& file, std::string name) : file_(file), name_(std::move(name)) {}

  Result<void> parse() {
    const std::string_view bytes = *file_.bytes;
    ByteReader in(bytes);
    const std::string_view magic = in.take(8);
    if (magic != perf::kMagic)
      return bad(magic == "2ELIFREP" ? "it was made on a machine with the other byte order"
                                     : "it does not begin with PERFILE2");
    const uint64_t size = in.u64();
    if (size == perf::kPipeHead) {
      records(bytes.substr(perf::kPipeHead), perf::kPipeHead);
      return {};
    }
    if (size < perf::kFileHead || bytes.size() < perf::kFileHead)
      return bad(
          fmt::format("its head says that it is {} bytes long, and the file has {}", size, bytes.size()));
    const uint64_t attribute_size = in.u64();
    const Section attributes = section(in), data = section(in);
    in.skip(16);  // event types: not used any more
    HEDDLE_TRY(read_attributes(attributes, attribute_size));
    if (data.offset > bytes.size())
      return bad(fmt::format("the records begin at offset {}, behind its end ({})", data.offset, bytes.size()));
    // perf writes the size when it ends: 0 in a file whose perf was killed.
    const uint64_t there = bytes.size() - data.offset;
    const bool unfinished = data.size == 0;
    const uint64_t end = unfinished ? there : std::min(data.size, there);
    records(bytes.substr(data.offset, end), data.offset);
    if (!file_.damage && data.size > there)
      file_.damage = {bytes.size(), fmt::format("the file ends {} bytes early", data.size - there)};
    if (!unfinished && data.size <= there) features(in, data.offset + data.size);
    return {};
  }

 private:
  struct Section {
    uint64_t offset = 0, size = 0;
  };
  static Section section(ByteReader& in) {
    const uint64_t offset = in.u64();
    return {offset, in.u64()};
  }
  std::string_view at(const Section& section) const {
    const std::string_view bytes = *file_.bytes;
    if (section.offset > bytes.size() || section.size > bytes.size() - section.offset) return {};
    return bytes.substr(section.offset, section.size);
  }

  Error bad(std::string why) const {
    return Error{.what = "this is not a perf.data file that can be read",
                 .where = name_,
                 .why = std::move(why),
                 .next = "record again with heddle record --mode pt or perf record -e intel_pt//u"};
  }

  Result<void> read_attributes(const Section& section, uint64_t size) {
    constexpr uint64_t kIds = 16, kSmallest = 64;
    const std::string_view all = at(section);
    if (section.size != 0 && all.empty()) return bad("its attributes lie outside of the file");
    if (all.empty()) return {};
    if (size < kSmallest + kIds) return bad(fmt::format("its attributes are {} bytes long", size));
    for (uint64_t begin = 0; begin + size <= all.size(); begin += size) {
      PerfAttribute attribute = read_attribute(all.substr(begin, size - kIds));
      ByteReader in(all.substr(begin + size - kIds, kIds));
      ByteReader ids(at({.offset = in.u64(), .size = in.u64()}));
      while (ids.left() >= 8) attribute.ids.push_back(ids.u64());
      add_attribute(std::move(attribute));
    }
    return {};
  }

  void add_attribute(PerfAttribute attribute) {
    if (!sample_type_ && attribute.sample_id_all) sample_type_ = attribute.sample_type;
    file_.attributes.push_back(std::move(attribute));
  }

  bool damaged(uint64_t offset, std::string text) {
    if (!file_.damage) file_.damage = {offset, std::move(text)};
    return false;
  }

  // All records of `bytes`, which stand at `offset`. Returns how much was read; what is left is the beginning
  // of a record.
  size_t records(std::string_view bytes, uint64_t offset, bool whole = true) {
    size_t begin = 0;
    while (begin < bytes.size()) {
      ByteReader in(bytes.substr(begin));
      const uint32_t type = in.u32();
      const auto misc = in.number<uint16_t>(), size = in.number<uint16_t>();
      const uint64_t here = whole ? offset + begin : offset;
      if (in.failed()) {
        if (whole) damaged(here, "the head of a record is cut off");
        return begin;
      }
      if (size < perf::kRecordHead) {
        damaged(here, fmt::format("a record says that it is {} bytes long", size));
        return bytes.size();
      }
      if (size > bytes.size() - begin) {
        if (whole) damaged(here, fmt::format("a record of {} bytes is cut off", size));
        return begin;
      }
      const std::string_view body = bytes.substr(begin + perf::kRecordHead, size - perf::kRecordHead);
      begin += size;
      if (!whole && (type == perf::auxtrace || type == perf::compressed || type == perf::compressed2)) {
        damaged(here, fmt::format("a record of type {} inside of compressed ones", type));
        return bytes.size();
      }
      if (type == perf::auxtrace) {
        const std::optional<uint64_t> taken = trace_data(body, bytes.substr(begin), offset + begin);
        if (!taken) return bytes.size();
        begin += *taken;
      } else if (!record(type, misc, body, here)) {
        return bytes.size();
      }
    }
    return begin;
  }

  std::optional<uint64_t> trace_data(std::string_view body, std::string_view behind, uint64_t offset) {
    ByteReader in(body);
    PerfTraceData out;
    const uint64_t size = in.u64();
    out.offset = offset;
    out.position = in.u64();
    out.reference = in.u64();
    out.buffer = in.u32();
    const uint32_t tid = in.u32(), cpu = in.u32();
    if (tid != UINT32_MAX) out.tid = tid;
    if (cpu != UINT32_MAX) out.cpu = cpu;
    if (in.failed()) {
      damaged(offset, "a record of trace data is too short");
      return std::nullopt;
    }
    out.bytes = behind.substr(0, std::min<uint64_t>(size, behind.size()));
    if (!out.bytes.empty()) file_.traces.push_back(out);
    if (size <= behind.size()) return size;
    damaged(offset + behind.size(), fmt::format("{} bytes of trace data are cut off", size - behind.size()));
    return std::nullopt;
  }

  bool record(uint32_t type, uint16_t misc, std::string_view body, uint64_t offset) {
    ByteReader in(body);
    switch (type) {
      case perf::header_attr:
        attribute_record(body);
        return true;
      case perf::auxtrace_info:
        trace_info(in);
        return true;
      case perf::header_build_id:
        build_id(misc, body);
        return true;
      case perf::header_feature: {
        const uint64_t number = in.u64();
        if (!in.failed()) feature(number, body.substr(in.position()));
        return true;
      }
      case perf::compressed:
        return compressed_records(body, offset);
      case perf::compressed2: {
        const uint64_t size = in.u64();
        return compressed_records(body.substr(in.position(), size), offset);
      }
      default:
        break;
    }
    if (type >= perf::first_user_type) {
      if (type != perf::finished_round && type != perf::finished_init) ++file_.unknown_records;
      return true;
    }
    return kernel_record(type, misc, body, offset);
  }

  bool kernel_record(uint32_t type, uint16_t misc, std::string_view body, uint64_t offset) {
    PerfEvent event{.offset = offset};
    if (!take_sample_id(body, event.sample)) {
      ++file_.unknown_records;
      return true;
    }
    ByteReader in(body);
    switch (type) {
      case perf::mmap:
      case perf::mmap2:
        event.what = mapping(type, misc, in);
        break;
      case perf::comm: {
        PerfName name{.pid = in.u32(), .tid = in.u32(), .exec = (misc & perf::kMiscCommExec) != 0};
        name.name = in.text(in.left());
        event.what = std::move(name);
        break;
      }
      case perf::fork:
      case perf::exit: {
        const uint32_t pid = in.u32(), parent = in.u32(), tid = in.u32(), parent_tid = in.u32();
        if (const uint64_t time = in.u64(); !event.sample.time) event.sample.time = time;
        if (type == perf::fork)
          event.what = PerfFork{.pid = pid, .parent_pid = parent, .tid = tid, .parent_tid = parent_tid};
        else
          event.what = PerfExit{.pid = pid, .tid = tid};
        break;
      }
      case perf::switch_:
      case perf::switch_cpu_wide: {
        PerfSwitch out{.out = (misc & perf::kMiscSwitchOut) != 0,
                       .preempted = (misc & perf::kMiscPreempted) != 0};
        if (type == perf::switch_cpu_wide) {
          out.other_pid = in.u32();
          out.other_tid = in.u32();
        }
        event.what = out;
        break;
      }
      case perf::itrace_start:
        event.what = PerfTraceStart{.pid = in.u32(), .tid = in.u32()};
        break;
      case perf::aux:
        event.what = PerfAux{.offset = in.u64(), .size = in.u64(), .flags = in.u64()};
        break;
      case perf::lost:
        in.skip(8);  // id
        event.what = PerfLost{.records = in.u64()};
        break;
      default:
        ++file_.unknown_records;
        return true;
    }
    if (in.failed()) return damaged(offset, fmt::format("a record of type {} is too short", type));
    file_.events.push_back(std::move(event));
    return true;
  }

  PerfMapping mapping(uint32_t type, uint16_t misc, ByteReader& in) {
    PerfMapping out{
        .pid = in.u32(), .tid = in.u32(), .begin = in.u64(), .size = in.u64(), .file_offset = in.u64()};
    out.executable = (misc & perf::kMiscMmapData) == 0;
    if (type == perf::mmap2) {
      const std::string_view identity = in.take(24);
      if ((misc & perf::kMiscBuildId) != 0 && identity.size() == 24)
        out.build_id = hex(identity.substr(4, std::min<size_t>(static_cast<uint8_t>(identity[0]), 20)));
      out.protection = in.u32();
      in.skip(4);  // flags
      out.executable = (out.protection & PROT_EXEC) != 0;
    }
    out.file = in.text(in.left());
    return out;
  }

  // The fields stand at the end of the record, in this order.
  bool take_sample_id(std::string_view& body, PerfSampleId& out) {
    const uint64_t type = sample_type_.value_or(0);
    uint64_t size = 0;
    for (const uint64_t bit : {perf::tid, perf::time, perf::id, perf::stream_id, perf::cpu, perf::identifier})
      size += (type & bit) != 0 ? 8 : 0;
    if (size > body.size()) return false;
    ByteReader in(body.substr(body.size() - size));
    body.remove_suffix(size);
    if ((type & perf::tid) != 0) {
      out.pid = in.u32();
      out.tid = in.u32();
    }
    if ((type & perf::time) != 0) out.time = in.u64();
    if ((type & perf::id) != 0) in.skip(8);
    if ((type & perf::stream_id) != 0) in.skip(8);
    if ((type & perf::cpu) != 0) {
      out.cpu = in.u32();
      in.skip(4);
    }
    return true;
  }

  void attribute_record(std::string_view body) {
    ByteReader in(body);
    in.skip(4);
    const uint32_t size = in.u32();
    if (in.failed() || size > body.size()) return;
    PerfAttribute attribute = read_attribute(body.substr(0, size));
    ByteReader ids(body.substr(size));
    while (ids.left() >= 8) attribute.ids.push_back(ids.u64());
    add_attribute(std::move(attribute));
  }

  void trace_info(ByteReader& in) {
    const uint32_t type = in.u32();
    in.skip(4);
    if (type != PerfFile::kIntelPt) return;
    std::array<uint64_t, perf::info_words> words{};
    for (uint64_t& word : words) {
      if (in.left() < 8) break;  // older perf tells less
      word = in.u64();
    }
    PerfTraceInfo out;
    out.event_type = static_cast<uint32_t>(words[perf::info_pmu_type]);
    out.time_shift = static_cast<uint16_t>(words[perf::info_time_shift]);
    out.time_multiplier = static_cast<uint32_t>(words[perf::info_time_mult]);
    out.time_zero = words[perf::info_time_zero];
    out.time_is_known =
        words[perf::info_cap_user_time_zero] != 0 && out.time_multiplier != 0 && out.time_shift < 64;
    out.snapshot = words[perf::info_snapshot_mode] != 0;
    out.per_cpu = words[perf::info_per_cpu_mmaps] != 0;
    out.mtc_bit = words[perf::info_mtc_bit];
    out.mtc_frequency_bits = words[perf::info_mtc_freq_bits];
    out.tsc_ctc_numerator = static_cast<uint32_t>(words[perf::info_tsc_ctc_n]);
    out.tsc_ctc_denominator = static_cast<uint32_t>(words[perf::info_tsc_ctc_d]);
    out.max_non_turbo_ratio = words[perf::info_max_nonturbo_ratio];
    out.filter = in.text(std::min<uint64_t>(words[perf::info_filter_length], in.left()));
    file_.trace_info = std::move(out);
  }

  void build_id(uint16_t misc, std::string_view body) {
    ByteReader in(body);
    in.skip(4);  // pid
    const std::string_view id = in.take(24);
    const std::string name = in.text(in.left());
    if (in.failed()) return;
    const size_t size =
        (misc & perf::kMiscBuildIdSize) != 0 ? std::min<size_t>(static_cast<uint8_t>(id[20]), 20) : 20;
    file_.build_ids.emplace_back(name, hex(id.substr(0, size)));
  }

  // Records may continue in the next compressed one.
  bool compressed_records(std::string_view body, uint64_t offset) {
    Result<std::string> raw = stream_.append(body);
    if (!raw) return damaged(offset, "compressed records cannot be opened: " + raw.error().what);
    pending_ += *raw;
    const size_t read = records(pending_, offset, false);
    pending_.erase(0, read);
    return !file_.damage;
  }

  void features(ByteReader& head, uint64_t offset) {
    std::array<uint64_t, 4> bits{};
    for (uint64_t& word : bits) word = head.u64();
    ByteReader table(at({.offset = offset, .size = file_.bytes->size() - offset}));
    for (unsigned i = 1; i < perf::feature_last; ++i) {
      if ((bits[i / 64] >> i % 64 & 1) == 0) continue;
      const Section where = section(table);
      if (table.failed()) {
        damaged(offset, "the table of features is cut off");
        return;
      }
      feature(i, at(where));
    }
  }

  void feature(uint64_t number, std::string_view bytes) {
    ByteReader in(bytes);
    const auto text = [&] { return in.text(in.u32()); };
    if (number == perf::feature_build_id) {
      while (bytes.size() >= perf::kRecordHead) {
        ByteReader head(bytes);
        head.skip(4);
        const auto misc = head.number<uint16_t>(), size = head.number<uint16_t>();
        if (size < perf::kRecordHead || size > bytes.size()) return;
        build_id(misc, bytes.substr(perf::kRecordHead, size - perf::kRecordHead));
        bytes.remove_prefix(size);
      }
    } else if (number == perf::feature_os_release) {
      file_.kernel = text();
    } else if (number == perf::feature_version) {
      file_.perf_version = text();
    } else if (number == perf::feature_hostname) {
      file_.machine = text();
    } else if (number == perf::feature_cpu_desc) {
      file_.cpu = text();
    } else if (number == perf::feature_cmdline) {
      const uint32_t count = in.u32();
      for (uint32_t i = 0; i < count && in.left() > 4; ++i) file_.command.push_back(text());
    }
  }

  PerfFile& file_;
  std::string name_;
  std::optional<uint64_t> sample_type_;  // all events of a file have the same fields
  StreamDecompressor stream_;
  std::string pending_;
};

}  // namespace

// Linux's own formula (perf_event_mmap_page), in parts so that nothing overflows.
uint64_t PerfTraceInfo::time_of(uint64_t tsc) const {
  if (!time_is_known) return tsc;
  const uint64_t whole = tsc >> time_shift, rest = tsc & ((uint64_t{1} << time_shift) - 1);
  return time_zero + whole * time_multiplier + (rest * time_multiplier >> time_shift);
}

uint64_t PerfTraceInfo::tsc_of(uint64_t time) const {
  if (!time_is_known) return time;
  const uint64_t since = time - time_zero;
  const uint64_t whole = since / time_multiplier, rest = since % time_multiplier;
  return (whole << time_shift) + (rest << time_shift) / time_multiplier;
}

const PerfAttribute* PerfFile::trace_event() const {
  for (const PerfAttribute& attribute : attributes)
    if (trace_info && attribute.type == trace_info->event_type) return &attribute;
  return nullptr;
}

Result<PerfFile> parse_perf_file(std::string bytes, const std::string& name) {
  PerfFile out;
  out.bytes = std::make_shared<const std::string>(std::move(bytes));
  HEDDLE_TRY(Parser(out, name).parse());
  return out;
}

Result<PerfFile> read_perf_file(const std::filesystem::path& path) {
  return parse_perf_file(HEDDLE_TRY(read_file(path)), path.string());
}

}  // namespace heddle
