// The packets that one core's PT unit writes, made with libipt's encoder (Intel's manual, volume 3, chapter
// "Intel Processor Trace").
//
// Timing is as with tsc, mtc and cyc on: a time stamp in each PSB group, MTC packets at a fixed rate of the
// clock, CYC packets with the cycles between. The core runs at the rate of the time stamp counter. TNT bits
// wait until a packet is full or something else is to be written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

struct pt_encoder;
struct pt_packet;

namespace heddle {

// Of the emulated machine.
struct PtClock {
  uint32_t tsc_per_ctc = 104;  // time stamp counter by crystal clock
  uint8_t mtc_period = 3;      // an MTC packet every 2^3 ticks of the crystal
  uint8_t ratio = 25;          // of core and bus
};

class PacketWriter {
 public:
  explicit PacketWriter(PtClock clock, size_t psb_period = 4096);
  ~PacketWriter();
  PacketWriter(PacketWriter&&) noexcept;

  // `tsc`: when it happens; never goes back.
  void enable(uint64_t tsc, uint64_t ip);     // TIP.PGE
  void disable(uint64_t tsc);                 // TIP.PGD: into the kernel
  void leave(uint64_t tsc, uint64_t target);  // TIP.PGD: a branch out of the filter's range
  void interrupt(uint64_t tsc, uint64_t ip);  // FUP, TIP.PGD: before the instruction at ip
  void branch(uint64_t tsc, bool taken);      // TNT
  void jump(uint64_t tsc, uint64_t target);   // TIP
  void write(uint64_t tsc, uint64_t ip, uint64_t value, bool wide);  // PTW, FUP: the PTWRITE at ip
  // OVF: what happened since the last packet is lost. `ip`: where tracing goes on, 0: it is off.
  void overflow(uint64_t tsc, uint64_t ip);
  // Whether a PSB group is due; between instructions. `ip` of the next one, 0: tracing is off.
  void between(uint64_t tsc, uint64_t ip);
  void flush(uint64_t tsc);

  bool enabled() const { return enabled_; }
  std::string take();  // what was written since it was taken before
  uint64_t written() const { return written_; }

 private:
  void packet(const pt_packet& packet);
  void ip_packet(int type, uint64_t ip);
  void suppressed(int type);
  void synchronise(uint64_t tsc, uint64_t ip);
  void stamp(uint64_t tsc);
  void tell_time(uint64_t tsc);

  PtClock clock_;
  size_t psb_period_;
  std::unique_ptr<uint8_t[]> buffer_;
  pt_encoder* encoder_ = nullptr;
  std::string bytes_;
  uint64_t written_ = 0, last_psb_ = 0;
  uint64_t last_ip_ = 0;
  uint64_t last_cycle_ = 0, last_mtc_ = 0;
  uint64_t bits_ = 0;
  unsigned bit_count_ = 0, tnt_packets_ = 0;
  bool enabled_ = false, started_ = false;
};

}  // namespace heddle
