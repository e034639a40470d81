/* Files that the program opens for reading are named to heddle, which keeps copies: what a log holds of them in
 * bytes is enough to follow the threads, but not to run the program again (files.c keeps large ranges by
 * reference).
 *
 * Interposed, so that libraries which read for the program (std::ifstream) are seen too. Opening goes through
 * the kernel's locks anyway; a log remembers the files that it met last. Larger files are named when large
 * ranges of them are read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>

#include "runtime/record/runtime.h"

static int opened(int fd) {
  if (fd < 0 || rt.process == NULL || rt.forked || rt_now == NULL || rt_now->sink) return fd;
  const int saved = errno;
  rt_note_file(fd);
  errno = saved;
  return fd;
}

static FILE* opened_stream(FILE* stream) {
  if (stream != NULL) opened(stream->_fileno);
  return stream;
}

#define REAL(name, ...) ((int (*)(__VA_ARGS__))rt_real(name))
#define REAL_STREAM(name, ...) ((FILE * (*)(__VA_ARGS__)) rt_real(name))

/* The mode is there only if a file may be made. */
static mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

#define DEFINE_OPEN(name)                                                    \
  int name(const char* path, int flags, ...) {                               \
    va_list arguments;                                                       \
    va_start(arguments, flags);                                              \
    const mode_t mode = mode_of(flags, arguments);                           \
    va_end(arguments);                                                       \
    return opened(REAL(#name, const char*, int, mode_t)(path, flags, mode)); \
  }
#define DEFINE_OPEN_AT(name)                                                              \
  int name(int folder, const char* path, int flags, ...) {                                \
    va_list arguments;                                                                    \
    va_start(arguments, flags);                                                           \
    const mode_t mode = mode_of(flags, arguments);                                        \
    va_end(arguments);                                                                    \
    return opened(REAL(#name, int, const char*, int, mode_t)(folder, path, flags, mode)); \
  }

DEFINE_OPEN(open)
DEFINE_OPEN(open64)
DEFINE_OPEN_AT(openat)
DEFINE_OPEN_AT(openat64)

/* As checked calls (_FORTIFY_SOURCE) name them. */
int __open_2(const char* path, int flags) {
  return opened(REAL("__open_2", const char*, int)(path, flags));
}

int __open64_2(const char* path, int flags) {
  return opened(REAL("__open64_2", const char*, int)(path, flags));
}

FILE* fopen(const char* path, const char* mode) {
  return opened_stream(REAL_STREAM("fopen", const char*, const char*)(path, mode));
}

FILE* fopen64(const char* path, const char* mode) {
  return opened_stream(REAL_STREAM("fopen64", const char*, const char*)(path, mode));
}

FILE* freopen(const char* path, const char* mode, FILE* stream) {
  return opened_stream(REAL_STREAM("freopen", const char*, const char*, FILE*)(path, mode, stream));
}
