/* Names made of the process's number.
 *
 * The number that the program knows is the same in every run (identity.c), the objects that it names by it are
 * not: what a run that was killed has left, or another run at the same time, is not to be met. So shared memory
 * is named by the real number. The folder of a process in /proc is found under the number that the program
 * knows.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/control/control.h"

struct name {
  char text[PATH_MAX];
};

/* The end of the digits there, and their value (one that is no process's if it is very large). */
static const char* read_number(const char* at, pid_t* number) {
  *number = 0;
  for (; *at >= '0' && *at <= '9'; ++at)
    if (*number < INT_MAX / 10 - 1) *number = *number * 10 + (*at - '0');
  return at;
}

/* The same name with real numbers for those that the program knows; the name itself where there are none, or no
 * room. */
static const char* real_name(const char* name, struct name* out) {
  size_t used = 0;
  bool changed = false;
  for (const char *at = name, *end; *at != '\0'; at = end) {
    pid_t number;
    end = read_number(at, &number);
    const pid_t real = end != at ? rt_real_id(number) : 0;
    const bool known = end != at && real != number;
    if (end == at) ++end;
    used += (size_t)(known ? snprintf(out->text + used, sizeof out->text - used, "%d", (int)real)
                           : snprintf(out->text + used, sizeof out->text - used, "%.*s", (int)(end - at), at));
    if (used >= sizeof out->text) return name;
    changed = changed || known;
  }
  return changed ? out->text : name;
}

/* Of paths only what lies in /proc. */
static const char* real_path(const char* path, struct name* out) {
  return path != NULL && strncmp(path, "/proc/", 6) == 0 ? real_name(path, out) : path;
}

#define ORIGINAL(result, name, ...)                \
  RT_STATE static result (*original)(__VA_ARGS__); \
  if (original == NULL) original = (result(*)(__VA_ARGS__))rt_real(name)

/* ---- shared memory */
int shm_open(const char* name, int flags, mode_t mode) {
  ORIGINAL(int, "shm_open", const char*, int, mode_t);
  struct name real;
  return original(real_name(name, &real), flags, mode);
}

int shm_unlink(const char* name) {
  ORIGINAL(int, "shm_unlink", const char*);
  struct name real;
  return original(real_name(name, &real));
}

/* ---- /proc */
FILE* fopen(const char* restrict path, const char* restrict mode) {
  ORIGINAL(FILE*, "fopen", const char*, const char*);
  struct name real;
  return original(real_path(path, &real), mode);
}

FILE* fopen64(const char* restrict path, const char* restrict mode) {
  return fopen(path, mode);
}

#define TAKE_MODE                                                        \
  va_list list;                                                          \
  va_start(list, flags);                                                 \
  const mode_t mode = va_arg(list, mode_t); /* of use if flags say so */ \
  va_end(list)

int open(const char* path, int flags, ...) {
  TAKE_MODE;
  ORIGINAL(int, "open", const char*, int, ...);
  struct name real;
  return original(real_path(path, &real), flags, mode);
}

int open64(const char* path, int flags, ...) {
  TAKE_MODE;
  return open(path, flags, mode);
}

DIR* opendir(const char* path) {
  ORIGINAL(DIR*, "opendir", const char*);
  struct name real;
  return original(real_path(path, &real));
}

ssize_t readlink(const char* restrict path, char* restrict to, size_t room) {
  ORIGINAL(ssize_t, "readlink", const char*, char*, size_t);
  struct name real;
  return original(real_path(path, &real), to, room);
}
