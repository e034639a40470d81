/* Runtime of the variant "leap": access vectors of locations (abi/leap.h).
 *
 * The ground rules of runtimes hold but for one: hooks take a lock. That is what this baseline is about. Signal
 * handlers that access shared memory may find the lock taken by their own thread: such programs cannot be
 * measured with it. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/leap.h"

struct heddle_leap_location {
  _Alignas(HEDDLE_LEAP_LOCATION_SIZE) pthread_mutex_t lock; /* all zero: unlocked */
  uint8_t* vector;
  uint64_t used, room;
};
_Static_assert(sizeof(struct heddle_leap_location) == HEDDLE_LEAP_LOCATION_SIZE, "as the pass lays them out");

extern struct heddle_leap_location heddle_leap_locations[];
extern const uint32_t heddle_leap_location_count;

enum { kLongEntry = 5, kFirstRoom = 1 << 16 };

static uint32_t threads; /* atomic */
static _Thread_local uint32_t my_number
    __attribute__((tls_model("initial-exec"))); /* from 1; 0: not known yet */

static void grow(struct heddle_leap_location* location) {
  const uint64_t room = location->room == 0 ? kFirstRoom : 2 * location->room;
  uint8_t* vector = location->room == 0
                        ? mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                        : mremap(location->vector, location->room, room, MREMAP_MAYMOVE);
  if (vector == MAP_FAILED) abort();
  location->vector = vector;
  location->room = room;
}

void heddle_leap_begin(struct heddle_leap_location* location) {
  const int saved = errno;
  if (my_number == 0) my_number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
  const uint32_t number = my_number - 1;
  pthread_mutex_lock(&location->lock);
  if (location->used + kLongEntry > location->room) grow(location);
  if (number < 255) {
    location->vector[location->used++] = (uint8_t)number;
  } else {
    location->vector[location->used] = 255;
    __builtin_memcpy(location->vector + location->used + 1, &number, sizeof number);
    location->used += kLongEntry;
  }
  errno = saved;
}

void heddle_leap_end(struct heddle_leap_location* location) {
  pthread_mutex_unlock(&location->lock);
}

static int write_all(int file, const void* data, uint64_t size) {
  for (const char* at = data; size > 0;) {
    const ssize_t written = write(file, at, size);
    if (written < 0) return -1;
    at += written;
    size -= (uint64_t)written;
  }
  return 0;
}

__attribute__((destructor)) static void finish(void) {
  const char* name = getenv(HEDDLE_LEAP_FILE);
  const int file = name == NULL ? -1 : open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return;
  for (uint32_t i = 0; i < heddle_leap_location_count; ++i) {
    struct heddle_leap_location* location = &heddle_leap_locations[i];
    pthread_mutex_lock(&location->lock);
    if (location->used != 0 &&
        (write_all(file, &i, sizeof i) != 0 || write_all(file, &location->used, sizeof location->used) != 0 ||
         write_all(file, location->vector, location->used) != 0))
      abort(); /* half a log must not be taken for a small one */
    pthread_mutex_unlock(&location->lock);
  }
  close(file);
}
