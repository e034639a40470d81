// Parts of a file are fetched by threads of their own. One that was asked to stop writes down how far all of
// them are, so that they can go on later. A part's bytes are counted in two places, one behind the other, and
// the notes may say that fewer were fetched than the parts have.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
enum { kParts = 4, kSize = 400, kChunk = 25 };
struct part {
  int start, offset, end;
};
static struct part parts[kParts];
static unsigned char disk[kSize];
static pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER;
static int total;
static atomic_int stop_wanted;
static struct {
  int total;
  struct part parts[kParts];
} saved;
static pthread_mutex_t save_lock = PTHREAD_MUTEX_INITIALIZER;
static int is_saved;
static void fetch(int from, int count) {
  for (int i = 0; i < count; ++i) disk[from + i] = (unsigned char)((from + i) * 7);
}
static void* part_thread(void* arg) {
  struct part* p = arg;
  while (p->offset < p->end && !atomic_load(&stop_wanted)) {
    int count = p->end - p->offset < kChunk ? p->end - p->offset : kChunk;
    fetch(p->offset, count);
#ifdef FIXED
    pthread_mutex_lock(&total_lock);
    p->offset += count;
    total += count;
    pthread_mutex_unlock(&total_lock);
#else
    p->offset += count;
    pthread_mutex_lock(&total_lock);
    total += count;
    pthread_mutex_unlock(&total_lock);
#endif
  }
  return 0;
}
static void* signal_thread(void* arg) {
  (void)arg;
  atomic_store(&stop_wanted, 1);
  pthread_mutex_lock(&save_lock);
#ifdef FIXED
  pthread_mutex_lock(&total_lock);
#endif
  saved.total = total;
  memcpy(saved.parts, parts, sizeof parts);
#ifdef FIXED
  pthread_mutex_unlock(&total_lock);
#endif
  is_saved = 1;
  pthread_mutex_unlock(&save_lock);
  return 0;
}
static void resume(void) {
  int sum = 0;
  for (int i = 0; i < kParts; ++i) sum += saved.parts[i].offset - saved.parts[i].start;
  assert(sum == saved.total);
  for (int i = 0; i < kParts; ++i)
    for (int k = saved.parts[i].start; k < saved.parts[i].offset; ++k)
      assert(disk[k] == (unsigned char)(k * 7));
}
int main(void) {
  pthread_t t[kParts], s;
  for (int i = 0; i < kParts; ++i) {
    parts[i] = (struct part){i * kSize / kParts, i * kSize / kParts, (i + 1) * kSize / kParts};
    pthread_create(&t[i], 0, part_thread, &parts[i]);
  }
  pthread_create(&s, 0, signal_thread, 0);
  for (int i = 0; i < kParts; ++i) pthread_join(t[i], 0);
  pthread_join(s, 0);
  if (is_saved) resume();
  return 0;
}
