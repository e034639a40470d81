#include "pt/perf_writer.h"

#include <sys/mman.h>

#include "pt/perf_layout.h"

namespace heddle {
namespace {

constexpr uint64_t kSampleType = perf::ip | perf::tid | perf::time | perf::cpu | perf::identifier;
constexpr uint64_t kAttributeSize = 128, kSoftware = 1, kDummy = 9;
constexpr uint64_t kFormatId = 4;
constexpr uint64_t kTraceId = 1, kTrackingId = 1001;  // of core 0

template <class Number>
void put(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void put32(std::string& out, uint64_t number) {
  put(out, static_cast<uint32_t>(number));
}
void put64(std::string& out, uint64_t number) {
  put(out, number);
}
void put_text(std::string& out, std::string_view text) {
  out += text;
  out.append(8 - text.size() % 8, '\0');  // at least one
}

std::string with_head(uint32_t type, uint16_t misc, const std::string& body) {
  std::string out;
  put32(out, type);
  put(out, misc);
  put(out, static_cast<uint16_t>(body.size() + perf::kRecordHead));
  return out + body;
}

struct Body {
  uint32_t type = 0;
  uint16_t misc = perf::kMiscUser;
  std::string bytes = {};

  void operator()(const PerfMapping& what) {
    type = perf::mmap2;
    if (!what.executable) misc |= perf::kMiscMmapData;
    put32(bytes, what.pid);
    put32(bytes, what.tid);
    for (uint64_t word : {what.begin, what.size, what.file_offset}) put64(bytes, word);
    bytes.append(24, '\0');  // device and inode
    put32(bytes, what.protection);
    put32(bytes, MAP_PRIVATE);
    put_text(bytes, what.file);
  }
  void operator()(const PerfName& what) {
    type = perf::comm;
    if (what.exec) misc |= perf::kMiscCommExec;
    put32(bytes, what.pid);
    put32(bytes, what.tid);
    put_text(bytes, what.name.substr(0, 15));
  }
  void fork_or_exit(uint32_t pid, uint32_t parent, uint32_t tid, uint32_t parent_tid) {
    for (uint32_t word : {pid, parent, tid, parent_tid}) put32(bytes, word);
    put64(bytes, time);
  }
  void operator()(const PerfFork& what) {
    type = perf::fork;
    fork_or_exit(what.pid, what.parent_pid, what.tid, what.parent_tid);
  }
  void operator()(const PerfExit& what) {
    type = perf::exit;
    fork_or_exit(what.pid, what.pid, what.tid, what.pid);
  }
  void operator()(const PerfSwitch& what) {
    type = what.other_tid ? perf::switch_cpu_wide : perf::switch_;
    if (what.out) misc |= perf::kMiscSwitchOut;
    if (what.out && what.preempted) misc |= perf::kMiscPreempted;
    if (!what.other_tid) return;
    put32(bytes, what.other_pid.value_or(0));
    put32(bytes, *what.other_tid);
  }
  void operator()(const PerfTraceStart& what) {
    type = perf::itrace_start;
    put32(bytes, what.pid);
    put32(bytes, what.tid);
  }
  void operator()(const PerfAux& what) {
    type = perf::aux;
    for (uint64_t word : {what.offset, what.size, what.flags}) put64(bytes, word);
  }
  void operator()(const PerfLost& what) {
    type = perf::lost;
    put64(bytes, kTrackingId);
    put64(bytes, what.records);
  }

  uint64_t time = 0;
};

}  // namespace

PerfWriter::PerfWriter(PerfWriterOptions options) : options_(std::move(options)) {
  const PerfTraceInfo& info = options_.info;
  std::string body;
  put32(body, PerfFile::kIntelPt);
  put32(body, 0);
  uint64_t words[perf::info_words] = {};
  words[perf::info_pmu_type] = info.event_type;
  words[perf::info_time_shift] = info.time_shift;
  words[perf::info_time_mult] = info.time_multiplier;
  words[perf::info_time_zero] = info.time_zero;
  words[perf::info_cap_user_time_zero] = info.time_is_known ? 1 : 0;
  words[perf::info_tsc_bit] = perf::kConfigTsc;
  words[perf::info_noretcomp_bit] = perf::kConfigNoRetComp;
  words[perf::info_have_sched_switch] = 3;  // SWITCH_CPU_WIDE
  words[perf::info_snapshot_mode] = info.snapshot ? 1 : 0;
  words[perf::info_per_cpu_mmaps] = 1;
  words[perf::info_mtc_bit] = perf::kConfigMtc;
  words[perf::info_mtc_freq_bits] = ((1u << perf::kConfigMtcPeriodBits) - 1) << perf::kConfigMtcPeriod;
  words[perf::info_tsc_ctc_n] = info.tsc_ctc_numerator;
  words[perf::info_tsc_ctc_d] = info.tsc_ctc_denominator;
  words[perf::info_cyc_bit] = perf::kConfigCyc;
  words[perf::info_max_nonturbo_ratio] = info.max_non_turbo_ratio;
  const size_t room = info.filter.empty() ? 0 : (info.filter.size() / 8 + 1) * 8;
  words[perf::info_filter_length] = info.filter.size();
  for (uint64_t word : words) put64(body, word);
  if (room != 0) put_text(body, info.filter);
  records_ += with_head(perf::auxtrace_info, 0, body);
}

void PerfWriter::event(const PerfEvent& event) {
  Body body;
  body.time = event.sample.time.value_or(0);
  std::visit(body, event.what);
  const bool trace = body.type == perf::aux || body.type == perf::itrace_start;
  const uint32_t cpu = event.sample.cpu.value_or(0);
  put32(body.bytes, event.sample.pid.value_or(0));
  put32(body.bytes, event.sample.tid.value_or(0));
  put64(body.bytes, body.time);
  put32(body.bytes, cpu);
  put32(body.bytes, 0);
  put64(body.bytes, (trace ? kTraceId : kTrackingId) + cpu);
  records_ += with_head(body.type, body.misc, body.bytes);
}

void PerfWriter::trace_data(uint32_t core, uint64_t position, std::string_view bytes) {
  std::string body;
  const size_t padding = (8 - bytes.size() % 8) % 8;  // PAD packets: perf wants whole words
  for (uint64_t word : {uint64_t{bytes.size() + padding}, position, uint64_t{core} + 1}) put64(body, word);
  put32(body, core);
  put32(body, UINT32_MAX);
  put32(body, core);
  put32(body, 0);
  traces_.emplace_back(records_.size(), perf::kRecordHead + body.size());
  records_ += with_head(perf::auxtrace, 0, body);
  records_ += bytes;
  records_.append(padding, '\0');
}

// Without the ids, which stand elsewhere in the two forms.
std::string PerfWriter::attribute(bool trace) const {
  std::string out;
  put32(out, trace ? options_.info.event_type : kSoftware);
  put32(out, kAttributeSize);
  put64(out, trace ? options_.config : kDummy);
  put64(out, 1);  // period
  put64(out, kSampleType);
  put64(out, kFormatId);  // read_format
  uint64_t bits = 1ull << perf::kAttrSampleIdAll | 1ull << perf::kAttrExcludeHv | 1ull << perf::kAttrDisabled;
  bits |= 1ull << perf::kAttrExcludeKernel;
  if (!trace)
    bits |= 1ull << perf::kAttrMmap | 1ull << perf::kAttrComm | 1ull << perf::kAttrTask |
            1ull << perf::kAttrMmap2 | 1ull << perf::kAttrCommExec | 1ull << perf::kAttrContextSwitch;
  put64(out, bits);
  out.resize(kAttributeSize, '\0');
  return out;
}

std::string PerfWriter::ids(bool trace) const {
  std::string out;
  for (unsigned core = 0; core < options_.cores; ++core) put64(out, (trace ? kTraceId : kTrackingId) + core);
  return out;
}

std::string PerfWriter::file() const {
  std::string out(perf::kMagic);
  if (options_.form == PerfWriterOptions::Form::pipe) {
    put64(out, perf::kPipeHead);
    for (bool trace : {true, false}) out += with_head(perf::header_attr, 0, attribute(trace) + ids(trace));
    return out + records_;
  }
  const uint64_t ids_at = perf::kFileHead, ids_size = uint64_t{8} * options_.cores;
  const uint64_t attributes_at = ids_at + 2 * ids_size, attributes_size = 2 * (kAttributeSize + 16);
  const uint64_t data_at = attributes_at + attributes_size;
  put64(out, perf::kFileHead);
  put64(out, kAttributeSize + 16);
  for (uint64_t word :
       {attributes_at, attributes_size, data_at, uint64_t{records_.size()}, uint64_t{0}, uint64_t{0}})
    put64(out, word);
  put64(out, 1ull << perf::feature_cmdline | 1ull << perf::feature_auxtrace);
  for (int i = 0; i < 3; ++i) put64(out, 0);
  out += ids(true) + ids(false);
  for (bool trace : {true, false}) {
    out += attribute(trace);
    put64(out, trace ? ids_at : ids_at + ids_size);
    put64(out, ids_size);
  }
  out += records_;
  std::string command;
  put32(command, options_.command.size());
  for (const std::string& word : options_.command) {
    put32(command, (word.size() / 8 + 1) * 8);
    put_text(command, word);
  }
  std::string index;
  put64(index, traces_.size());
  for (const auto& [at, size] : traces_) {
    put64(index, data_at + at);
    put64(index, size);
  }
  const uint64_t behind = out.size() + 32;  // the table of the two
  put64(out, behind);
  put64(out, command.size());
  put64(out, behind + command.size());
  put64(out, index.size());
  return out + command + index;
}

}  // namespace heddle
