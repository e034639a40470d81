#include "instrument/flow_calls.h"

#include <llvm/ADT/StringSet.h>

namespace heddle {
namespace {

// The runtime defines these and makes their events itself (runtime/flow/calls.c), or the kernel is asked by a
// trap.
bool is_system_call(llvm::StringRef name) {
  static const llvm::StringSet<> names = {"read",
                                          "write",
                                          "readv",
                                          "writev",
                                          "recv",
                                          "recvfrom",
                                          "recvmsg",
                                          "send",
                                          "sendto",
                                          "sendmsg",
                                          "poll",
                                          "ppoll",
                                          "select",
                                          "pselect",
                                          "epoll_wait",
                                          "epoll_pwait",
                                          "epoll_ctl",
                                          "pread",
                                          "pread64",
                                          "preadv",
                                          "pwrite",
                                          "pwrite64",
                                          "accept",
                                          "accept4",
                                          "connect",
                                          "bind",
                                          "listen",
                                          "socket",
                                          "open",
                                          "open64",
                                          "openat",
                                          "close",
                                          "fcntl",
                                          "ioctl",
                                          "stat",
                                          "fstat",
                                          "lstat",
                                          "lseek",
                                          "time",
                                          "gettimeofday",
                                          "clock_gettime",
                                          "nanosleep",
                                          "clock_nanosleep",
                                          "usleep",
                                          "sleep",
                                          "sched_yield",
                                          "getpid",
                                          "gettid",
                                          "getrandom",
                                          "pipe",
                                          "pipe2",
                                          "dup",
                                          "dup2",
                                          "getsockopt",
                                          "setsockopt",
                                          "getsockname",
                                          "getpeername",
                                          "shutdown",
                                          "eventfd",
                                          "epoll_create",
                                          "epoll_create1",
                                          "clock",
                                          "times",
                                          "syscall",
                                          "mmap",
                                          "mmap64",
                                          "munmap",
                                          "mprotect",
                                          "madvise",
                                          "wait",
                                          "waitpid",
                                          "kill",
                                          "raise",
                                          "pthread_kill",
                                          "sigaction",
                                          "signal",
                                          "sigprocmask",
                                          "pthread_sigmask",
                                          "exit",
                                          "_exit",
                                          "_Exit",
                                          "quick_exit",
                                          "abort",
                                          "_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv",
                                          "fork",
                                          "vfork",
                                          "system",
                                          "popen",
                                          "pclose",
                                          "posix_spawn",
                                          "posix_spawnp",
                                          "pause",
                                          "fflush",
                                          "fflush_unlocked",
                                          "flockfile",
                                          "funlockfile",
                                          "ftrylockfile"};
  return names.contains(name);
}

// What changes the state of a library, and gives nothing.
bool sets_state(llvm::StringRef name) {
  return name == "srand" || name == "srandom" || name == "srand48" || name == "tzset";
}

}  // namespace

FlowCall flow_call(const CallInfo& info) {
  switch (info.cls) {
    case CallClass::inside:
    case CallClass::intrinsic:
    case CallClass::inline_assembly:
    case CallClass::synchronisation:
    case CallClass::indirect:
      return FlowCall::none;
    case CallClass::allocation:
      // strdup reads a string; the events of malloc and free are the runtime's.
      return info.effects->allocation == AllocationKind::allocate && !info.effects->memory.empty()
                 ? FlowCall::inside
                 : FlowCall::none;
    case CallClass::unknown_external:
      return FlowCall::before;
    case CallClass::known_external:
      break;
  }
  const llvm::StringRef name = info.callee->getName();
  if (is_system_call(name)) return FlowCall::none;
  if (name == "swapcontext") return FlowCall::before;  // it comes back later, perhaps in another thread
  if (!info.effects->calls.empty() || info.effects->no_return) return FlowCall::before;
  if (info.effects->pure) return info.effects->memory.empty() ? FlowCall::none : FlowCall::inside;
  if (sets_state(name)) return FlowCall::state;
  if (library_object(info) != LibraryObject::none) return FlowCall::inside;
  for (const MemoryEffect& effect : info.effects->memory)
    if (effect.extent.kind == Extent::Kind::object || effect.extent.kind == Extent::Kind::reachable)
      return FlowCall::inside;
  if (info.effects->blocks) return FlowCall::before;
  return info.effects->input            ? FlowCall::state
         : info.effects->memory.empty() ? FlowCall::none
                                        : FlowCall::inside;
}

bool has_stream_buffers(const llvm::Module& module) {
  for (const char* base :
       {"_ZTISt15basic_streambufIcSt11char_traitsIcEE", "_ZTISt15basic_streambufIwSt11char_traitsIwEE",
        "_ZTISt13basic_filebufIcSt11char_traitsIcEE", "_ZTISt13basic_filebufIwSt11char_traitsIwEE",
        "_ZTINSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEEE",
        "_ZTINSt7__cxx1115basic_stringbufIwSt11char_traitsIwESaIwEEE"})
    if (module.getNamedValue(base) != nullptr) return true;
  return false;
}

bool calls_stream_buffer(const CallInfo& info) {
  return info.effects != nullptr && info.effects->blocks && info.callee->getName().starts_with("_Z");
}

FlowInside flow_inside(const CallInfo& info) {
  static const llvm::StringSet<> names = {"memcpy",  "memmove", "memset", "memcmp",  "bcmp",
                                          "memchr",  "strlen",  "strcmp", "strncmp", "strchr",
                                          "strrchr", "strcpy",  "strncpy"};
  if (info.callee != nullptr && names.contains(info.callee->getName())) return FlowInside::plain;
  return info.effects != nullptr && info.effects->blocks ? FlowInside::waiting : FlowInside::anything;
}

LibraryObject library_object(const CallInfo& info) {
  if (info.callee == nullptr) return LibraryObject::none;
  static const llvm::StringSet<> input = {
      "scanf",    "__isoc99_scanf",   "__isoc23_scanf", "vscanf",     "__isoc99_vscanf", "__isoc23_vscanf",
      "getchar",  "getchar_unlocked", "gets",           "__gets_chk", "wscanf",          "__isoc99_wscanf",
      "getwchar", "getwchar_unlocked"};
  static const llvm::StringSet<> output = {"printf",   "vprintf",          "__printf_chk", "__vprintf_chk",
                                           "putchar",  "putchar_unlocked", "puts",         "wprintf",
                                           "vwprintf", "__wprintf_chk",    "putwchar",     "putwchar_unlocked"};
  static const llvm::StringSet<> errors = {"perror", "psignal", "psiginfo", "warn",  "warnx",
                                           "vwarn",  "vwarnx",  "herror",   "error", "error_at_line"};
  if (input.contains(info.callee->getName())) return LibraryObject::input;
  static const llvm::StringSet<> databases = {
      "getaddrinfo",       "getnameinfo",      "gethostbyname",   "gethostbyname2",  "gethostbyaddr",
      "gethostbyname_r",   "gethostbyname2_r", "gethostbyaddr_r", "gethostent",      "getservbyname",
      "getservbyport",     "getservent",       "getprotobyname",  "getprotoent",     "getnetbyname",
      "getnetent",         "getpwnam",         "getpwuid",        "getpwent",        "getpwnam_r",
      "getpwuid_r",        "getgrnam",         "getgrgid",        "getgrent",        "getgrnam_r",
      "getgrgid_r",        "getspnam",         "getservbyname_r", "getservbyport_r", "getprotobyname_r",
      "getprotobynumber_r"};
  if (output.contains(info.callee->getName())) return LibraryObject::output;
  if (errors.contains(info.callee->getName())) return LibraryObject::errors;
  return databases.contains(info.callee->getName()) ? LibraryObject::databases : LibraryObject::none;
}

}  // namespace heddle
