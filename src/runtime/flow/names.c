/* Names of events, for who wants the order of a replay in a run of another kind (driver/flow_guide): which
 * instruction of the program, and how often the thread has come to it. A replay writes down the last event with
 * a name of each of its steps. */
#include <fcntl.h>

#include "abi/control.h"
#include "runtime/flow/flow.h"

#define PLACES (1u << 16)
struct counted {
  uint32_t site, kind;
  uint64_t count;
};
static RT_TLS struct counted* table;
static RT_TLS struct heddle_flow_name last; /* occurrence 0: none in this step */
static int file = -1;

void rt_fl_names_init(void) {
  char path[RT_PATH_SIZE];
  __builtin_strcpy(path, rt.folder);
  __builtin_strcat(path, "/" HEDDLE_FLOW_NAMES);
  const long fd = RT_SYS4(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  file = rt_fl_move_file(fd);
  rt_fl.names = file >= 0;
}

static uint64_t count(uint32_t site, uint32_t kind) {
  if (table == NULL) table = rt_map_memory(sizeof *table * PLACES);
  if (table == NULL) rt_no_memory();
  for (uint32_t i = 0; i < PLACES; ++i) {
    struct counted* const at = &table[(site * 0x9e3779b1u + kind + i) % PLACES];
    if (at->count != 0 && (at->site != site || at->kind != kind)) continue;
    at->site = site;
    at->kind = kind;
    return ++at->count;
  }
  return 0;
}

void rt_fl_count_name(uint32_t site, enum heddle_flow_name_kind kind) {
  if (!rt_fl_active()) return;
  if (site == HEDDLE_NO_SITE && kind < HEDDLE_FLOW_name_begin) return;
  last = (struct heddle_flow_name){.slot = rt_fl_local->slot,
                                   .site = site,
                                   .number = rt_fl_number(),
                                   .occurrence = count(site, kind),
                                   .kind = kind};
}

void rt_fl_write_name(void) {
  if (file < 0 || last.occurrence == 0) return;
  RT_SYS3(SYS_write, file, &last, sizeof last);
  last.occurrence = 0;
}
