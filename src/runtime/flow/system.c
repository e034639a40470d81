/* System calls: everything that the kernel tells the program is recorded, and given back in a replay, which
 * then performs no input and no output but what goes to standard output and error.
 *
 * A filter (seccomp) lets calls from libraries trap, so that those inside libc (stdio) come here too; those of
 * the runtime itself, which are made in the executable, pass. Programs that this one starts inherit it: their
 * libraries lie elsewhere (children.c). Frequent functions are interposed (calls.c) to
 * save the trap. */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <ucontext.h>

#include "runtime/flow/flow.h"
#include "runtime/flow/system.h"

static long raw(long number, const long a[6]) {
  if (rt_fl_limits_descriptors(number, a)) return rt_fl_limit_descriptors(a);
  return rt_system_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- pieces of memory that a call wrote */
struct piece {
  void* at;
  uint64_t size;
};
#define PIECES 64

static uint32_t vector_pieces(const struct iovec* vector, uint64_t count, uint64_t bytes, struct piece* out,
                              uint32_t used) {
  for (uint64_t i = 0; i < count && bytes > 0 && used < PIECES; ++i) {
    const uint64_t size = vector[i].iov_len < bytes ? vector[i].iov_len : bytes;
    out[used++] = (struct piece){vector[i].iov_base, size};
    bytes -= size;
  }
  return used;
}

static uint64_t ioctl_size(unsigned long request) {
  switch (request) {
    case FIONREAD:
      return 4;
    case TCGETS:
      return 36;
    case TIOCGWINSZ:
      return 8;
    default:
      return _IOC_DIR(request) & _IOC_READ ? _IOC_SIZE(request) : 0;
  }
}

static uint32_t find_pieces(long number, const long a[6], long result, struct piece* out) {
  const struct rt_fl_part* const parts = rt_fl_parts_of(number);
  uint32_t used = 0;
  for (uint32_t i = 0; parts != NULL && i < FL_PARTS && parts[i].amount != FL_NOTHING; ++i) {
    const struct rt_fl_part* const part = &parts[i];
    void* const at = (void*)a[part->argument];
    if (at == NULL || (result < 0 && !part->on_error)) continue;
    uint64_t size = 0;
    switch (part->amount) {
      case FL_BYTES:
        size = part->n;
        break;
      case FL_RESULT:
        size = (uint64_t)result * part->n;
        break;
      case FL_COUNT:
        size = (uint64_t)a[part->other] * part->n;
        break;
      case FL_BEHIND:
        if (a[part->other] != 0) size = *(const uint32_t*)a[part->other];
        if (size > 4096) size = 4096;
        break;
      case FL_VECTOR:
        used = vector_pieces(at, (uint64_t)a[part->other], (uint64_t)result, out, used);
        continue;
      case FL_MESSAGE: {
        struct msghdr* const message = at;
        used = vector_pieces(message->msg_iov, message->msg_iovlen, (uint64_t)result, out, used);
        if (used + 5 > PIECES) continue;
        if (message->msg_name != NULL) out[used++] = (struct piece){message->msg_name, message->msg_namelen};
        if (message->msg_control != NULL)
          out[used++] = (struct piece){message->msg_control, message->msg_controllen};
        out[used++] = (struct piece){&message->msg_namelen, sizeof message->msg_namelen};
        out[used++] = (struct piece){&message->msg_controllen, sizeof message->msg_controllen};
        out[used++] = (struct piece){&message->msg_flags, sizeof message->msg_flags};
        continue;
      }
      case FL_IOCTL:
        size = ioctl_size((unsigned long)a[1]);
        break;
    }
    if (size != 0 && used < PIECES) out[used++] = (struct piece){at, size};
  }
  return used;
}

/* Lengths stand before the bytes: in a replay they are not known otherwise. */
static void note_pieces(long number, long result, const struct piece* pieces, uint32_t count) {
  uint8_t lengths[PIECES * 10 + 8];
  uint8_t* to = rt_fl_put(lengths, count);
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < count; ++i) {
    to = rt_fl_put(to, pieces[i].size);
    bytes += pieces[i].size;
  }
  rt_fl_note_parts((uint32_t)number, result, lengths, (uint64_t)(to - lengths), bytes);
  for (uint32_t i = 0; i < count; ++i) rt_fl_append(pieces[i].at, pieces[i].size);
  rt_fl_commit();
}

/* The kernel's writes as events. When recording they have happened already. */
static void write_pieces(const struct piece* pieces, uint32_t count, const uint8_t* bytes) {
  for (uint32_t i = 0; i < count; ++i) {
    rt_fl_write_event(pieces[i].at, bytes != NULL ? (const void*)bytes : pieces[i].at, pieces[i].size);
    if (bytes != NULL) bytes += pieces[i].size;
  }
}

static uint64_t take_number(const uint8_t** at) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const uint8_t byte = *(*at)++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

/* ---- recording */
static RT_TLS bool is_point; /* it makes a call for a function of libc from which it may be cancelled */
static long waiting(long number, const long a[6]) {
  rt_fl_begin_wait();
  const long result = rt_fl_limits_descriptors(number, a) ? rt_fl_limit_descriptors(a)
                                                          : rt_fl_call_cancellably(number, a, is_point);
  rt_fl_end_wait();
  return result;
}

/* What others may look at is to change inside the event: so the kernel writes elsewhere first, if it is not too
 * much. */
#define APART 65536
static long read_apart(long (*reader)(long, const long[6]), long number, const long a[6], struct piece* piece,
                       const uint8_t** read) {
  static RT_TLS uint8_t* apart;
  if (apart == NULL) apart = rt_map_memory(APART);
  if (apart == NULL) rt_no_memory();
  long b[6];
  memcpy(b, a, sizeof b);
  b[1] = (long)apart;
  *read = apart;
  *piece = (struct piece){(void*)a[1], 0};
  const long result = reader(number, b);
  if (result > 0) {
    piece->size = (uint64_t)result;
    rt_fl_write_event((void*)a[1], apart, (uint64_t)result);
  }
  return result;
}

static bool is_read(long number) {
  return number == SYS_read || number == SYS_pread64;
}

/* What reads at once does so inside the event, if nobody else has the memory. */
static long record_read(long number, const long a[6]) {
  struct piece piece = {(void*)a[1], 0};
  const uint64_t position = rt_fl_position(number, a);
  const uint8_t* bytes = piece.at;
  const bool at_once = rt_fl_reads_at_once(a);
  if (at_once) { /* a replay cannot know, and comes by a wait */
    rt_fl_begin_wait();
    rt_fl_end_wait();
  }
  long result;
  if (at_once && rt_fl_begin_own_write(piece.at, (uint64_t)a[2])) {
    result = raw(number, a);
    rt_fl_end_own_write(result > 0);
    if (result > 0) piece.size = (uint64_t)result;
  } else if ((uint64_t)a[2] <= APART) {
    result = read_apart(at_once ? raw : waiting, number, a, &piece, &bytes);
  } else {
    result = at_once ? raw(number, a) : waiting(number, a);
    if (result > 0) piece.size = (uint64_t)result;
    write_pieces(&piece, 1, NULL);
  }
  if (!rt_fl_name_read(number, a, position, bytes, result)) note_pieces(number, result, &piece, result > 0);
  return result;
}

static long record_call(long number, const long a[6]) {
  /* Not in a handler: what it interrupted may have been here. */
  if (is_read(number) && a[1] != 0 && rt_fl_local->handlers == NULL) return record_read(number, a);
  if (rt_fl_writes_mapped(number, a)) return rt_fl_write_mapped(number, a);
  rt_fl_before_change(number, a);
  const long result = waiting(number, a);
  rt_fl_after_open(number, a, result);
  struct piece pieces[PIECES];
  const uint32_t count = find_pieces(number, a, result, pieces);
  write_pieces(pieces, count, NULL);
  note_pieces(number, result, pieces, count);
  return result;
}

/* ---- replay */
static void show_output(long number, const long a[6], long result) {
  if (result <= 0 || (a[0] != 1 && a[0] != 2)) return;
  if (number == SYS_write) RT_SYS3(SYS_write, a[0], a[1], result);
  if (number == SYS_writev) RT_SYS3(SYS_writev, a[0], a[1], a[2]);
}

/* The result stands behind the events of its pieces: so look before them. */
static long replay_call(long number, const long a[6]) {
  rt_fl_begin_wait();
  rt_fl_leave_if_cancelled();
  rt_fl_given_mapped();
  if (is_read(number) && rt_fl_next_what() == HEDDLE_FLOW_read_file) return rt_fl_read_again((void*)a[1]);
  const uint8_t* bytes = NULL;
  uint64_t size;
  int64_t result = rt_fl_peek((uint32_t)number, &bytes, &size);
  struct piece pieces[PIECES];
  const uint8_t* at = bytes;
  const uint64_t count = take_number(&at);
  uint64_t sizes[PIECES];
  for (uint64_t i = 0; i < count && i < PIECES; ++i) sizes[i] = take_number(&at);
  if (count > 0) {
    /* Where an address has a length behind a pointer, that is what it was before; the recorded sizes count. */
    uint32_t found = find_pieces(number, a, result, pieces);
    if (is_read(number) && found == 1) pieces[0].at = (void*)a[1];
    if (found != count) rt_fl_diverged("a system call with other arguments", (int64_t)count, found);
    for (uint32_t i = 0; i < found; ++i) pieces[i].size = sizes[i];
    write_pieces(pieces, found, at);
  }
  result = rt_fl_given((uint32_t)number, &bytes, &size);
  show_output(number, a, result);
  return result;
}

/* ---- signals to itself. In a replay handlers run where they ran (handlers.c), whatever is sent: what is sent
 * all the same would stay pending, if it is blocked, and end the program once it has no handler any more. What
 * had none is sent again. Threads change that, so it is written down; what may end the process, before. */
bool rt_fl_has_handler(int number) {
  struct sigaction action;
  if (number <= 0 || number == SIGABRT || rt_program_action(number, NULL, &action) != 0) return false;
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

static long record_kill(const long a[6]) {
  const bool to_itself = a[0] == RT_SYS0(SYS_getpid) || a[0] == 0;
  const bool again = to_itself && a[1] != 0 && !rt_fl_has_handler((int)a[1]);
  rt_fl_note(SYS_kill, again, NULL, 0);
  const long result = waiting(SYS_kill, a);
  if (!again) rt_fl_note(SYS_kill, result, NULL, 0);
  return result;
}

static long replay_kill(const long a[6]) {
  const uint8_t* bytes;
  uint64_t size;
  const bool again = rt_fl_given(SYS_kill, &bytes, &size) != 0;
  rt_fl_begin_wait();
  if (again) return RT_SYS2(SYS_kill, RT_SYS0(SYS_getpid), a[1]);
  return (long)rt_fl_given(SYS_kill, &bytes, &size);
}

static long perform(long number, const long a[6]) {
  switch (number) {
    case SYS_mmap:
      return rt_fl_mmap(a);
    case SYS_mremap:
      return rt_fl_mremap(a);
    case SYS_shmat:
      return rt_fl_shmat(a);
    case SYS_shmdt:
      return rt_fl_shmdt(a);
    case SYS_kill:
      return rt_fl.mode == FL_RECORD ? record_kill(a) : replay_kill(a);
    case SYS_exit_group:
      if (rt_fl.mode == FL_REPLAY) rt_fl_wait_for_all();
      return raw(number, a);
    default:
      return rt_fl.mode == FL_RECORD ? record_call(number, a) : replay_call(number, a);
  }
}

/* ---- masks that hold for a call, and for the handlers that run in it: they must not hold the trap */
static const uint64_t* mask_of(long number, const long a[6]) {
  switch (number) {
    case SYS_rt_sigsuspend:
      return (const uint64_t*)a[0];
    case SYS_ppoll:
      return (const uint64_t*)a[3];
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
      return (const uint64_t*)a[4];
    case SYS_pselect6:
      return a[5] != 0 ? *(const uint64_t* const*)a[5] : NULL;
    default:
      return NULL;
  }
}

struct own_mask {
  uint64_t mask;
  uint64_t pair[2]; /* of pselect6: where it is, its size */
};
static void use_mask(long number, struct own_mask* own, long a[6]) {
  own->pair[0] = (uint64_t)(uintptr_t)&own->mask;
  own->pair[1] = 8;
  const int at = number == SYS_rt_sigsuspend ? 0 : number == SYS_ppoll ? 3 : number == SYS_pselect6 ? 5 : 4;
  a[at] = (long)(at == 5 ? own->pair : &own->mask);
}

long rt_fl_system_call(long number, const long given[6]) {
  if (!rt_fl_active() || rt_fl_is_own_business(number)) return raw(number, given);
  const uint64_t* const mask = mask_of(number, given);
  struct own_mask own;
  long a[6];
  memcpy(a, given, sizeof a);
  if (mask != NULL) {
    own.mask = *mask & ~(1ull << (SIGSYS - 1));
    use_mask(number, &own, a);
  }
  struct rt_fl_suspended event;
  rt_fl_suspend_event(&event);
  const long result = perform(number, a);
  rt_fl_run_handlers();
  rt_fl_resume_event(&event);
  return result;
}

long rt_fl_system_call_at_point(long number, const long a[6]) {
  is_point = true;
  const long result = rt_fl_system_call(number, a);
  is_point = false;
  return result;
}

/* ---- the trap */
static void on_trap(int number, siginfo_t* information, void* context) {
  (void)number;
  (void)information;
  /* Where libc lets the thread be cancelled at any time, that is meant for the call alone. */
  int type = PTHREAD_CANCEL_DEFERRED;
  pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
  greg_t* const registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const long a[6] = {registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                     registers[REG_R10], registers[REG_R8],  registers[REG_R9]};
  const int saved = errno;
  const bool at_point = type == PTHREAD_CANCEL_ASYNCHRONOUS;
  registers[REG_RAX] =
      at_point ? rt_fl_system_call_at_point(registers[REG_RAX], a) : rt_fl_system_call(registers[REG_RAX], a);
  if (at_point) rt_fl_end_point();
  errno = saved;
}

struct range {
  uint64_t begin, end;
};

static int add_library(struct dl_phdr_info* object, size_t size, void* to) {
  (void)size;
  struct range* const range = to;
  if (object->dlpi_addr < 0x7f0000000000ull) return 0; /* the executable */
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    if (object->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const uint64_t at = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
    if (at < range->begin) range->begin = at;
    if (at + object->dlpi_phdr[i].p_memsz > range->end) range->end = at + object->dlpi_phdr[i].p_memsz;
  }
  return 0;
}

static void install_filter(void) {
  struct sock_filter code[128];
  uint32_t used = 0;
#define PUT(...) code[used++] = (struct sock_filter)__VA_ARGS__
  PUT({BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr)});
  for (unsigned i = 0; i < rt_fl_own_business_count; ++i) {
    PUT({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, rt_fl_own_business[i]});
    PUT({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW});
  }
  struct range libraries = {UINT64_MAX, 0};
  dl_iterate_phdr(add_library, &libraries);
  /* Libraries that are loaded later lie where the runtime puts them. */
  const uint32_t placed = HEDDLE_FLOW_BASE >> 32, placed_end = placed * 2;
  PUT({BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, instruction_pointer) + 4});
  PUT({BPF_JMP | BPF_JGE | BPF_K, 0, 2, placed});
  PUT({BPF_JMP | BPF_JGE | BPF_K, 1, 0, placed_end});
  PUT({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRAP});
  PUT({BPF_JMP | BPF_JEQ | BPF_K, 0, 4, (uint32_t)(libraries.begin >> 32)});
  PUT({BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, instruction_pointer)});
  PUT({BPF_JMP | BPF_JGE | BPF_K, 0, 2, (uint32_t)libraries.begin});
  PUT({BPF_JMP | BPF_JGE | BPF_K, 1, 0, (uint32_t)libraries.end});
  PUT({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRAP});
  PUT({BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW});
#undef PUT
  struct sock_fprog program = {.len = (unsigned short)used, .filter = code};
  RT_SYS6(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
  const long result = RT_SYS6(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0, 0);
  if (result != 0) {
    rt_refuse("flow recording needs filters for system calls (seccomp), and the kernel did not take one");
  }
}

void rt_fl_system_init(void) {
  struct sigaction action = {.sa_sigaction = on_trap,
                             .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART | SA_ONSTACK};
  rt_sigaction(SIGSYS, &action, NULL);
  install_filter();
}
