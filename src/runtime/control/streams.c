/* Reading from streams of the C library: getc, fgets, getline, fread, scanf.
 *
 * The C library reads for a stream by a call of its own that nobody can take over. So the functions are written
 * anew here on top of __uflow(), which reads once, into the stream's buffer: before it is called, the thread
 * waits for the descriptor as in files.c, and others run meanwhile.
 *
 * Known holes: scanf waits only for its first byte, so input that comes in pieces may still be waited for by
 * the system. A stream that two threads read from is not locked while one of them waits in the middle of a
 * line. Wide characters are left to the C library.
 */
#define __NO_INLINE__ /* the functions of <stdio.h> are defined here */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/control/control.h"

#undef getc
#undef getchar
#undef getc_unlocked
#undef getchar_unlocked
#undef fgetc_unlocked

#define FIRST_LINE 120 /* bytes that glibc's getdelim() takes at first */

static size_t buffered(const FILE* stream) {
  return (size_t)(stream->_IO_read_end - stream->_IO_read_ptr);
}

/* Until reading once does not wait any more. False: a signal ended it. */
static bool await(FILE* stream, bool* waited) {
  const int file = fileno_unlocked(stream);
  *waited = rt.active && file >= 0 && rt_file_may_wait(file);
  if (!*waited) return true;
  if (stream->_IO_write_ptr > stream->_IO_write_base) fflush_unlocked(stream); /* as reading does first */
  if (rt_before_file_call(file, POLLIN)) return true;
  rt_finish_file_call(-EINTR);
  errno = EINTR;
  stream->_flags |= _IO_ERR_SEEN;
  return false;
}

/* Takes a byte that is not in the buffer, and fills the buffer behind it. */
static int read_once(FILE* stream) {
  bool waited;
  if (!await(stream, &waited)) return EOF;
  const int byte = __uflow(stream);
  if (waited) rt_finish_file_call(byte == EOF ? 0 : (long)buffered(stream) + 1);
  return byte;
}

static int take_byte(FILE* stream) {
  return buffered(stream) > 0 ? (unsigned char)*stream->_IO_read_ptr++ : read_once(stream);
}

/* Up to `room` bytes, and not further than `last` (a byte, or EOF for none); fewer at the end of the input. */
static size_t take(FILE* stream, char* to, size_t room, int last) {
  size_t count = 0;
  while (count < room) {
    const int byte = take_byte(stream);
    if (byte == EOF) break;
    to[count++] = (char)byte;
    if (byte == last) break;
    const size_t most = buffered(stream) < room - count ? buffered(stream) : room - count;
    const char* end = last == EOF || most == 0 ? NULL : memchr(stream->_IO_read_ptr, last, most);
    const size_t size = end != NULL ? (size_t)(end - stream->_IO_read_ptr) + 1 : most;
    memcpy(to + count, stream->_IO_read_ptr, size);
    stream->_IO_read_ptr += size;
    count += size;
    if (end != NULL) break;
  }
  return count;
}

/* ---- bytes */
int fgetc(FILE* stream) {
  return take_byte(stream);
}
int getc(FILE* stream) {
  return take_byte(stream);
}
int _IO_getc(FILE* stream) {
  return take_byte(stream);
}
int fgetc_unlocked(FILE* stream) {
  return take_byte(stream);
}
int getc_unlocked(FILE* stream) {
  return take_byte(stream);
}
int getchar(void) {
  return take_byte(stdin);
}
int getchar_unlocked(void) {
  return take_byte(stdin);
}

/* ---- lines */
char* fgets(char* restrict to, int room, FILE* restrict stream) {
  if (room <= 0) return NULL;
  const bool failed_before = ferror_unlocked(stream) != 0;
  const size_t count = take(stream, to, (size_t)room - 1, '\n');
  if (room > 1 && (count == 0 || (ferror_unlocked(stream) && !failed_before && errno != EAGAIN))) return NULL;
  to[count] = '\0';
  return to;
}

char* fgets_unlocked(char* restrict to, int room, FILE* restrict stream) {
  return fgets(to, room, stream);
}

_Noreturn void __chk_fail(void);

char* __fgets_chk(char* restrict to, size_t size, int room, FILE* restrict stream) {
  if (room > 0 && size < (size_t)room) __chk_fail();
  return fgets(to, room, stream);
}

char* __fgets_unlocked_chk(char* restrict to, size_t size, int room, FILE* restrict stream) {
  return __fgets_chk(to, size, room, stream);
}

/* Room for so many bytes, as glibc makes it. */
static bool grow(char** line, size_t* size, size_t needed) {
  if (*line != NULL && *size >= needed) return true;
  const size_t wanted = *line == NULL || *size == 0 ? FIRST_LINE : 2 * *size;
  const size_t room = wanted < needed ? needed : wanted;
  char* larger = realloc(*line, room);
  if (larger == NULL) return false;
  *line = larger;
  *size = room;
  return true;
}

ssize_t __getdelim(char** restrict line, size_t* restrict size, int last, FILE* restrict stream) {
  if (line == NULL || size == NULL) {
    errno = EINVAL;
    return -1;
  }
  size_t count = 0;
  for (;;) {
    if (!grow(line, size, count + 2)) return -1;
    const size_t more = take(stream, *line + count, *size - count - 1, last);
    count += more;
    (*line)[count] = '\0';
    if (more == 0) break;
    if ((unsigned char)(*line)[count - 1] == (unsigned char)last) break;
  }
  return count > 0 ? (ssize_t)count : -1;
}

ssize_t getdelim(char** restrict line, size_t* restrict size, int last, FILE* restrict stream) {
  return __getdelim(line, size, last, stream);
}

ssize_t getline(char** restrict line, size_t* restrict size, FILE* restrict stream) {
  return __getdelim(line, size, '\n', stream);
}

/* ---- blocks: what never waits is left to the C library, which reads large blocks without its buffer */
size_t fread(void* restrict to, size_t size, size_t count, FILE* restrict stream) {
  const int file = fileno_unlocked(stream);
  if (!rt.active || file < 0 || !rt_file_may_wait(file)) {
    static size_t (*real)(void*, size_t, size_t, FILE*);
    if (real == NULL) real = (size_t (*)(void*, size_t, size_t, FILE*))rt_real("fread");
    return real(to, size, count, stream);
  }
  return size == 0 ? 0 : take(stream, to, size * count, EOF) / size;
}

size_t fread_unlocked(void* restrict to, size_t size, size_t count, FILE* restrict stream) {
  return fread(to, size, count, stream);
}

size_t __fread_chk(void* restrict to, size_t room, size_t size, size_t count, FILE* restrict stream) {
  if (size != 0 && count > room / size) __chk_fail();
  return fread(to, size, count, stream);
}

size_t __fread_unlocked_chk(void* restrict to, size_t room, size_t size, size_t count, FILE* restrict stream) {
  return __fread_chk(to, room, size, count, stream);
}

/* ---- formats */
static int scan(FILE* stream, const char* format, va_list arguments) {
  static int (*real)(FILE*, const char*, va_list);
  if (real == NULL) real = (int (*)(FILE*, const char*, va_list))rt_real("__isoc99_vfscanf");
  bool waited = false;
  if (buffered(stream) == 0 && !await(stream, &waited)) return EOF;
  const int result = real(stream, format, arguments);
  if (waited) rt_finish_file_call(result);
  return result;
}

int __isoc99_vfscanf(FILE* restrict stream, const char* restrict format, va_list arguments) {
  return scan(stream, format, arguments);
}

int __isoc99_vscanf(const char* restrict format, va_list arguments) {
  return scan(stdin, format, arguments);
}

int __isoc99_fscanf(FILE* restrict stream, const char* restrict format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int result = scan(stream, format, arguments);
  va_end(arguments);
  return result;
}

int __isoc99_scanf(const char* restrict format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int result = scan(stdin, format, arguments);
  va_end(arguments);
  return result;
}
