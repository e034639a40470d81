// A small session server: two workers execute commands (login, touch, count, logout) from a queue of text lines
// against a hash table of sessions; a reaper drops the sessions that were idle for too long, by a clock that
// counts commands.
//
// The bug: touch looks a session up under the lock and uses it after unlocking, without a reference of its own.
// The reaper or a logout can free it in between.
//
// HEDDLE-FAILURE: use-after-free
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-DECISIVE: A B touch finds the session before it is taken out of the table
// HEDDLE-DECISIVE: B C the session is taken out and freed before touch uses it
// HEDDLE-SMALL: no
// HEDDLE-ALSO: double-free
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBuckets = 4, kNameSize = 12, kWorkers = 2, kIdleLimit = 3, kReplySize = 48 };

// ---- sessions
// ------------------------------------------------------------------------------------------------------

struct session {
  struct session* next;
  char name[kNameSize];
  atomic_int references;  // one for the table, one for each command that uses it
  atomic_int last_used;
};

struct store {
  pthread_mutex_t lock;
  struct session* buckets[kBuckets];
  int sessions;
};

struct store store = {.lock = PTHREAD_MUTEX_INITIALIZER};
atomic_int ticks;

static unsigned hash(const char* name) {
  unsigned result = 5381;
  for (; *name != '\0'; ++name) result = result * 33 + (unsigned char)*name;
  return result % kBuckets;
}

static struct session* session_new(const char* name) {
  struct session* result = calloc(1, sizeof *result);
  if (result == NULL) abort();
  snprintf(result->name, sizeof result->name, "%s", name);
  atomic_init(&result->references, 1);
  atomic_init(&result->last_used, atomic_load(&ticks));
  return result;
}

static void session_release(struct session* session) {
  if (atomic_fetch_sub(&session->references, 1) == 1) free(session);
}

// The place where the session is linked, or where it would be.
static struct session** place_of(struct store* s, const char* name) {
  struct session** place = &s->buckets[hash(name)];
  while (*place != NULL && strcmp((*place)->name, name) != 0) place = &(*place)->next;
  return place;
}

static int store_add(struct store* s, const char* name) {
  pthread_mutex_lock(&s->lock);
  struct session** place = place_of(s, name);
  const int is_new = *place == NULL;
  if (is_new) {
    *place = session_new(name);
    ++s->sessions;
  }
  pthread_mutex_unlock(&s->lock);
  return is_new;
}

static struct session* store_find(struct store* s, const char* name) {
  pthread_mutex_lock(&s->lock);
  struct session* result = *place_of(s, name);  // [A]
#ifdef FIXED
  if (result != NULL) atomic_fetch_add(&result->references, 1);
#endif
  pthread_mutex_unlock(&s->lock);
  return result;
}

static void unlink_locked(struct store* s, struct session** place) {
  struct session* session = *place;
  *place = session->next;  // [B]
  --s->sessions;
  session_release(session);
}

static int store_remove(struct store* s, const char* name) {
  pthread_mutex_lock(&s->lock);
  struct session** place = place_of(s, name);
  const int found = *place != NULL;
  if (found) unlink_locked(s, place);
  pthread_mutex_unlock(&s->lock);
  return found;
}

static int store_reap(struct store* s) {
  int reaped = 0;
  pthread_mutex_lock(&s->lock);
  for (int i = 0; i < kBuckets; ++i) {
    struct session** place = &s->buckets[i];
    while (*place != NULL) {
      if (atomic_load(&ticks) - atomic_load(&(*place)->last_used) > kIdleLimit) {
        unlink_locked(s, place);
        ++reaped;
      } else {
        place = &(*place)->next;
      }
    }
  }
  pthread_mutex_unlock(&s->lock);
  return reaped;
}

// ---- commands
// ------------------------------------------------------------------------------------------------------

struct reply {
  int code;
  char text[kReplySize];
};

__attribute__((format(printf, 3, 4))) static void answer(struct reply* reply, int code, const char* format,
                                                         ...) {
  va_list arguments;
  va_start(arguments, format);
  reply->code = code;
  vsnprintf(reply->text, sizeof reply->text, format, arguments);
  va_end(arguments);
}

static void do_login(const char* name, struct reply* reply) {
  if (store_add(&store, name)) {
    answer(reply, 200, "welcome, %s", name);
  } else {
    answer(reply, 409, "%s is here already", name);
  }
}

static void do_touch(const char* name, struct reply* reply) {
  struct session* session = store_find(&store, name);
  if (session == NULL) {
    answer(reply, 404, "no session for %s", name);
    return;
  }
  atomic_store(&session->last_used, atomic_load(&ticks));  // [C]
  answer(reply, 200, "touched %s", name);
#ifdef FIXED
  session_release(session);
#endif
}

static void do_count(const char* name, struct reply* reply) {
  (void)name;
  pthread_mutex_lock(&store.lock);
  answer(reply, 200, "%d sessions", store.sessions);
  pthread_mutex_unlock(&store.lock);
}

static void do_logout(const char* name, struct reply* reply) {
  const int found = store_remove(&store, name);
  answer(reply, found ? 200 : 404, "%s %s", found ? "goodbye," : "no session for", name);
}

struct command {
  const char* word;
  void (*execute)(const char* name, struct reply* reply);
};

static const struct command kCommands[] = {
    {"login", do_login}, {"touch", do_touch}, {"count", do_count}, {"logout", do_logout}};

static void execute(const char* line, struct reply* reply) {
  char word[kNameSize];
  char name[kNameSize] = "";
  const int parts = sscanf(line, "%11s %11s", word, name);
  if (parts < 1) {
    answer(reply, 400, "empty command");
    return;
  }
  for (size_t i = 0; i < sizeof kCommands / sizeof *kCommands; ++i) {
    if (strcmp(kCommands[i].word, word) == 0) {
      kCommands[i].execute(name, reply);
      atomic_fetch_add(&ticks, 1);
      return;
    }
  }
  answer(reply, 400, "unknown command %s", word);
}

// ---- the queue of lines
// --------------------------------------------------------------------------------------------

static const char* const kScript[] = {"login ada",  "login alan",  "touch ada", "count",
                                      "touch alan", "logout alan", "touch ada", "count"};
enum { kLines = sizeof kScript / sizeof *kScript };

pthread_mutex_t script_lock = PTHREAD_MUTEX_INITIALIZER;
int next_line;
int failed_replies;

static const char* take_line(void) {
  pthread_mutex_lock(&script_lock);
  const char* result = next_line < kLines ? kScript[next_line++] : NULL;
  pthread_mutex_unlock(&script_lock);
  return result;
}

static void* worker(void* arg) {
  (void)arg;
  for (const char* line = take_line(); line != NULL; line = take_line()) {
    struct reply reply;
    execute(line, &reply);
    pthread_mutex_lock(&script_lock);
    if (reply.code == 400) ++failed_replies;
    pthread_mutex_unlock(&script_lock);
  }
  return NULL;
}

static void* reaper(void* reaped) {
  for (int i = 0; i < 2; ++i) *(int*)reaped += store_reap(&store);
  return NULL;
}

int main(void) {
  pthread_t threads[kWorkers + 1];
  int reaped = 0;
  for (int i = 0; i < kWorkers; ++i) pthread_create(&threads[i], NULL, worker, NULL);
  pthread_create(&threads[kWorkers], NULL, reaper, &reaped);
  for (int i = 0; i <= kWorkers; ++i) pthread_join(threads[i], NULL);
  assert(failed_replies == 0);
  atomic_fetch_add(&ticks, kIdleLimit + 1);
  reaped += store_reap(&store);
  assert(store.sessions == 0);
  return reaped <= 2 ? 0 : 1;
}
