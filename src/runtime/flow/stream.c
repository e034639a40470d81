/* A thread's file: its first page is the thread's state, so that nothing is lost however the process ends; the
 * stream behind it is written through a window that moves on. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/flow/flow.h"

#define WINDOW (1ull << 20)
#define PART (64ull << 10) /* of a window: what is allocated at a time */
#define MUCH (16ull << 10)

static bool failed(long result) {
  return result < 0 && result > -4096;
}

/* The stream ends here, and says why. */
static bool stop(struct rt_fl_local* local, long error) {
  heddle_flow_self->stop = (uint32_t)-error;
  local->window = local->next = local->end = NULL;
  local->file = -1;
  return false;
}

static long next_window(struct rt_fl_local* local) {
  if (local->window != NULL) {
    RT_SYS2(SYS_munmap, local->window, WINDOW);
    local->window_at += WINDOW;
  }
  const uint64_t at = HEDDLE_FLOW_PAGE + local->window_at;
  const long result =
      RT_SYS6(SYS_mmap, NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, local->file, at); /* beyond its end */
  if (failed(result)) return result;
  RT_SYS3(SYS_madvise, result, WINDOW, MADV_RANDOM); /* there is nothing to read ahead */
  local->window = local->next = local->end = (uint8_t*)result;
  return 0;
}

/* More room at local->end. Where the disk is full a store would be a fault: so ask before. */
static bool next_part(struct rt_fl_local* local) {
  if (local->file < 0) return false;
  long result = 0;
  if (local->window == NULL || local->end == local->window + WINDOW) result = next_window(local);
  if (failed(result)) return stop(local, result);
  const uint64_t used = local->window_at + (uint64_t)(local->end - local->window);
  result = rt_allocate(local->file, HEDDLE_FLOW_PAGE + used, PART);
  if (failed(result)) return stop(local, result);
  local->end += PART;
  return true;
}

bool rt_fl_open_stream(struct rt_fl_local* local, const struct rt_thread* thread) {
  char path[RT_PATH_SIZE];
  rt_log_path(&thread->log, ".flow", path);
  local->file =
      rt_fl_move_file(RT_SYS4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (local->file < 0)
    rt_refuse("the log of a thread cannot be opened: too many threads for the limit of open files");
  long result = rt_allocate(local->file, 0, HEDDLE_FLOW_PAGE);
  if (!failed(result))
    result = RT_SYS6(SYS_mmap, NULL, HEDDLE_FLOW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, local->file, 0);
  if (failed(result)) return false;
  struct heddle_flow_thread* const head = (struct heddle_flow_thread*)result;
  head->format = HEDDLE_FLOW_FORMAT;
  head->slot = local->slot;
  local->tag = HEDDLE_FLOW_WORD(HEDDLE_FLOW_owned, local->slot, 0, 0);
  if (rt_fl.mode == FL_REPLAY || !rt_fl.sequences) local->tag = ~0ull; /* nothing is without a hook */
  head->tag = local->tag;
  head->guard = ~0ull;
  head->held = ~0ull;
  local->seen[local->slot] = UINT64_MAX; /* its own */
  head->seen = local->seen;
  head->first = rt_fl.threads[local->slot].last;
  head->status = head->first << HEDDLE_FLOW_STATE_BITS;
  strcpy(head->name, thread->name);
  RT_ORDER();
  head->magic = HEDDLE_FLOW_MAGIC;
  heddle_flow_self = head;
  return true;
}

void rt_fl_close_stream(struct rt_fl_local* local) {
  if (local->window != NULL) RT_SYS2(SYS_munmap, local->window, WINDOW);
  local->window = local->next = local->end = NULL;
  if (local->file >= 0) RT_SYS1(SYS_close, local->file);
  local->file = -1;
}

void rt_fl_append(const void* data, uint64_t size) {
  struct rt_fl_local* const local = rt_fl_local;
  const uint8_t* from = data;
  while (size > 0) {
    if (local->next == local->end && !next_part(local)) return;
    uint64_t piece = (uint64_t)(local->end - local->next);
    if (piece > size) piece = size;
    /* The kernel fills pages faster than we do by touching them. */
    const uint64_t at = HEDDLE_FLOW_PAGE + local->window_at + (uint64_t)(local->next - local->window);
    if (piece < MUCH || RT_SYS4(SYS_pwrite64, local->file, from, piece, at) != (long)piece)
      memcpy(local->next, from, piece);
    local->next += piece;
    from += piece;
    size -= piece;
  }
}

/* What was appended counts from now on. */
void rt_fl_commit(void) {
  const struct rt_fl_local* const local = rt_fl_local;
  if (local->window == NULL) return;
  RT_ORDER();
  *(volatile uint64_t*)&heddle_flow_self->used = local->window_at + (uint64_t)(local->next - local->window);
}

uint8_t* rt_fl_put(uint8_t* to, uint64_t value) {
  return rt_varint(to, value);
}

void rt_fl_note_edge(uint32_t slot, uint64_t number) {
  struct rt_fl_local* const local = rt_fl_local;
  const uint64_t mine = rt_fl_number();
  uint8_t entry[40];
  uint8_t* to = entry;
  *to++ = HEDDLE_FLOW_edge;
  to = rt_fl_put(to, mine - local->last_edge);
  to = rt_fl_put(to, slot);
  to = rt_fl_put(to, rt_fl_zigzag((int64_t)(number - local->edge_base[slot])));
  local->last_edge = mine;
  local->edge_base[slot] = number;
  ++heddle_flow_self->edges;
  rt_fl_append(entry, (uint64_t)(to - entry));
  rt_fl_commit();
}

void rt_fl_note_version(enum heddle_flow_entry kind, uint64_t granule, uint32_t slot, uint64_t number) {
  struct rt_fl_local* const local = rt_fl_local;
  const uint64_t mine = rt_fl_number();
  uint8_t entry[40];
  uint8_t* to = entry;
  *to++ = (uint8_t)kind;
  to = rt_fl_put(to, mine - local->last_version);
  to = rt_fl_put(to, rt_fl_zigzag((int64_t)(granule - local->version_granule)));
  to = rt_fl_put(to, slot);
  to = rt_fl_put(to, rt_fl_zigzag((int64_t)(number - local->version_base)));
  local->last_version = mine;
  local->version_granule = granule;
  local->version_base = number;
  ++heddle_flow_self->edges;
  rt_fl_append(entry, (uint64_t)(to - entry));
  rt_fl_commit();
}

void* rt_fl_map_file(const char* name, uint64_t* size) {
  char path[RT_PATH_SIZE];
  if (strlen(rt.folder) + strlen(name) + 2 > sizeof path) return NULL;
  strcpy(path, rt.folder);
  strcat(path, "/");
  strcat(path, name);
  const long fd = RT_SYS4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (failed(fd)) return NULL;
  const long end = RT_SYS3(SYS_lseek, fd, 0, SEEK_END);
  long at = -1;
  /* Not where the kernel would put the program's own mappings. */
  static _Atomic uint64_t place = 0x2f0000000000ull;
  if (end > 0) {
    const uint64_t want =
        __atomic_fetch_add((uint64_t*)&place, ((uint64_t)end + 0x1fff) & ~0xfffull, __ATOMIC_RELAXED);
    at = RT_SYS6(SYS_mmap, want, end, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0);
  }
  RT_SYS1(SYS_close, fd);
  if (failed(at)) return NULL;
  *size = (uint64_t)end;
  return (void*)at;
}
