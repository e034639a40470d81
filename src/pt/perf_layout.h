// Numbers of perf.data: record types, flags and fields, for its reader and its writer (perf_file.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace heddle::perf {

constexpr std::string_view kMagic = "PERFILE2";
constexpr uint64_t kFileHead = 104, kPipeHead = 16, kRecordHead = 8;

enum Record : uint32_t {
  mmap = 1,
  lost = 2,
  comm = 3,
  exit = 4,
  fork = 7,
  mmap2 = 10,
  aux = 11,
  itrace_start = 12,
  switch_ = 14,
  switch_cpu_wide = 15,
  first_user_type = 64,
  header_attr = 64,
  header_build_id = 67,
  finished_round = 68,
  auxtrace_info = 70,
  auxtrace = 71,
  header_feature = 80,
  compressed = 81,
  finished_init = 82,
  compressed2 = 83,
};

enum SampleType : uint64_t {
  ip = 1u << 0,
  tid = 1u << 1,
  time = 1u << 2,
  id = 1u << 6,
  cpu = 1u << 7,
  stream_id = 1u << 9,
  identifier = 1u << 16,
};

constexpr uint16_t kMiscUser = 2;
constexpr uint16_t kMiscCommExec = 1u << 13, kMiscMmapData = 1u << 13, kMiscSwitchOut = 1u << 13;
constexpr uint16_t kMiscPreempted = 1u << 14, kMiscBuildId = 1u << 14;
constexpr uint16_t kMiscBuildIdSize = 1u << 15;  // of HEADER_BUILD_ID

// Bits of perf_event_attr behind read_format.
constexpr unsigned kAttrDisabled = 0, kAttrExcludeKernel = 5, kAttrExcludeHv = 6, kAttrMmap = 8, kAttrComm = 9,
                   kAttrEnableOnExec = 12, kAttrTask = 13, kAttrSampleIdAll = 18, kAttrMmap2 = 23,
                   kAttrCommExec = 24, kAttrContextSwitch = 26;

enum Feature : unsigned {
  feature_build_id = 2,
  feature_hostname = 3,
  feature_os_release = 4,
  feature_version = 5,
  feature_arch = 6,
  feature_cpu_desc = 8,
  feature_cmdline = 11,
  feature_event_desc = 12,
  feature_auxtrace = 18,
  feature_last = 32,
};

// Words of AUXTRACE_INFO for Intel PT.
enum InfoWord : unsigned {
  info_pmu_type,
  info_time_shift,
  info_time_mult,
  info_time_zero,
  info_cap_user_time_zero,
  info_tsc_bit,
  info_noretcomp_bit,
  info_have_sched_switch,
  info_snapshot_mode,
  info_per_cpu_mmaps,
  info_mtc_bit,
  info_mtc_freq_bits,
  info_tsc_ctc_n,
  info_tsc_ctc_d,
  info_cyc_bit,
  info_max_nonturbo_ratio,
  info_filter_length,
  info_words,
};

// Bits of the PT event's config (IA32_RTIT_CTL as perf numbers it).
constexpr uint64_t kConfigPt = 1, kConfigCyc = 1u << 1, kConfigMtc = 1u << 9, kConfigTsc = 1u << 10,
                   kConfigNoRetComp = 1u << 11, kConfigBranch = 1u << 13, kConfigPtw = 1u << 12,
                   kConfigFupOnPtw = 1u << 5;
constexpr unsigned kConfigMtcPeriod = 14, kConfigMtcPeriodBits = 4;

}  // namespace heddle::perf
