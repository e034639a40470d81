// Jobs that depend on others, as a build system has them: workers take jobs that are ready; a job that is done makes
// those ready that waited for it.
//
// The bug: whether a job waits for nothing any more is decided from a counter that is decremented without the lock,
// in two steps. Two jobs that end at the same time take one off between them: the job that needs both never
// becomes ready, and all workers wait for ever.
//
// HEDDLE-FAILURE: deadlock
// HEDDLE-MODEL: sc
// HEDDLE-PATTERN: atomicity
// HEDDLE-ALSO: lost-wakeup
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { JOBS = 5, WORKERS = 2, MOST_USERS = 3 };

struct job {
  const char *name;
  int needs;               // jobs that are not done yet
  int users[MOST_USERS];   // jobs that need this one
  int user_count;
  int cost;
  long result;
};

struct graph {
  struct job jobs[JOBS];
  int ready[JOBS];
  int ready_count;
  int left;  // jobs that are not done
  pthread_mutex_t mutex;
  pthread_cond_t changed;
};

static struct graph graph = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int add_job(const char *name, int cost) {
  static int count;
  graph.jobs[count] = (struct job){.name = name, .cost = cost};
  ++graph.left;
  return count++;
}

static void add_need(int job, int needed) {
  struct job *of = &graph.jobs[needed];
  of->users[of->user_count++] = job;
  ++graph.jobs[job].needs;
}

static void make_ready(int job) {
  pthread_mutex_lock(&graph.mutex);
  graph.ready[graph.ready_count++] = job;
  pthread_cond_signal(&graph.changed);
  pthread_mutex_unlock(&graph.mutex);
}

// The next job, or -1 when all are done.
static int take_job(void) {
  pthread_mutex_lock(&graph.mutex);
  while (graph.ready_count == 0 && graph.left > 0) pthread_cond_wait(&graph.changed, &graph.mutex);
  const int job = graph.ready_count > 0 ? graph.ready[--graph.ready_count] : -1;
  pthread_mutex_unlock(&graph.mutex);
  return job;
}

static void run_job(struct job *job) {
  for (int i = 1; i <= job->cost; ++i) job->result += i;
}

static void finish_job(const struct job *job) {
  for (int i = 0; i < job->user_count; ++i) {
    struct job *user = &graph.jobs[job->users[i]];
    const int needs = user->needs - 1;  // the bug: others do the same
    user->needs = needs;
    if (needs == 0) make_ready(job->users[i]);
  }
  pthread_mutex_lock(&graph.mutex);
  if (--graph.left == 0) pthread_cond_broadcast(&graph.changed);
  pthread_mutex_unlock(&graph.mutex);
}

static void *work(void *argument) {
  int job;
  while ((job = take_job()) >= 0) {
    run_job(&graph.jobs[job]);
    finish_job(&graph.jobs[job]);
  }
  return argument;
}

int main(void) {
  const int parse = add_job("parse", 3), lex = add_job("lex", 3), resources = add_job("resources", 2);
  const int link = add_job("link", 4), package = add_job("package", 1);
  add_need(link, parse);
  add_need(link, lex);
  add_need(package, link);
  add_need(package, resources);
  for (int i = 0; i < JOBS; ++i)
    if (graph.jobs[i].needs == 0) make_ready(i);
  pthread_t workers[WORKERS];
  for (int i = 0; i < WORKERS; ++i)
    if (pthread_create(&workers[i], NULL, work, NULL) != 0) exit(2);
  for (int i = 0; i < WORKERS; ++i) pthread_join(workers[i], NULL);
  long all = 0;
  for (int i = 0; i < JOBS; ++i) all += graph.jobs[i].result;
  printf("%ld\n", all);
  return 0;
}
