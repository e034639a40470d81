/* The time that libraries ask for themselves, as getaddrinfo does to tell the answers to its own questions.
 * libc does not come to the functions that stand before its own (calls.c) then, nor does it make a system call
 * that the filter would see: it calls the kernel's code in the process (vDSO) by addresses that it found when
 * the program began. They are in tables of the loaded libraries, and are changed to lead here.
 *
 * What asks within a function of this runtime (a wait with a time limit) gets the time as it is: a replay does
 * not ask there. What has no such address any more, a static copy of the address say, is not seen. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>

#include "runtime/flow/flow.h"

static int (*kernel_clock_gettime)(clockid_t, struct timespec*);
static int (*kernel_gettimeofday)(struct timeval*, void*);
static time_t (*kernel_time)(time_t*);

static bool is_told(void) {
  return rt_fl_active() && rt_fl_stack != NULL;
}

/* The kernel's functions give errors as negative numbers. */
static int told_clock_gettime(clockid_t clock, struct timespec* to) {
  if (!is_told()) return kernel_clock_gettime(clock, to);
  const int before = errno;
  const int result = clock_gettime(clock, to);
  if (result == 0) return 0;
  const int error = errno;
  errno = before;
  return -error;
}

static int told_gettimeofday(struct timeval* to, void* zone) {
  if (!is_told()) return kernel_gettimeofday(to, zone);
  const int before = errno;
  const int result = gettimeofday(to, zone);
  if (result == 0) return 0;
  const int error = errno;
  errno = before;
  return -error;
}

static time_t told_time(time_t* to) {
  return is_told() ? time(to) : kernel_time(to);
}

static uintptr_t instead_of(uintptr_t address) {
  if (address == 0) return 0;
  if (address == (uintptr_t)kernel_clock_gettime) return (uintptr_t)told_clock_gettime;
  if (address == (uintptr_t)kernel_gettimeofday) return (uintptr_t)told_gettimeofday;
  if (address == (uintptr_t)kernel_time) return (uintptr_t)told_time;
  return 0;
}

static void change(uintptr_t* at, uintptr_t to, const struct dl_phdr_info* library) {
  const uintptr_t page = (uintptr_t)at & ~(uintptr_t)4095;
  bool writable = true;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &library->dlpi_phdr[i];
    const uintptr_t begin = library->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_RELRO && page >= (begin & ~(uintptr_t)4095) &&
        page + 4096 <= begin + part->p_memsz)
      writable = false;
  }
  if (!writable && RT_SYS3(SYS_mprotect, page, 4096, PROT_READ | PROT_WRITE) != 0) return;
  *at = to;
  if (!writable) RT_SYS3(SYS_mprotect, page, 4096, PROT_READ);
}

static int look_through(struct dl_phdr_info* library, size_t size, void* unused) {
  (void)size;
  (void)unused;
  if (library->dlpi_name == NULL || library->dlpi_name[0] == 0) return 0; /* the program, this file in it */
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr)* const part = &library->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || (part->p_flags & PF_W) == 0) continue;
    const uintptr_t begin = (library->dlpi_addr + part->p_vaddr + 7) & ~(uintptr_t)7;
    const uintptr_t end = library->dlpi_addr + part->p_vaddr + part->p_filesz;
    for (uintptr_t at = begin; at + 8 <= end; at += 8) {
      const uintptr_t to = instead_of(*(const uintptr_t*)at);
      if (to != 0) change((uintptr_t*)at, to, library);
    }
  }
  return 0;
}

void rt_fl_vdso_init(void) {
  void* const vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (vdso == NULL) return;
  kernel_clock_gettime = (int (*)(clockid_t, struct timespec*))dlsym(vdso, "__vdso_clock_gettime");
  kernel_gettimeofday = (int (*)(struct timeval*, void*))dlsym(vdso, "__vdso_gettimeofday");
  kernel_time = (time_t (*)(time_t*))dlsym(vdso, "__vdso_time");
  dl_iterate_phdr(look_through, NULL);
}
