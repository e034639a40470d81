#include "pt/packet_writer.h"

#include <intel-pt.h>

#include <utility>

#include "base/result.h"

namespace heddle {
namespace {

constexpr size_t kRoom = 64;        // for one packet
constexpr uint64_t kMostMtc = 100;  // periods without one, as in sleep: their 8 bits must not come round

}  // namespace

PacketWriter::PacketWriter(PtClock clock, size_t psb_period)
    : clock_(clock), psb_period_(psb_period), buffer_(std::make_unique<uint8_t[]>(kRoom)) {
  pt_config config;
  pt_config_init(&config);
  config.begin = buffer_.get();
  config.end = buffer_.get() + kRoom;
  encoder_ = pt_alloc_encoder(&config);
  HEDDLE_CHECK(encoder_ != nullptr);
}

PacketWriter::PacketWriter(PacketWriter&& other) noexcept
    : clock_(other.clock_),
      psb_period_(other.psb_period_),
      buffer_(std::move(other.buffer_)),
      encoder_(std::exchange(other.encoder_, nullptr)),
      bytes_(std::move(other.bytes_)) {}

PacketWriter::~PacketWriter() {
  pt_free_encoder(encoder_);
}

void PacketWriter::packet(const pt_packet& packet) {
  HEDDLE_CHECK(pt_enc_sync_set(encoder_, 0) == 0);
  const int size = pt_enc_next(encoder_, &packet);
  HEDDLE_CHECK(size > 0);
  bytes_.append(reinterpret_cast<const char*>(buffer_.get()), static_cast<size_t>(size));
  written_ += static_cast<uint64_t>(size);
}

// As few bytes as tell it, given the last one.
void PacketWriter::ip_packet(int type, uint64_t ip) {
  pt_packet out{};
  out.type = static_cast<pt_packet_type>(type);
  out.payload.ip.ip = ip;
  if (ip >> 16 == last_ip_ >> 16)
    out.payload.ip.ipc = pt_ipc_update_16;
  else if (ip >> 32 == last_ip_ >> 32)
    out.payload.ip.ipc = pt_ipc_update_32;
  else
    out.payload.ip.ipc = pt_ipc_sext_48;
  last_ip_ = ip;
  packet(out);
}

void PacketWriter::suppressed(int type) {
  pt_packet out{};
  out.type = static_cast<pt_packet_type>(type);
  out.payload.ip.ipc = pt_ipc_suppressed;
  packet(out);
}

// The time, as it is told in full.
void PacketWriter::stamp(uint64_t tsc) {
  pt_packet out{};
  out.type = ppt_tsc;
  out.payload.tsc.tsc = tsc;
  packet(out);
  out = {};
  out.type = ppt_tma;
  out.payload.tma.ctc = static_cast<uint16_t>(tsc / clock_.tsc_per_ctc);
  out.payload.tma.fc = static_cast<uint16_t>(tsc % clock_.tsc_per_ctc);
  packet(out);
  last_cycle_ = tsc;
  last_mtc_ = tsc / clock_.tsc_per_ctc >> clock_.mtc_period;
}

void PacketWriter::tell_time(uint64_t tsc) {
  const auto cycles = [&](uint64_t now) {
    if (now <= last_cycle_) return;
    pt_packet out{};
    out.type = ppt_cyc;
    out.payload.cyc.value = now - last_cycle_;
    last_cycle_ = now;
    packet(out);
  };
  const uint64_t mtc = tsc / clock_.tsc_per_ctc >> clock_.mtc_period;
  while (last_mtc_ < mtc) {
    last_mtc_ += mtc - last_mtc_ > kMostMtc ? kMostMtc : 1;
    cycles((last_mtc_ << clock_.mtc_period) * clock_.tsc_per_ctc);
    pt_packet out{};
    out.type = ppt_mtc;
    out.payload.mtc.ctc = static_cast<uint8_t>(last_mtc_);
    packet(out);
  }
  cycles(tsc);
}

void PacketWriter::flush(uint64_t tsc) {
  if (bit_count_ == 0) return;
  tell_time(tsc);
  pt_packet out{};
  out.type = bit_count_ > 6 ? ppt_tnt_64 : ppt_tnt_8;
  out.payload.tnt.bit_size = static_cast<uint8_t>(bit_count_);
  out.payload.tnt.payload = bits_;
  bits_ = 0;
  bit_count_ = 0;
  ++tnt_packets_;
  packet(out);
}

void PacketWriter::synchronise(uint64_t tsc, uint64_t ip) {
  flush(tsc);
  if (started_) tell_time(tsc);  // the group's time stamp must not hide cycles from who measures their rate
  started_ = true;
  last_ip_ = 0;
  pt_packet out{};
  out.type = ppt_psb;
  packet(out);
  stamp(tsc);
  out = {};
  out.type = ppt_cbr;
  out.payload.cbr.ratio = clock_.ratio;
  packet(out);
  out = {};
  out.type = ppt_mode;
  out.payload.mode.leaf = pt_mol_exec;
  out.payload.mode.bits.exec = pt_set_exec_mode(ptem_64bit);
  packet(out);
  if (enabled_) ip_packet(ppt_fup, ip);
  out = {};
  out.type = ppt_psbend;
  packet(out);
  last_psb_ = written_;
}

void PacketWriter::between(uint64_t tsc, uint64_t ip) {
  if (!started_ || written_ - last_psb_ >= psb_period_) synchronise(tsc, ip);
}

void PacketWriter::enable(uint64_t tsc, uint64_t ip) {
  between(tsc, 0);
  tell_time(tsc);
  ip_packet(ppt_tip_pge, ip);
  enabled_ = true;
}

void PacketWriter::disable(uint64_t tsc) {
  flush(tsc);
  tell_time(tsc);
  suppressed(ppt_tip_pgd);
  enabled_ = false;
}

void PacketWriter::leave(uint64_t tsc, uint64_t target) {
  flush(tsc);
  tell_time(tsc);
  ip_packet(ppt_tip_pgd, target);
  enabled_ = false;
}

void PacketWriter::interrupt(uint64_t tsc, uint64_t ip) {
  flush(tsc);
  tell_time(tsc);
  ip_packet(ppt_fup, ip);
  suppressed(ppt_tip_pgd);
  enabled_ = false;
}

void PacketWriter::branch(uint64_t tsc, bool taken) {
  bits_ = bits_ << 1 | (taken ? 1 : 0);
  const unsigned most = tnt_packets_ % 16 == 15 ? 47 : 6;  // both forms occur
  if (++bit_count_ >= most) flush(tsc);
}

void PacketWriter::jump(uint64_t tsc, uint64_t target) {
  flush(tsc);
  tell_time(tsc);
  ip_packet(ppt_tip, target);
}

void PacketWriter::write(uint64_t tsc, uint64_t ip, uint64_t value, bool wide) {
  flush(tsc);
  tell_time(tsc);
  pt_packet out{};
  out.type = ppt_ptw;
  out.payload.ptw.payload = value;
  out.payload.ptw.plc = wide ? 1 : 0;
  out.payload.ptw.ip = 1;
  packet(out);
  ip_packet(ppt_fup, ip);
}

void PacketWriter::overflow(uint64_t tsc, uint64_t ip) {
  bits_ = 0;
  bit_count_ = 0;
  pt_packet out{};
  out.type = ppt_ovf;
  packet(out);
  stamp(tsc);
  if (ip != 0) ip_packet(ppt_fup, ip);
  enabled_ = ip != 0;
}

std::string PacketWriter::take() {
  return std::exchange(bytes_, {});
}

}  // namespace heddle
