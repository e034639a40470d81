#include "pt/trace_decoder.h"

#include <fmt/core.h>
#include <intel-pt.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "pt/perf_layout.h"

namespace heddle {
namespace {

PtBlock::End end_of(pt_insn_class kind) {
  switch (kind) {
    case ptic_call:
      return PtBlock::End::call;
    case ptic_return:
      return PtBlock::End::ret;
    case ptic_jump:
      return PtBlock::End::jump;
    case ptic_cond_jump:
      return PtBlock::End::conditional;
    case ptic_far_call:
    case ptic_far_return:
    case ptic_far_jump:
      return PtBlock::End::far;
    default:
      return PtBlock::End::other;
  }
}

// Trace data of one core without holes.
struct Stretch {
  uint32_t core = 0;
  std::string bytes;
  bool lost_before = false;
};

std::vector<Stretch> stretches_of(const PerfFile& file) {
  // Behind such a place of a core's buffer something is missing.
  std::map<uint32_t, std::vector<uint64_t>> truncated;
  for (const PerfEvent& event : file.events)
    if (const auto* aux = std::get_if<PerfAux>(&event.what); aux != nullptr && event.sample.cpu)
      if ((aux->flags & PerfAux::kTruncated) != 0)
        truncated[*event.sample.cpu].push_back(aux->offset + aux->size);
  std::map<uint32_t, std::vector<const PerfTraceData*>> cores;
  for (const PerfTraceData& data : file.traces) cores[data.cpu.value_or(data.buffer)].push_back(&data);
  std::vector<Stretch> out;
  for (auto& [core, pieces] : cores) {
    std::ranges::sort(pieces, {},
                      [](const PerfTraceData* each) { return std::pair(each->position, each->offset); });
    uint64_t end = 0;
    bool first = true;
    for (const PerfTraceData* piece : pieces) {
      const bool lost = first || piece->position != end || std::ranges::count(truncated[core], end) != 0;
      if (lost) out.push_back({.core = core, .lost_before = !first || piece->position != 0});
      out.back().bytes += piece->bytes;
      end = piece->position + piece->bytes.size();
      first = false;
    }
  }
  return out;
}

// Between two timing packets time stands still: the order on a core remains.
void sort_by_time(std::vector<PtSpan>& spans) {
  std::vector<std::pair<uint64_t, size_t>> order;
  for (size_t i = 0; i < spans.size(); ++i) order.emplace_back(spans[i].begin_tsc, i);
  std::ranges::sort(order);
  std::vector<PtSpan> sorted;
  for (const auto& [tsc, number] : order) sorted.push_back(std::move(spans[number]));
  spans = std::move(sorted);
}

class Decoder {
 public:
  Decoder(const PerfFile& file, uint32_t pid, const PtImageOptions& options)
      : file_(file), pid_(pid), options_(options), schedule_(file) {}

  Result<PtDecoded> run() {
    if (!file_.trace_info)
      return Error{.what = "the file holds no Intel PT trace",
                   .why = "perf record was asked for other events",
                   .next = "heddle record --mode pt, or perf record -e intel_pt//u"};
    if (!file_.trace_info->time_is_known)
      return Error{.what = "the file does not tell how its clock and the time stamp counter belong together",
                   .why = "the kernel of the recorded machine is too old, or its TSC is not stable"};
    HEDDLE_TRY(load_image());
    for (const Stretch& stretch : stretches_of(file_)) decode(stretch);
    for (auto& [tid, thread] : out_.threads) sort_by_time(thread.spans);
    end_paths_at_gaps();
    return std::move(out_);
  }

 private:
  using Image = std::unique_ptr<pt_image, decltype(&pt_image_free)>;

  // One section for each mapped file, not for each page: decoding in many sections is many times slower.
  Result<void> load_image() {
    image_ = Image(pt_image_alloc("process"), pt_image_free);
    empty_ = Image(pt_image_alloc("others"), pt_image_free);
    std::vector<PerfMapping> merged;
    for (const PerfEvent& event : file_.events) {
      const auto* mapping = std::get_if<PerfMapping>(&event.what);
      if (mapping == nullptr || mapping->pid != pid_ || !mapping->executable) continue;
      const auto continues = [&](const PerfMapping& before) {
        return before.file == mapping->file && before.begin + before.size == mapping->begin &&
               before.file_offset + before.size == mapping->file_offset;
      };
      const auto before = std::ranges::find_if(merged, continues);
      if (before != merged.end())
        before->size += mapping->size;
      else
        merged.push_back(*mapping);
    }
    for (const PerfMapping& mapping : merged) {
      const auto other = options_.files.find(mapping.file);
      const std::string path = other != options_.files.end() ? other->second.string() : mapping.file;
      // Files that are gone leave gaps where their code was executed.
      pt_image_add_file(image_.get(), path.c_str(), mapping.file_offset, mapping.size, nullptr, mapping.begin);
      add_filter(mapping);
    }
    return {};
  }

  // perf's text: "filter OFFSET/SIZE@FILE", offsets in the file.
  void add_filter(const PerfMapping& mapping) {
    const std::string& text = file_.trace_info->filter;
    unsigned long offset = 0, size = 0;
    int name = 0;
    if (std::sscanf(text.c_str(), "filter %lx/%lx@%n", &offset, &size, &name) < 2 || name == 0) return;
    if (text.substr(static_cast<size_t>(name)) != mapping.file || offset < mapping.file_offset ||
        offset >= mapping.file_offset + mapping.size)
      return;
    filter_begin_ = mapping.begin + (offset - mapping.file_offset);
    filter_end_ = filter_begin_ + size;
  }

  void configure(pt_config& config) const {
    const PerfTraceInfo& info = *file_.trace_info;
    config.cpuid_0x15_eax = info.tsc_ctc_denominator;
    config.cpuid_0x15_ebx = info.tsc_ctc_numerator;
    config.nom_freq = static_cast<uint8_t>(info.max_non_turbo_ratio);
    if (const PerfAttribute* event = file_.trace_event(); event != nullptr && info.mtc_frequency_bits != 0)
      config.mtc_freq = static_cast<uint8_t>((event->config & info.mtc_frequency_bits) >>
                                             std::countr_zero(info.mtc_frequency_bits));
    if (filter_end_ != 0) {
      config.addr_filter.config.ctl.addr0_cfg = 1;  // a range outside of which nothing is traced
      config.addr_filter.addr0_a = filter_begin_;
      config.addr_filter.addr0_b = filter_end_ - 1;
    }
    config.flags.variant.block.end_on_call = 1;
    config.flags.variant.block.end_on_jump = 1;
  }

  void decode(const Stretch& stretch) {
    if (stretch.core != core_) tsc_ = 0;
    core_ = stretch.core;
    pt_config config;
    pt_config_init(&config);
    auto* begin = reinterpret_cast<uint8_t*>(const_cast<char*>(stretch.bytes.data()));
    config.begin = begin;
    config.end = begin + stretch.bytes.size();
    configure(config);
    const std::unique_ptr<pt_block_decoder, decltype(&pt_blk_free_decoder)> decoder(
        pt_blk_alloc_decoder(&config), pt_blk_free_decoder);
    HEDDLE_CHECK(decoder != nullptr);
    if (stretch.lost_before) begin_gap("trace data was lost");
    while (true) {
      int status = pt_blk_sync_forward(decoder.get());
      if (status < 0) break;  // no further synchronisation point
      status = follow(*decoder, status);
      note_time(*decoder);
      end_span(status == -pte_eos || status >= 0 ? PtSpan::End::trace_end : PtSpan::End::lost);
      if (status == -pte_eos || status >= 0) break;
      if (!foreign_) begin_gap(pt_errstr(pt_errcode(status)));
    }
    end_gap();
  }

  int follow(pt_block_decoder& decoder, int status) {
    while (true) {
      while ((status & pts_event_pending) != 0) {
        pt_event event;
        status = pt_blk_event(&decoder, &event, sizeof event);
        if (status < 0) return status;
        handle(event, decoder);
      }
      if ((status & pts_eos) != 0) return status;
      pt_block block;
      block.ninsn = 0;
      status = pt_blk_next(&decoder, &block, sizeof block);
      if (block.ninsn > 0) add_block(block, decoder);
      if (status < 0) return status;
    }
  }

  void add_block(const pt_block& block, pt_block_decoder& decoder) {
    if (!span_) {
      note_time(decoder);
      begin_span(true);
    }
    out_.instructions += block.ninsn;
    ++out_.blocks;
    span_->blocks.push_back({.begin = block.ip,
                             .size = static_cast<uint32_t>(block.end_ip - block.ip),
                             .instructions = block.ninsn,
                             .end = end_of(block.iclass)});
  }

  void note_time(pt_block_decoder& decoder) {
    uint64_t time = 0;
    if (pt_blk_time(&decoder, &time, nullptr, nullptr) >= 0) tsc_ = std::max(tsc_, time);
  }

  void handle(const pt_event& event, pt_block_decoder& decoder) {
    if (event.has_tsc) tsc_ = std::max(tsc_, event.tsc);  // an estimate may have been too high
    switch (event.type) {
      case ptev_enabled:
        begin_span(false);
        pt_blk_set_image(&decoder, foreign_ ? empty_.get() : image_.get());
        break;
      case ptev_disabled:
        if (event.ip_suppressed)
          end_span(PtSpan::End::kernel);
        else
          end_span(PtSpan::End::left, event.variant.disabled.ip);
        break;
      case ptev_async_disabled:
        end_span(PtSpan::End::interrupted, event.variant.async_disabled.at);
        break;
      case ptev_ptwrite:
        if (!span_ || span_->blocks.empty()) break;
        span_->values.push_back(
            {.behind = span_->blocks.size(),
             .ip = event.ip_suppressed ? span_->blocks.back().last() : event.variant.ptwrite.ip,
             .value = event.variant.ptwrite.payload});
        break;
      case ptev_overflow:
        end_span(PtSpan::End::lost);
        begin_gap("the core wrote packets faster than memory took them (overflow)");
        if (!event.ip_suppressed) begin_span(true);
        break;
      default:
        break;
    }
  }

  void begin_span(bool in_gap) {
    end_span(PtSpan::End::lost);
    const auto place = schedule_.at(core_, file_.trace_info->time_of(tsc_));
    foreign_ = place && place->pid != pid_;
    tid_ = place && place->pid == pid_ ? place->tid : 0;
    if (in_gap) begin_gap("the beginning is missing");
    end_gap();
    span_.emplace(PtSpan{.core = core_, .begin_tsc = tsc_, .begins_in_gap = in_gap});
  }

  void end_span(PtSpan::End end, uint64_t target = 0) {
    if (!span_) return;
    span_->end = end;
    span_->target = target;
    span_->end_tsc = tsc_;
    if (tid_ != 0) {
      PtThread& thread = out_.threads[tid_];
      thread.pid = pid_;
      thread.tid = tid_;
      thread.spans.push_back(std::move(*span_));
    } else if (!foreign_) {
      ++out_.unattributed_spans;
    }
    span_.reset();
  }

  void begin_gap(std::string why) {
    if (gap_) return;
    gap_.emplace(PtGap{.core = core_, .begin_tsc = tsc_, .why = std::move(why)});
  }
  void end_gap() {
    if (!gap_) return;
    gap_->end_tsc = std::max(tsc_, gap_->begin_tsc);
    out_.gaps.push_back(std::move(*gap_));
    gap_.reset();
  }

  void end_paths_at_gaps() {
    for (const PtGap& gap : out_.gaps)
      for (const CoreSchedule::Place& place : schedule_.between(
               gap.core, file_.trace_info->time_of(gap.begin_tsc), file_.trace_info->time_of(gap.end_tsc)))
        if (const auto thread = out_.threads.find(place.tid); thread != out_.threads.end())
          thread->second.usable_to = std::min(thread->second.usable_to, gap.begin_tsc);
  }

  const PerfFile& file_;
  uint32_t pid_;
  const PtImageOptions& options_;
  CoreSchedule schedule_;
  Image image_{nullptr, pt_image_free}, empty_{nullptr, pt_image_free};
  uint64_t filter_begin_ = 0, filter_end_ = 0;
  // Of the core that is decoded:
  uint32_t core_ = 0, tid_ = 0;
  bool foreign_ = false;  // another process is on it
  uint64_t tsc_ = 0;
  std::optional<PtSpan> span_;
  std::optional<PtGap> gap_;
  PtDecoded out_;
};

}  // namespace

Result<PtDecoded> decode_trace(const PerfFile& file, uint32_t pid, const PtImageOptions& options) {
  return Decoder(file, pid, options).run();
}

std::optional<uint32_t> traced_process(const PerfFile& file) {
  for (const PerfEvent& event : file.events)
    if (const auto* name = std::get_if<PerfName>(&event.what); name != nullptr && name->exec) return name->pid;
  for (const PerfEvent& event : file.events)
    if (const auto* start = std::get_if<PerfTraceStart>(&event.what)) return start->pid;
  return std::nullopt;
}

}  // namespace heddle
